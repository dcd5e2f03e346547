# SPDX-License-Identifier: Apache-2.0
bench_sim_libsim_la_SOURCES += \
	%D%/gs.h \
	%D%/gs_batch.c \
	%D%/gs_copy.c \
	%D%/gs_dispatch.c \
	%D%/gs_folder.c \
	%D%/gs_key.c \
	%D%/gs_list.c \
	%D%/gs_object.c \
	%D%/gs_reply.c \
	%D%/gs_resource.c \
	%D%/gs_session.c \
	%D%/gs_upload.c \
	$(NULL)

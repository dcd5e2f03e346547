# SPDX-License-Identifier: Apache-2.0
bench_sim_libsim_la_SOURCES += \
	%D%/blob.c \
	%D%/data.c \
	%D%/data.h \
	%D%/data_i.h \
	%D%/fill.c \
	%D%/index.c \
	%D%/index.h \
	%D%/made.c \
	%D%/made.h \
	%D%/null.c \
	%D%/null.h \
	%D%/object.c \
	%D%/object.h \
	%D%/object_store.c \
	%D%/object_store.h \
	%D%/object_store_folder.c \
	%D%/object_store_i.h \
	%D%/object_store_list.c \
	%D%/object_store_load.c \
	%D%/object_store_upload.c \
	%D%/object_store_version.c \
	%D%/record.c \
	%D%/record.h \
	$(NULL)

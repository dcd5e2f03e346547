# SPDX-License-Identifier: Apache-2.0
bench_libbench_la_SOURCES += \
	%D%/dcp.c \
	%D%/dcp.h \
	%D%/dcp_files.c \
	%D%/dcp_files.h \
	%D%/dcp_load.c \
	%D%/dcp_plan.c \
	%D%/dcp_rounds.c \
	%D%/dcp_rounds.h \
	%D%/dcp_save.c \
	%D%/restore.c \
	%D%/rotation.c \
	%D%/rotation.h \
	$(NULL)

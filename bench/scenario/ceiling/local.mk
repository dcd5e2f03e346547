# SPDX-License-Identifier: Apache-2.0
bench_libbench_la_SOURCES += \
	%D%/ceiling.c \
	%D%/ceiling.h \
	%D%/ceiling_fuse.c \
	%D%/ceiling_fuse.h \
	%D%/ceiling_measure.c \
	%D%/ceiling_setup.c \
	$(NULL)

# SPDX-License-Identifier: Apache-2.0
bench_libbench_la_SOURCES += \
	%D%/job_monitor.c \
	%D%/job_monitor.h \
	%D%/measure.c \
	%D%/measure.h \
	%D%/measured.c \
	%D%/measured.h \
	%D%/meter.c \
	%D%/meter.h \
	%D%/sampler.c \
	%D%/sampler.h \
	%D%/stats.c \
	%D%/stats.h \
	%D%/timed.c \
	%D%/timed.h \
	$(NULL)

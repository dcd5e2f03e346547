# SPDX-License-Identifier: Apache-2.0
bench_libbench_la_SOURCES += \
	%D%/child.c \
	%D%/child.h \
	%D%/clock.h \
	%D%/coll.h \
	%D%/copies.c \
	%D%/copies.h \
	%D%/cpu.c \
	%D%/cpu.h \
	%D%/dev.h \
	%D%/gds.h \
	%D%/io.h \
	%D%/job_log.c \
	%D%/job_log.h \
	%D%/keys.c \
	%D%/keys.def \
	%D%/keys.h \
	%D%/pattern.c \
	%D%/pattern.h \
	%D%/pattern_word.h \
	%D%/progress.c \
	%D%/progress.h \
	%D%/run.h \
	%D%/s3_endpoint.c \
	%D%/s3_endpoint.h \
	%D%/signal_cleanup.c \
	%D%/signal_cleanup.h \
	$(NULL)

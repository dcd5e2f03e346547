# SPDX-License-Identifier: Apache-2.0
bench_libbench_la_SOURCES += \
	%D%/mlperf.c \
	%D%/mlperf_shape.c \
	%D%/mlperf_shape.h \
	%D%/mlperf_table.c \
	%D%/mlperf_table.h \
	$(NULL)

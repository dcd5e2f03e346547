# SPDX-License-Identifier: Apache-2.0
bench_libbench_la_SOURCES += \
	%D%/blas.c \
	%D%/blas.h \
	%D%/math.c \
	%D%/math_host.c \
	%D%/math_kernels.h \
	%D%/math_ops.h \
	%D%/random.h \
	$(NULL)

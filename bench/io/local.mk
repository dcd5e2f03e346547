# SPDX-License-Identifier: Apache-2.0
bench_libbench_la_SOURCES += \
	%D%/bounce.c \
	%D%/bounce.h \
	%D%/bucket.c \
	%D%/bucket.h \
	%D%/io.c \
	%D%/io_null.c \
	%D%/io_posix.c \
	%D%/io_posix_int.h \
	%D%/io_posix_move.c \
	%D%/io_posix_threads.c \
	%D%/io_s3.c \
	$(NULL)

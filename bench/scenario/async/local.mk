# SPDX-License-Identifier: Apache-2.0
bench_libbench_la_SOURCES += \
	%D%/async.c \
	%D%/async.h \
	%D%/async_stage.c \
	%D%/async_stage.h \
	%D%/async_table.c \
	%D%/async_table.h \
	%D%/async_writer.c \
	%D%/async_writer.h \
	$(NULL)

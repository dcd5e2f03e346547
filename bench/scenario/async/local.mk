# SPDX-License-Identifier: Apache-2.0
bench_libbench_la_SOURCES += \
	%D%/async.c \
	%D%/async.h \
	%D%/async_state.c \
	%D%/async_state.h \
	%D%/async_table.c \
	%D%/async_table.h \
	$(NULL)

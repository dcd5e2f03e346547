# SPDX-License-Identifier: Apache-2.0
bench_libbench_la_SOURCES += \
	%D%/coll_none.c \
	%D%/coll_queue.c \
	%D%/coll_queue.h \
	%D%/coll_team.c \
	%D%/coll_team.h \
	$(NULL)

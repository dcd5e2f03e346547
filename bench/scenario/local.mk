# SPDX-License-Identifier: Apache-2.0
bench_libbench_la_SOURCES += \
	%D%/firstbyte.c \
	%D%/list.c \
	%D%/load.c \
	%D%/mount_vs_store.c \
	%D%/mount_vs_store.h \
	%D%/selfcheck.c \
	%D%/shards.c \
	%D%/small.c \
	$(NULL)
include %D%/async/local.mk
include %D%/ceiling/local.mk
include %D%/dataset/local.mk
include %D%/dcp/local.mk
include %D%/mlperf/local.mk
include %D%/suites/local.mk
include %D%/train/local.mk

# SPDX-License-Identifier: Apache-2.0
bench_libbench_la_SOURCES += \
	%D%/dataflux_env.c \
	%D%/dataflux_env.h \
	%D%/dynamodb.c \
	%D%/dynamodb.h \
	%D%/interpolate.c \
	%D%/interpolate.h \
	%D%/prepare_nvme.c \
	%D%/prepare_nvme.h \
	%D%/results.c \
	%D%/results.h \
	%D%/run.c \
	%D%/scenario.c \
	%D%/suite.c \
	%D%/suite.h \
	%D%/sweep.c \
	%D%/sweep.h \
	%D%/sweep_list.c \
	%D%/sweep_list.h \
	%D%/sysinfo.c \
	%D%/sysinfo.h \
	$(NULL)

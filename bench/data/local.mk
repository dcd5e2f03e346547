# SPDX-License-Identifier: Apache-2.0
bench_libbench_la_SOURCES += \
	%D%/model.c \
	%D%/model.def \
	%D%/model.h \
	%D%/model_keys.c \
	%D%/model_keys.h \
	%D%/payload.c \
	%D%/payload.h \
	%D%/payload_dev.c \
	%D%/payload_int.h \
	%D%/preflight.c \
	%D%/preflight.h \
	%D%/run_name.c \
	%D%/run_name.h \
	%D%/shard.c \
	%D%/shard.h \
	$(NULL)

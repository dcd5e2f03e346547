# SPDX-License-Identifier: Apache-2.0
bench_libbench_la_SOURCES += \
	%D%/fsdp.c \
	%D%/fsdp.h \
	%D%/loss_scale.c \
	%D%/loss_scale.h \
	%D%/network.c \
	%D%/network.h \
	%D%/network_pass.c \
	%D%/patches.c \
	%D%/patches.h \
	%D%/pipe.c \
	%D%/pipe.h \
	%D%/reducer.c \
	%D%/reducer.h \
	%D%/replicas.c \
	%D%/replicas.h \
	%D%/trace.c \
	%D%/trace.h \
	%D%/train_data.c \
	%D%/train_data.h \
	%D%/train_state.c \
	%D%/train_state.h \
	%D%/trainer.c \
	%D%/trainer.h \
	$(NULL)

# SPDX-License-Identifier: Apache-2.0
bench_libbench_la_SOURCES += \
	%D%/dataflux.c \
	%D%/dataflux.h \
	%D%/lightning_async.c \
	%D%/lightning_checkpointing.c \
	%D%/lightning_multinode.c \
	%D%/lightning_singlenode.c \
	%D%/pytorch_checkpointing.c \
	%D%/simulated.c \
	%D%/staged.c \
	%D%/staged.h \
	%D%/torch.c \
	%D%/torch.h \
	$(NULL)

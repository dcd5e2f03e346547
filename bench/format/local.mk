# SPDX-License-Identifier: Apache-2.0
bench_libbench_la_SOURCES += \
	%D%/dcp.c \
	%D%/dcp.h \
	%D%/dcp_find.c \
	%D%/dcp_read.c \
	%D%/format.c \
	%D%/format.h \
	%D%/layout.c \
	%D%/layout.h \
	%D%/lightning.c \
	%D%/pickle.c \
	%D%/pickle.h \
	%D%/read.c \
	%D%/read.h \
	%D%/read_torch.c \
	%D%/torch.c \
	%D%/torch.h \
	%D%/unpickle.c \
	%D%/unpickle.h \
	%D%/unzip.c \
	%D%/unzip.h \
	%D%/value.c \
	%D%/zip.c \
	%D%/zip.h \
	$(NULL)

# SPDX-License-Identifier: Apache-2.0
bench_libbench_la_SOURCES += \
	%D%/dev.c \
	%D%/dev_host.c \
	%D%/dev_places.c \
	%D%/dev_places.h \
	%D%/gds.c \
	$(NULL)

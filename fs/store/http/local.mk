# SPDX-License-Identifier: Apache-2.0
fs_store_libstore_la_SOURCES += \
	%D%/http.c \
	%D%/http.h \
	%D%/http_easy.c \
	%D%/http_host.c \
	%D%/http_inflight.c \
	%D%/http_int.h \
	%D%/http_load.c \
	%D%/http_once.c \
	%D%/http_once.h \
	%D%/http_reach.c \
	%D%/http_watch.c \
	%D%/http_worker.c \
	%D%/inflight.c \
	%D%/inflight.h \
	%D%/rate_ramp.c \
	%D%/rate_ramp.h \
	%D%/retry.c \
	%D%/retry.h \
	%D%/worker_load.c \
	%D%/worker_load.h \
	%D%/worker_pace.c \
	%D%/worker_pace.h \
	$(NULL)

# SPDX-License-Identifier: Apache-2.0
fs_mount_libmount_la_SOURCES += \
	%D%/control.c \
	%D%/control.h \
	%D%/control_reply.c \
	%D%/control_reply.h \
	%D%/metrics_http.c \
	%D%/metrics_http.h \
	%D%/metrics_text.c \
	%D%/metrics_text.h \
	%D%/otlp.c \
	%D%/otlp.h \
	%D%/otlp_headers.c \
	%D%/otlp_headers.h \
	%D%/otlp_json.c \
	%D%/otlp_json.h \
	$(NULL)

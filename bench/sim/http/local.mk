# SPDX-License-Identifier: Apache-2.0
bench_sim_libsim_la_SOURCES += \
	%D%/chunked.c \
	%D%/chunked.h \
	%D%/conn.c \
	%D%/conn.h \
	%D%/conn_io.c \
	%D%/conn_send.c \
	%D%/fault.c \
	%D%/fault.h \
	%D%/http.c \
	%D%/http.h \
	%D%/limit.c \
	%D%/limit.h \
	%D%/related.c \
	%D%/related.h \
	%D%/request.c \
	%D%/request.h \
	%D%/request_log.c \
	%D%/request_log.h \
	%D%/server.c \
	%D%/server.h \
	%D%/server_config.h \
	%D%/shape.h \
	%D%/tls.c \
	%D%/tls.h \
	$(NULL)

# SPDX-License-Identifier: Apache-2.0
fs_store_libstore_la_SOURCES += \
	%D%/copy_parts.c \
	%D%/customer_key.c \
	%D%/customer_key.h \
	%D%/error_hint.c \
	%D%/error_hint.h \
	%D%/get.c \
	%D%/meta.c \
	%D%/open_params.c \
	%D%/open_params.h \
	%D%/ops.h \
	%D%/reach.c \
	%D%/request.c \
	%D%/store.c \
	%D%/store_int.h \
	%D%/sync_wait.c \
	%D%/upload.c \
	%D%/xml_reply.c \
	%D%/xml_reply.h \
	$(NULL)

# SPDX-License-Identifier: Apache-2.0
fs_base_libbase_la_SOURCES += \
	%D%/aws_host.c \
	%D%/aws_host.h \
	%D%/conf.c \
	%D%/conf.h \
	%D%/digits.c \
	%D%/digits.h \
	%D%/json.c \
	%D%/json.h \
	%D%/uri.c \
	%D%/uri.h \
	%D%/utf8.c \
	%D%/utf8.h \
	%D%/xml.c \
	%D%/xml.h \
	$(NULL)

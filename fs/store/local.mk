# SPDX-License-Identifier: Apache-2.0
noinst_LTLIBRARIES += %D%/libstore.la
%C%_libstore_la_SOURCES = \
	%D%/cred.c \
	%D%/cred.h \
	%D%/profile.c \
	%D%/profile.h \
	$(NULL)
%C%_libstore_la_LIBADD = fs/base/libbase.la

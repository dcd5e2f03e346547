# SPDX-License-Identifier: Apache-2.0
noinst_LTLIBRARIES += %D%/libmove.la
%C%_libmove_la_SOURCES = \
	%D%/compare.c \
	%D%/compare.h \
	%D%/copied.c \
	%D%/copied.h \
	%D%/move.c \
	%D%/move.h \
	%D%/move_int.h \
	%D%/purge.c \
	$(NULL)
%C%_libmove_la_LIBADD = fs/store/libstore.la fs/base/libbase.la

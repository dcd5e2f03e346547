# SPDX-License-Identifier: Apache-2.0
bin_PROGRAMS += storesim

# All but main(): tests link it too.
noinst_LTLIBRARIES += %D%/libsim.la
%C%_libsim_la_SOURCES = \
	bench/core/pattern.c \
	bench/core/pattern.h \
	bench/core/pattern_word.h \
	%D%/auth.c \
	%D%/permission.c \
	$(NULL)
include %D%/gs/local.mk
include %D%/http/local.mk
include %D%/identity/local.mk
include %D%/s3/local.mk
include %D%/store/local.mk
%C%_libsim_la_CFLAGS = $(AM_CFLAGS) $(SSL_CFLAGS) $(CRYPTO_CFLAGS)
%C%_libsim_la_LIBADD = fs/base/libbase.la $(SSL_LIBS) $(CRYPTO_LIBS)

storesim_SOURCES = %D%/main.c %D%/options.h %D%/options_s3.c
storesim_LDADD = %D%/libsim.la

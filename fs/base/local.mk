# SPDX-License-Identifier: Apache-2.0
noinst_LTLIBRARIES += %D%/libbase.la
%C%_libbase_la_SOURCES = \
	%D%/banned.h \
	%D%/buf.c \
	%D%/buf.h \
	%D%/cleanup.h \
	%D%/container_of.h \
	%D%/digest.c \
	%D%/digest.h \
	%D%/fdio.c \
	%D%/fdio.h \
	%D%/grow.h \
	%D%/log.c \
	%D%/log.h \
	%D%/metrics.c \
	%D%/metrics.def \
	%D%/metrics.h \
	%D%/lock_order.h \
	%D%/mutex.c \
	%D%/mutex.h \
	%D%/params.c \
	%D%/params.def \
	%D%/params.h \
	%D%/params_doc.c \
	%D%/pool.c \
	%D%/pool.h \
	%D%/waiter.c \
	%D%/waiter.h \
	$(NULL)
include %D%/control/local.mk
include %D%/machine/local.mk
include %D%/record/local.mk
include %D%/sign/local.mk
include %D%/text/local.mk
%C%_libbase_la_CFLAGS = $(AM_CFLAGS) $(CRYPTO_CFLAGS) $(ISAL_CFLAGS) $(CJSON_CFLAGS) $(YAML_CFLAGS) \
	$(EXPAT_CFLAGS)
%C%_libbase_la_LIBADD = $(CRYPTO_LIBS) $(ISAL_LIBS) $(CJSON_LIBS) $(YAML_LIBS) $(EXPAT_LIBS)

# Prints the tables of options and metrics for manual and sample.
noinst_PROGRAMS += %D%/gen_docs
%C%_gen_docs_SOURCES = %D%/gen_docs.c
%C%_gen_docs_LDADD = %D%/libbase.la

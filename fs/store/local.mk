# SPDX-License-Identifier: Apache-2.0
noinst_LTLIBRARIES += %D%/libstore.la
%C%_libstore_la_SOURCES =
include %D%/core/local.mk
include %D%/cred/local.mk
include %D%/gcs/local.mk
include %D%/http/local.mk
include %D%/s3/local.mk
%C%_libstore_la_CFLAGS = $(AM_CFLAGS) $(CURL_CFLAGS)
%C%_libstore_la_LIBADD = fs/base/libbase.la $(CURL_LIBS)

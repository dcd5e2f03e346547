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

# What store.h declares, for programs of others. A change that breaks them raises the first number of -version-info and
# the name of the version (libtool's manual, "Updating library version information").
EXTRA_DIST += %D%/ckptstore.map %D%/ckptstore.pc.in
CLEANFILES += %D%/ckptstore.pc
if WITH_LIBRARY
lib_LTLIBRARIES += libckptstore.la
libckptstore_la_SOURCES =
libckptstore_la_LIBADD = %D%/libstore.la
libckptstore_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 -no-undefined -Wl,--version-script=$(srcdir)/%D%/ckptstore.map
libckptstore_la_DEPENDENCIES = %D%/libstore.la %D%/ckptstore.map
libheadersdir = $(includedir)/ckptfs
libheaders_HEADERS = include/store.h
pkgconfigdir = $(libdir)/pkgconfig
nodist_pkgconfig_DATA = %D%/ckptstore.pc
else
noinst_HEADERS += include/store.h
endif
%D%/ckptstore.pc: %D%/ckptstore.pc.in Makefile
	@$(MKDIR_P) %D%
	$(AM_V_GEN)$(SED) 's|@prefix[@]|$(prefix)|; s|@libdir[@]|$(libdir)|; s|@includedir[@]|$(includedir)|; s|@VERSION[@]|$(VERSION)|' \
		'$(srcdir)/%D%/ckptstore.pc.in' >$@

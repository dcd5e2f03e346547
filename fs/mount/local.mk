# SPDX-License-Identifier: Apache-2.0
# libmount.la is everything but main(), for the tests; no libcurl, no OpenSSL in here.
noinst_LTLIBRARIES += %D%/libmount.la
%C%_libmount_la_SOURCES =
include %D%/caller/local.mk
include %D%/control/local.mk
include %D%/core/local.mk
include %D%/daemon/local.mk
include %D%/ops/local.mk
include %D%/read/local.mk
include %D%/rename/local.mk
include %D%/tree/local.mk
include %D%/write/local.mk
%C%_libmount_la_CFLAGS = $(AM_CFLAGS) $(FUSE_CFLAGS) $(MICROHTTPD_CFLAGS)
%C%_libmount_la_LIBADD = fs/move/libmove.la fs/store/libstore.la fs/base/libbase.la $(FUSE_LIBS) \
	$(MICROHTTPD_LIBS)

bin_PROGRAMS += ckptfs
ckptfs_SOURCES = %D%/daemon/main.c
ckptfs_LDADD = %D%/libmount.la

# mount(8) looks for these in /sbin.
sbin_SCRIPTS += %D%/daemon/mount.ckptfs
EXTRA_DIST += %D%/daemon/mount.ckptfs.in
CLEANFILES += %D%/daemon/mount.ckptfs
%D%/daemon/mount.ckptfs: %D%/daemon/mount.ckptfs.in Makefile
	@$(MKDIR_P) %D%/daemon
	$(AM_V_GEN)$(SED) 's|@bindir[@]|$(bindir)|' '$(srcdir)/%D%/daemon/mount.ckptfs.in' >$@ && chmod 755 $@
install-exec-hook:
	cd '$(DESTDIR)$(sbindir)' && rm -f mount.fuse.ckptfs && $(LN_S) mount.ckptfs mount.fuse.ckptfs
install-data-hook:
	cd '$(DESTDIR)$(completionsdir)' && rm -f mount.ckptfs && $(LN_S) ckptfs mount.ckptfs
uninstall-hook:
	rm -f '$(DESTDIR)$(completionsdir)/mount.ckptfs'
	rm -f '$(DESTDIR)$(sbindir)/mount.fuse.ckptfs'

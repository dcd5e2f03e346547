# SPDX-License-Identifier: Apache-2.0
# libmount.la is everything but main(), for the tests; no libcurl, no OpenSSL in here.
noinst_LTLIBRARIES += %D%/libmount.la
%C%_libmount_la_SOURCES = \
	%D%/ahead.c \
	%D%/ahead.h \
	%D%/amend.c \
	%D%/amend.h \
	%D%/attr.c \
	%D%/attr.h \
	%D%/attr_user.c \
	%D%/chain.c \
	%D%/chain.h \
	%D%/claim.c \
	%D%/claim.h \
	%D%/creates.c \
	%D%/creates.h \
	%D%/curfew.c \
	%D%/curfew.h \
	%D%/clone.c \
	%D%/commit.c \
	%D%/extent.c \
	%D%/extent.h \
	%D%/figures.c \
	%D%/figures.h \
	%D%/gaps.c \
	%D%/gaps.h \
	%D%/heir.c \
	%D%/heir.h \
	%D%/hold.c \
	%D%/hold.h \
	%D%/holders.c \
	%D%/holders.h \
	%D%/keep.c \
	%D%/keep.h \
	%D%/file.c \
	%D%/file.h \
	%D%/file_end.c \
	%D%/file_int.h \
	%D%/file_read.c \
	%D%/rebase.c \
	%D%/killed.c \
	%D%/killed.h \
	%D%/listing.c \
	%D%/listing.h \
	%D%/look.c \
	%D%/look.h \
	%D%/lookup_int.h \
	%D%/marker.c \
	%D%/marker.h \
	%D%/mount.c \
	%D%/mount.h \
	%D%/mountpoint.c \
	%D%/mountpoint.h \
	%D%/name_lock.c \
	%D%/name_lock.h \
	%D%/node.c \
	%D%/op.h \
	%D%/op_copy.c \
	%D%/op_data.c \
	%D%/op_dir.c \
	%D%/op_file.c \
	%D%/op_file.h \
	%D%/op_lookup.c \
	%D%/op_meta.c \
	%D%/op_name.c \
	%D%/op_open.c \
	%D%/op_publish.c \
	%D%/op_rename.c \
	%D%/park.c \
	%D%/park.h \
	%D%/op_setattr.c \
	%D%/op_xattr.c \
	%D%/op_handle.c \
	%D%/op_link.c \
	%D%/op_size.c \
	%D%/part.c \
	%D%/part.h \
	%D%/plan.c \
	%D%/plan.h \
	%D%/procfd.c \
	%D%/procfd.h \
	%D%/range.c \
	%D%/range.h \
	%D%/reader.c \
	%D%/reader.h \
	%D%/reader_int.h \
	%D%/relief.c \
	%D%/relief.h \
	%D%/rename.c \
	%D%/rename.h \
	%D%/rename_dir.c \
	%D%/roll.c \
	%D%/roll.h \
	%D%/serve.c \
	%D%/session.c \
	%D%/session.h \
	%D%/slot.c \
	%D%/spill.c \
	%D%/spill.h \
	%D%/task.c \
	%D%/tree.c \
	%D%/tree.h \
	%D%/window.c \
	%D%/window.h \
	$(NULL)
%C%_libmount_la_CFLAGS = $(AM_CFLAGS) $(FUSE_CFLAGS)
%C%_libmount_la_LIBADD = fs/move/libmove.la fs/store/libstore.la fs/base/libbase.la $(FUSE_LIBS)

bin_PROGRAMS += ckptfs
ckptfs_SOURCES = %D%/main.c
ckptfs_LDADD = %D%/libmount.la

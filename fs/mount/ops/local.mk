# SPDX-License-Identifier: Apache-2.0
fs_mount_libmount_la_SOURCES += \
	%D%/heir.c \
	%D%/heir.h \
	%D%/lookup_int.h \
	%D%/node_writer.c \
	%D%/node_writer.h \
	%D%/op.h \
	%D%/op_copy_range.c \
	%D%/op_data.c \
	%D%/op_dir.c \
	%D%/op_flush.c \
	%D%/op_getattr.c \
	%D%/op_handle.c \
	%D%/op_interrupt.c \
	%D%/op_interrupt.h \
	%D%/op_link.c \
	%D%/op_lookup.c \
	%D%/op_name.c \
	%D%/op_open.c \
	%D%/op_read_cache.c \
	%D%/op_rename.c \
	%D%/op_setattr.c \
	%D%/op_truncate.c \
	%D%/op_xattr.c \
	%D%/stat_prefetch.c \
	%D%/stat_prefetch.h \
	$(NULL)

# SPDX-License-Identifier: Apache-2.0
fs_mount_libmount_la_SOURCES += \
	%D%/attr.c \
	%D%/attr.h \
	%D%/attr_user.c \
	%D%/content_type.c \
	%D%/content_type.h \
	%D%/listing.c \
	%D%/listing.h \
	%D%/node.c \
	%D%/readdir_history.c \
	%D%/readdir_history.h \
	%D%/recent_nodes.c \
	%D%/recent_nodes.h \
	%D%/tombstone.c \
	%D%/tombstone.h \
	%D%/tree.c \
	%D%/tree.h \
	$(NULL)

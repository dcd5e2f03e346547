# SPDX-License-Identifier: Apache-2.0
fs_mount_libmount_la_SOURCES += \
	%D%/attr_sync.c \
	%D%/attr_sync.h \
	%D%/dir_marker.c \
	%D%/dir_marker.h \
	%D%/name_lock.c \
	%D%/name_lock.h \
	%D%/orphan.c \
	%D%/orphan.h \
	%D%/rename.c \
	%D%/rename.h \
	$(NULL)

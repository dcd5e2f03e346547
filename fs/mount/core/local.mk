# SPDX-License-Identifier: Apache-2.0
fs_mount_libmount_la_SOURCES += \
	%D%/mount.c \
	%D%/mount.h \
	%D%/stats_log.c \
	%D%/stats_log.h \
	$(NULL)

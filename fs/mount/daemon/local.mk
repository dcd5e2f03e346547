# SPDX-License-Identifier: Apache-2.0
fs_mount_libmount_la_SOURCES += \
	%D%/advice.c \
	%D%/advice.h \
	%D%/fuse_init_ext.c \
	%D%/fuse_init_ext.h \
	%D%/mem_reclaim.c \
	%D%/mem_reclaim.h \
	%D%/mount_life.c \
	%D%/mount_life.h \
	%D%/mountpoint.c \
	%D%/mountpoint.h \
	%D%/notify.c \
	%D%/notify.h \
	%D%/privileges.c \
	%D%/privileges.h \
	%D%/reload.c \
	%D%/reload.h \
	%D%/session.c \
	%D%/session.h \
	%D%/shutdown_timer.c \
	%D%/shutdown_timer.h \
	%D%/syscall_filter.c \
	%D%/syscall_filter.h \
	%D%/uring.c \
	%D%/uring.h \
	$(NULL)

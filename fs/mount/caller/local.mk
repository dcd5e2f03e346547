# SPDX-License-Identifier: Apache-2.0
fs_mount_libmount_la_SOURCES += \
	%D%/exit_signal.c \
	%D%/exit_signal.h \
	%D%/fd_owners.c \
	%D%/fd_owners.h \
	%D%/mount_list.c \
	%D%/mount_list.h \
	%D%/open_intent.c \
	%D%/open_intent.h \
	%D%/proc_fds.c \
	%D%/proc_fds.h \
	%D%/proc_query.c \
	%D%/proc_query.h \
	$(NULL)

# SPDX-License-Identifier: Apache-2.0
fs_mount_libmount_la_SOURCES += \
	%D%/control.c \
	%D%/control.h \
	%D%/control_reply.c \
	%D%/control_reply.h \
	$(NULL)

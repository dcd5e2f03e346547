# SPDX-License-Identifier: Apache-2.0
fs_base_libbase_la_SOURCES += \
	%D%/control_proto.c \
	%D%/control_proto.h \
	$(NULL)

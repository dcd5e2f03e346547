# SPDX-License-Identifier: Apache-2.0
fs_base_libbase_la_SOURCES += \
	%D%/machine.c \
	%D%/machine.h \
	$(NULL)

# SPDX-License-Identifier: Apache-2.0
fs_base_libbase_la_SOURCES += \
	%D%/sign_rs256.c \
	%D%/sign_rs256.h \
	%D%/sign_v4.c \
	%D%/sign_v4.h \
	$(NULL)

# SPDX-License-Identifier: Apache-2.0
fs_base_libbase_la_SOURCES += \
	%D%/recovery_record.c \
	%D%/recovery_record.h \
	%D%/rename_journal.c \
	%D%/rename_journal.h \
	$(NULL)

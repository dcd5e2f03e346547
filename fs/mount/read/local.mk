# SPDX-License-Identifier: Apache-2.0
fs_mount_libmount_la_SOURCES += \
	%D%/cached_ranges.c \
	%D%/cached_ranges.h \
	%D%/crc_combine.c \
	%D%/crc_combine.h \
	%D%/fetch_range.c \
	%D%/fetch_range.h \
	%D%/readahead.c \
	%D%/readahead.h \
	%D%/reader.c \
	%D%/reader.h \
	%D%/reader_cache.c \
	%D%/reader_int.h \
	%D%/reply.c \
	%D%/version_cache.c \
	%D%/version_cache.h \
	$(NULL)

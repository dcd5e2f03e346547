# SPDX-License-Identifier: Apache-2.0
fs_store_libstore_la_SOURCES += \
	%D%/aws_call.c \
	%D%/s3.c \
	%D%/s3_arn.c \
	%D%/s3.h \
	%D%/s3_check.c \
	%D%/s3_checksum.c \
	%D%/s3_complete.c \
	%D%/s3_copy.c \
	%D%/s3_delete.c \
	%D%/s3_error.c \
	%D%/s3_etag.c \
	%D%/s3_etag.h \
	%D%/s3_express.c \
	%D%/s3_list.c \
	%D%/s3_list_express.c \
	%D%/s3_append.c \
	%D%/s3_minds.c \
	%D%/s3_object.c \
	%D%/s3_options.c \
	%D%/s3_pages.c \
	%D%/s3_request.c \
	%D%/s3_upload.c \
	%D%/s3_verify.c \
	$(NULL)

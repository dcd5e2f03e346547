# SPDX-License-Identifier: Apache-2.0
fs_store_libstore_la_SOURCES += \
	%D%/gcs.c \
	%D%/gcs.h \
	%D%/gcs_batch.c \
	%D%/gcs_compose.c \
	%D%/gcs_copy.c \
	%D%/gcs_error.c \
	%D%/gcs_folder.c \
	%D%/gcs_insert.c \
	%D%/gcs_list.c \
	%D%/gcs_multipart.c \
	%D%/gcs_object.c \
	%D%/gcs_reply.c \
	%D%/gcs_request.c \
	%D%/gcs_resumable.c \
	%D%/gcs_upload.c \
	%D%/gcs_upload.h \
	%D%/gcs_verify.c \
	%D%/gcs_xml.c \
	$(NULL)

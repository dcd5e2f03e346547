# SPDX-License-Identifier: Apache-2.0
noinst_LTLIBRARIES += %D%/libstore.la
%C%_libstore_la_SOURCES = \
	%D%/copy_parts.c \
	%D%/cred.c \
	%D%/cred.h \
	%D%/cred_aws.c \
	%D%/cred_aws.h \
	%D%/cred_aws_imds.c \
	%D%/cred_aws_profile.c \
	%D%/cred_aws_sso.c \
	%D%/cred_aws_sts.c \
	%D%/cred_exec.c \
	%D%/cred_gcp.c \
	%D%/cred_gcp.h \
	%D%/cred_http.c \
	%D%/cred_int.h \
	%D%/cred_util.c \
	%D%/gcs.c \
	%D%/gcs.h \
	%D%/gcs_batch.c \
	%D%/gcs_copy.c \
	%D%/gcs_error.c \
	%D%/gcs_insert.c \
	%D%/gcs_list.c \
	%D%/gcs_object.c \
	%D%/gcs_reply.c \
	%D%/gcs_request.c \
	%D%/gcs_verify.c \
	%D%/get.c \
	%D%/http.c \
	%D%/http.h \
	%D%/http_easy.c \
	%D%/http_int.h \
	%D%/http_once.c \
	%D%/http_once.h \
	%D%/http_worker.c \
	%D%/meta.c \
	%D%/open_params.c \
	%D%/ops.h \
	%D%/pace.c \
	%D%/pace.h \
	%D%/profile.c \
	%D%/profile.h \
	%D%/request.c \
	%D%/retry.c \
	%D%/retry.h \
	%D%/s3.c \
	%D%/s3.h \
	%D%/s3_complete.c \
	%D%/s3_error.c \
	%D%/s3_etag.c \
	%D%/s3_etag.h \
	%D%/s3_list.c \
	%D%/s3_object.c \
	%D%/s3_pages.c \
	%D%/s3_reply.c \
	%D%/s3_reply.h \
	%D%/s3_request.c \
	%D%/s3_upload.c \
	%D%/s3_verify.c \
	%D%/store.c \
	%D%/store_int.h \
	%D%/upload.c \
	%D%/wait.c \
	$(NULL)
%C%_libstore_la_CFLAGS = $(AM_CFLAGS) $(CURL_CFLAGS)
%C%_libstore_la_LIBADD = fs/base/libbase.la $(CURL_LIBS)

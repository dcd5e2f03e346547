# SPDX-License-Identifier: Apache-2.0
bin_PROGRAMS += storesim

# All but main(): tests link it too.
noinst_LTLIBRARIES += %D%/libsim.la
%C%_libsim_la_SOURCES = \
	bench/pattern.c \
	bench/pattern.h \
	bench/pattern_word.h \
	%D%/auth.c \
	%D%/auth_v2.c \
	%D%/blob.c \
	%D%/chunked.c \
	%D%/chunked.h \
	%D%/conn.c \
	%D%/conn.h \
	%D%/conn_io.c \
	%D%/conn_send.c \
	%D%/data.c \
	%D%/data.h \
	%D%/data_i.h \
	%D%/exchange.h \
	%D%/exchange.c \
	%D%/fault.c \
	%D%/fill.c \
	%D%/fault.h \
	%D%/gs.h \
	%D%/gs_batch.c \
	%D%/gs_copy.c \
	%D%/gs_dispatch.c \
	%D%/gs_folder.c \
	%D%/gs_key.c \
	%D%/gs_list.c \
	%D%/gs_object.c \
	%D%/gs_reply.c \
	%D%/gs_resource.c \
	%D%/gs_session.c \
	%D%/gs_upload.c \
	%D%/http.c \
	%D%/http.h \
	%D%/identity.c \
	%D%/identity.h \
	%D%/identity_aws.c \
	%D%/identity_google.c \
	%D%/identity_i.h \
	%D%/identity_issue.c \
	%D%/identity_sts.c \
	%D%/index.c \
	%D%/index.h \
	%D%/jwt.c \
	%D%/jwt.h \
	%D%/null.c \
	%D%/null.h \
	%D%/object.c \
	%D%/object.h \
	%D%/record.c \
	%D%/record.h \
	%D%/related.c \
	%D%/related.h \
	%D%/request_log.c \
	%D%/request_log.h \
	%D%/s3.h \
	%D%/s3_bucket.c \
	%D%/s3_copy.c \
	%D%/s3_digest.c \
	%D%/s3_dispatch.c \
	%D%/s3_express.c \
	%D%/s3_list.c \
	%D%/s3_object.c \
	%D%/s3_sse.c \
	%D%/s3_upload.c \
	%D%/s3_xml.c \
	%D%/server.c \
	%D%/server.h \
	%D%/shape.h \
	%D%/tls.c \
	%D%/tls.h \
	%D%/vault.c \
	%D%/vault.h \
	%D%/vault_i.h \
	%D%/vault_folder.c \
	%D%/vault_list.c \
	%D%/vault_load.c \
	%D%/vault_upload.c \
	%D%/vault_version.c \
	$(NULL)
%C%_libsim_la_CFLAGS = $(AM_CFLAGS) $(SSL_CFLAGS) $(CRYPTO_CFLAGS)
%C%_libsim_la_LIBADD = fs/base/libbase.la $(SSL_LIBS) $(CRYPTO_LIBS)

storesim_SOURCES = %D%/main.c
storesim_LDADD = %D%/libsim.la

# SPDX-License-Identifier: Apache-2.0
fs_store_libstore_la_SOURCES += \
	%D%/cred.c \
	%D%/cred.h \
	%D%/cred_aws.c \
	%D%/cred_aws.h \
	%D%/cred_aws_imds.c \
	%D%/cred_aws_login.c \
	%D%/cred_aws_profile.c \
	%D%/cred_aws_sso.c \
	%D%/cred_aws_sts.c \
	%D%/cred_exec.c \
	%D%/cred_gcp.c \
	%D%/cred_gcp.h \
	%D%/cred_gcp_aws.c \
	%D%/cred_gcp_external.c \
	%D%/cred_gcp_file.c \
	%D%/cred_gcp_impersonate.c \
	%D%/cred_gcp_keys.c \
	%D%/cred_gcp_service.c \
	%D%/cred_http.c \
	%D%/cred_int.h \
	%D%/cred_util.c \
	%D%/profile.c \
	%D%/profile.h \
	$(NULL)

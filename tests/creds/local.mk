# SPDX-License-Identifier: Apache-2.0
# Each source of credentials end to end, against the identity servers that storesim plays.
creds_tests = \
	%D%/container.sh \
	%D%/env.sh \
	%D%/expires_in_upload.sh \
	%D%/express.sh \
	%D%/gcp_external.sh \
	%D%/gcp_key.sh \
	%D%/gcp_keys.sh \
	%D%/gcp_metadata.sh \
	%D%/gcp_user.sh \
	%D%/gs_expires_in_upload.sh \
	%D%/hosts.sh \
	%D%/imds.sh \
	%D%/options.sh \
	%D%/process.sh \
	%D%/refresh.sh \
	%D%/role.sh \
	%D%/sso.sh \
	%D%/web.sh \
	$(NULL)
all_tests += $(creds_tests)
EXTRA_DIST += $(creds_tests) tests/lib/creds.sh

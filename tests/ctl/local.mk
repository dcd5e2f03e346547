# SPDX-License-Identifier: Apache-2.0
# ckptctl, against storesim.
ctl_tests = \
	%D%/gs_names.sh \
	%D%/recover.sh \
	%D%/uploads.sh \
	$(NULL)
TESTS += $(ctl_tests)
EXTRA_DIST += $(ctl_tests)

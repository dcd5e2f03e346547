# SPDX-License-Identifier: Apache-2.0
# ckptctl, against storesim.
ctl_tests = \
	%D%/gs_names.sh \
	%D%/recover.sh \
	%D%/uploads.sh \
	$(NULL)
all_tests += $(ctl_tests)
EXTRA_DIST += $(ctl_tests)

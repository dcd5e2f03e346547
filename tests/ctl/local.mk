# SPDX-License-Identifier: Apache-2.0
# ckptctl, against storesim and a mount.
ctl_tests = \
	%D%/completion.sh \
	%D%/credentials.sh \
	%D%/detached.sh \
	%D%/doctor.sh \
	%D%/drain.sh \
	%D%/endless.sh \
	%D%/gs_names.sh \
	%D%/live.sh \
	%D%/other_users.sh \
	%D%/recover.sh \
	%D%/recover_again.sh \
	%D%/reload.sh \
	%D%/top.sh \
	%D%/uploads.sh \
	$(NULL)
all_tests += $(ctl_tests)
EXTRA_DIST += $(ctl_tests) %D%/endless.py %D%/other_users.py %D%/top.py %D%/top_picture.py %D%/top_picture.sh

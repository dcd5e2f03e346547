# SPDX-License-Identifier: Apache-2.0
# What an administrator does by the pages, done.
admin_tests = \
	%D%/examples.sh \
	%D%/kubernetes.sh \
	%D%/symptoms.sh \
	$(NULL)
all_tests += $(admin_tests)
EXTRA_DIST += $(admin_tests) %D%/displays.awk %D%/examples.plan %D%/schemas.py %D%/setup.sh

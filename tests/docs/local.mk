# SPDX-License-Identifier: Apache-2.0
# About the source tree itself, apart from params.sh and man_lint.sh, which read what was built.
docs_tests = \
	%D%/arrows.sh \
	%D%/ceilings.sh \
	%D%/decisions.sh \
	%D%/dist.sh \
	%D%/format.sh \
	%D%/locks.sh \
	%D%/man_lint.sh \
	%D%/names.sh \
	%D%/pages.sh \
	%D%/params.sh \
	%D%/promises.sh \
	%D%/quickstart.sh \
	%D%/scenarios.sh \
	%D%/security.sh \
	%D%/stages.sh \
	%D%/trainers.sh \
	%D%/verdict.sh \
	$(NULL)
all_tests += $(docs_tests)
EXTRA_DIST += $(docs_tests) %D%/promises.awk

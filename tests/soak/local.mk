# SPDX-License-Identifier: Apache-2.0
# A mount that works for long: nothing grows, and nothing stays behind.
soak_tests = %D%/soak.sh
all_tests += $(soak_tests)
EXTRA_DIST += $(soak_tests) %D%/flat.awk

check_PROGRAMS += %D%/soak
%C%_soak_SOURCES = \
	%D%/soak.c \
	%D%/soak.h \
	%D%/soak_files.c \
	%D%/soak_steps.c \
	tests/lib/daemon.c \
	tests/lib/daemon.h \
	$(NULL)

# By hand: two hours, or as long as SOAK_SECONDS says.
soak:
	SOAK_SECONDS=$${SOAK_SECONDS:-7200} $(MAKE) $(AM_MAKEFLAGS) check TESTS='$(soak_tests)' \
		TEST_LIMIT="timeout --kill-after=10 $$(($${SOAK_SECONDS:-7200} + 1200))"
.PHONY: soak

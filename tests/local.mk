# SPDX-License-Identifier: Apache-2.0
EXTRA_DIST += \
	%D%/lib/clients.sh \
	%D%/lib/mount.sh \
	%D%/lib/mount_interop.sh \
	%D%/lib/store.sh \
	%D%/lib/tap.sh \
	%D%/lib/unit.h \
	$(NULL)

# Tools of the shell tests.
check_PROGRAMS += %D%/lib/fdo %D%/lib/objects
%C%_lib_fdo_SOURCES = %D%/lib/fdo.c
%C%_lib_objects_SOURCES = %D%/lib/objects.c
%C%_lib_objects_LDADD = fs/store/libstore.la

# Patterns of the tests that ThreadSanitizer's build runs: those with threads of ours.
TSAN_TESTS = tests/unit/test_metrics*|tests/unit/test_log*|tests/store/*|tests/mount/*|tests/faults/*

check-tsan:
	@list=; for t in $(TESTS); do case $$t in $(TSAN_TESTS)) list="$$list $$t";; esac; done; \
	$(MAKE) $(AM_MAKEFLAGS) check TESTS="$$list"

# distcheck with the tests that take no time: what is distributed builds, installs and is whole.
check-dist:
	$(MAKE) $(AM_MAKEFLAGS) distcheck TESTS='$(unit_tests) $(docs_tests)'
.PHONY: check-dist check-tsan

include tests/unit/local.mk
include tests/store/local.mk
include tests/mount/local.mk
include tests/ctl/local.mk
include tests/bench/local.mk
include tests/creds/local.mk
include tests/interop/local.mk
include tests/faults/local.mk
include tests/docs/local.mk
include tests/trainers/local.mk
include tests/posix/local.mk

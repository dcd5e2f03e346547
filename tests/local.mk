# SPDX-License-Identifier: Apache-2.0
EXTRA_DIST += \
	%D%/lib/clients.sh \
	%D%/lib/mount.sh \
	%D%/lib/mount_interop.sh \
	%D%/lib/proxy.py \
	%D%/lib/store.sh \
	%D%/lib/tap.sh \
	%D%/lib/memsource.h \
	%D%/lib/unit.h \
	$(NULL)

# Tools of the shell tests.
check_PROGRAMS += %D%/lib/fdo %D%/lib/objects
%C%_lib_fdo_SOURCES = %D%/lib/fdo.c
%C%_lib_objects_SOURCES = %D%/lib/objects.c
%C%_lib_objects_LDADD = fs/store/libstore.la

# What the sanitizers' builds run, as patterns of the shell. What they leave out reads no C of ours, or runs the same
# C as another test does: the mount on a second protocol, libraries and suites of others.
ASAN_LEAVES = tests/docs/*|tests/bench/hosts.sh|tests/bench/formats.sh|tests/trainers/*|tests/mount/gs/*|tests/faults/gs/*|tests/interop/*clients*|tests/interop/mount_*|tests/posix/f*|tests/posix/p*
# ThreadSanitizer: what has threads of ours.
TSAN_TESTS = tests/unit/test_metrics*|tests/unit/test_log*|tests/store/*|tests/mount/*.sh|tests/faults/*.sh
TSAN_LEAVES = tests/mount/gs/*|tests/faults/gs/*|tests/mount/gs_[ov]*|tests/mount/encryption*

check-asan:
	@list=; for t in $(TESTS); do case $$t in $(ASAN_LEAVES)) ;; *) list="$$list $$t";; esac; done; \
	$(MAKE) $(AM_MAKEFLAGS) check TESTS="$$list"

check-tsan:
	@list=; for t in $(TESTS); do case $$t in $(TSAN_LEAVES)) ;; $(TSAN_TESTS)) list="$$list $$t";; esac; done; \
	$(MAKE) $(AM_MAKEFLAGS) check-TESTS check_PROGRAMS='$(TSAN_NEEDS)' TESTS="$$list"

# What those tests run, and no more; what else there is is built in every other way.
TSAN_NEEDS = ckptfs ckptctl storesim $(store_fake_tests) tests/store/test_store tests/unit/test_log \
	tests/unit/test_metrics tests/lib/fdo tests/lib/objects tests/mount/anyop tests/mount/readers
tsan-programs: $(BUILT_SOURCES)
	$(MAKE) $(AM_MAKEFLAGS) $(TSAN_NEEDS)

# distcheck with the tests that take no time: what is distributed builds, installs and is whole.
check-dist:
	$(MAKE) $(AM_MAKEFLAGS) distcheck TESTS='$(unit_tests) $(docs_tests)'
.PHONY: check-asan check-dist check-tsan tsan-programs

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
include tests/gpu/local.mk

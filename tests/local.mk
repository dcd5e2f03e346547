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
# ThreadSanitizer: what has threads of ours. Those of the simulator are seen by tests/store and by its own tests; beside
# a mount it and the tests' programs may be of a build that is faster (CKPTFS_TOOLS).
TSAN_TESTS = tests/unit/test_metrics*|tests/unit/test_log*|tests/store/*|tests/mount/*.sh|tests/faults/*.sh|tests/bench/sim_parallel*|tests/bench/sim_*uploads*
TSAN_LEAVES = tests/mount/gs/*|tests/faults/gs/*|tests/mount/gs_[ov]*|tests/mount/encryption*

# Libraries of others compute, most other tests wait: one now and then among them keeps processors busy.
check-all:
	@list=; n=0; set -- $(trainers_tests); for t in $(TESTS); do \
		case $$t in tests/trainers/*) continue;; esac; list="$$list $$t"; n=`expr $$n + 1`; \
		if test $$# -gt 0 && test `expr $$n % 12` = 0; then list="$$list $$1"; shift; fi; done; \
	$(MAKE) $(AM_MAKEFLAGS) check TESTS="$$list $$*"

check-asan:
	@list=; for t in $(TESTS); do case $$t in $(ASAN_LEAVES)) ;; *) list="$$list $$t";; esac; done; \
	$(MAKE) $(AM_MAKEFLAGS) check TESTS="$$list"

check-tsan:
	@list=; for t in $(TESTS); do case $$t in $(TSAN_LEAVES)) ;; $(TSAN_TESTS)) list="$$list $$t";; esac; done; \
	$(MAKE) $(AM_MAKEFLAGS) check-TESTS check_PROGRAMS='$(TSAN_NEEDS)' TESTS="$$list"

# All that is built and run by any test.
programs: $(BUILT_SOURCES)
	$(MAKE) $(AM_MAKEFLAGS) all-am $(check_PROGRAMS) $(check_SCRIPTS)

# What those tests run, and no more; what else there is is built in every other way.
TSAN_NEEDS = ckptfs ckptctl storesim $(store_fake_tests) tests/store/test_store tests/unit/test_log \
	tests/unit/test_metrics tests/lib/fdo tests/lib/objects tests/mount/anyop tests/mount/latest tests/mount/readers
tsan-programs: $(BUILT_SOURCES)
	$(MAKE) $(AM_MAKEFLAGS) $(TSAN_NEEDS)

# distcheck with the tests that take no time: what is distributed builds, installs and is whole. quickstart
# has a second compiler and CUDA's do it, and device.sh tells what such a build says without a GPU.
check-dist:
	@list=; for t in $(unit_tests) $(docs_tests) tests/bench/device.sh; do \
		case $$t in *docs/format.sh) ;; *) list="$$list $$t";; esac; done; \
	$(MAKE) $(AM_MAKEFLAGS) distcheck TESTS="$$list"
.PHONY: check-all check-asan check-dist check-tsan programs tsan-programs

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

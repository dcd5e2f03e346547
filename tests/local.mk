# SPDX-License-Identifier: Apache-2.0
EXTRA_DIST += \
	%D%/coverage.awk \
	%D%/coverage.sh \
	%D%/lib/alone.sh \
	%D%/lib/asked_store.h \
	%D%/lib/clients.sh \
	%D%/lib/hardened.sh \
	%D%/lib/hundred_files.sh \
	%D%/lib/mount.sh \
	%D%/lib/mount_interop.sh \
	%D%/lib/namespace.sh \
	%D%/lib/proxy.py \
	%D%/lib/store.sh \
	%D%/lib/tap.sh \
	%D%/lib/tls.sh \
	%D%/lib/tls_relay.py \
	%D%/lib/memsource.h \
	%D%/lib/no_memory.h \
	%D%/lib/one_file.h \
	%D%/lib/other_rank.h \
	%D%/lib/small_gpt.h \
	%D%/lib/unit.h \
	%D%/lib/unit_train.h \
	$(NULL)

# Tools of the shell tests.
check_PROGRAMS += %D%/lib/fdo %D%/lib/objects
%C%_lib_fdo_SOURCES = %D%/lib/fdo.c %D%/lib/fdo.h %D%/lib/fdo_names.c
%C%_lib_objects_SOURCES = %D%/lib/objects.c
%C%_lib_objects_LDADD = fs/store/libstore.la

# Calls of a program that fail: loaded into the mount by tests/faults/failing_calls.sh and one_thread.sh.
preloads = %D%/lib/failing.so %D%/lib/one_taker.so
check_DATA += $(preloads)
CLEANFILES += $(preloads)
EXTRA_DIST += %D%/lib/failing.c %D%/lib/one_taker.c
$(preloads): %.so: %.c
	$(AM_V_CCLD)$(MKDIR_P) $(@D) && $(CC) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) $(CPPFLAGS) -U_FORTIFY_SOURCE -std=gnu11 $(WARN_CFLAGS) -O2 -g \
		-fPIC -shared -o $@ $< -ldl

# The first depth: what a change breaks first, in minutes. All the rest is all_tests, by check-all.
quick_tests = \
	$(unit_tests) \
	$(store_fake_tests) \
	$(creds_tests) \
	$(ctl_tests) \
	%D%/mount/append.sh \
	%D%/mount/attrs.sh \
	%D%/mount/basic.sh \
	%D%/mount/close_left.sh \
	%D%/mount/conflict.sh \
	%D%/mount/copies.sh \
	%D%/mount/dirs.sh \
	%D%/mount/end.sh \
	%D%/mount/handles.sh \
	%D%/mount/kill.sh \
	%D%/mount/listing.sh \
	%D%/mount/mmap.sh \
	%D%/mount/names.sh \
	%D%/mount/permissions.sh \
	%D%/mount/publish.sh \
	%D%/mount/refused.sh \
	%D%/mount/rename.sh \
	%D%/mount/rename_dir.sh \
	%D%/mount/rename_open.sh \
	%D%/mount/rename_write.sh \
	%D%/mount/replaced.sh \
	%D%/mount/symlinks.sh \
	%D%/mount/truncate.sh \
	%D%/mount/two_mounts.sh \
	%D%/mount/unlink.sh \
	%D%/mount/unlinked.sh \
	%D%/mount/ways.sh \
	%D%/mount/xattr.sh \
	%D%/mount/gs/append.sh \
	%D%/mount/gs/basic.sh \
	%D%/mount/gs/conflict.sh \
	%D%/mount/gs/rename.sh \
	%D%/mount/gs/rename_dir.sh \
	%D%/faults/deadline.sh \
	%D%/faults/name_refused.sh \
	%D%/faults/read.sh \
	%D%/faults/rename.sh \
	%D%/faults/write.sh \
	%D%/posix/model.sh \
	%D%/bench/dcp.sh \
	%D%/bench/device.sh \
	%D%/bench/shards.sh \
	%D%/docs/arrows.sh \
	%D%/docs/ceilings.sh \
	%D%/fuzz/replay.sh \
	$(NULL)

# The deep check runs each test where it shows most, mostly once; these are patterns of the shell. Under ASan and UBSan is
# what is not GCC_ALONE, in the build that people install what is GCC_ALONE or GCC_TOO: each test is in one of both.
# Commands, pages and packages.
GCC_PAGES = tests/admin/*|tests/docs/*|tests/packages/*|tests/bench/prepare_nvme.sh|tests/mount/mount_helper.sh|tests/mount/prometheus.sh|tests/mount/systemd.sh
# Programs of others: they take the time, and their bytes pass through the C that tests/store and tests/mount run.
GCC_OTHERS = tests/interop/*|tests/trainers/*|tests/posix/f*|tests/posix/pjd*|tests/bench/dcp_time.sh|tests/bench/formats.sh|tests/bench/gds.sh|tests/bench/hosts_*|tests/bench/hosts.sh|tests/bench/lightning_file.sh|tests/bench/schema.sh|tests/bench/shards_awscrt.sh|tests/bench/shards_libs3.sh|tests/bench/speed_table.sh|tests/bench/sysinfo.sh|tests/bench/train_torch.sh
# The same C as another test, on a second protocol.
GCC_SECOND = tests/mount/gs/*|tests/faults/gs/*
# Memory, system calls, times and numbers that a sanitizer changes.
GCC_MEASURED = tests/bench/ceiling.sh|tests/bench/hold.sh|tests/bench/selfcheck.sh|tests/bench/through_mount.sh|tests/bench/train_[fkpt]*|tests/bench/train_signal.sh|tests/bench/train_stores.sh|tests/faults/failing_calls.sh|tests/faults/memory_group.sh|tests/faults/one_thread.sh|tests/gpu/math_emulated.sh|tests/mount/idle.sh|tests/mount/privileges.sh|tests/mount/unseen.sh|tests/posix/parts.sh
# How hosts and hours meet: the more calls the better.
GCC_LONG = tests/history/[hm]*|tests/posix/hosts.sh|tests/soak/*
GCC_ALONE = $(GCC_PAGES)|$(GCC_OTHERS)|$(GCC_SECOND)|$(GCC_MEASURED)|$(GCC_LONG)
# Memory-heavy, so ASan has them, but a check of theirs measures, or wants memory that is used again at once.
GCC_TOO = tests/mount/file_handle.sh|tests/mount/listing_large.sh|tests/mount/many_open.sh|tests/mount/memory.sh|tests/mount/memory_commits.sh|tests/mount/parts.sh
# ThreadSanitizer, besides: what has threads of ours. Those of the simulator are seen by tests/store and by its own tests;
# beside a mount it and the tests' programs may be of a build that is faster (CKPTFS_TOOLS).
TSAN_TESTS = tests/unit/test_metrics*|tests/unit/test_log*|tests/unit/test_train*|tests/store/*|tests/mount/*.sh|tests/faults/*.sh|tests/bench/sim_parallel*|tests/bench/sim_*uploads*
# Not what differs by what is sent, with the same threads.
TSAN_LEAVES = $(GCC_PAGES)|$(GCC_SECOND)|$(GCC_MEASURED)|tests/mount/addressing.sh|tests/mount/cli.sh|tests/mount/content_type.sh|tests/mount/denied.sh|tests/mount/encryption.sh|tests/mount/express_*|tests/mount/gs_*|tests/mount/hns.sh|tests/mount/huge.sh|tests/mount/names.sh|tests/mount/odd_names.sh|tests/mount/options.sh|tests/mount/refused.sh|tests/mount/skipped_names.sh|tests/mount/storage_class.sh|tests/mount/tls.sh

# The names of a selection's tests, one a line.
list-quick:
	@for t in $(quick_tests); do echo $$t; done
list-all:
	@for t in $(all_tests); do echo $$t; done
list-gcc:
	@for t in $(all_tests); do case $$t in $(GCC_ALONE)|$(GCC_TOO)) echo $$t;; esac; done
list-asan:
	@for t in $(all_tests); do case $$t in $(GCC_ALONE)) ;; *) echo $$t;; esac; done
list-tsan:
	@for t in $(all_tests); do case $$t in $(TSAN_LEAVES)) ;; $(TSAN_TESTS)) echo $$t;; esac; done
list-dist:
	@for t in $(unit_tests) tests/bench/device.sh tests/packages/hardened.sh; do echo $$t; done

# Libraries of others compute, most other tests wait: one now and then among them keeps processors busy.
SPREAD = names=`$(MAKE) -s --no-print-directory $$from` || exit 1; list=; n=0; set -- $(trainers_tests); for t in $$names; do \
	case $$t in tests/trainers/*) continue;; esac; list="$$list $$t"; n=`expr $$n + 1`; \
	if test $$\# -gt 0 && test `expr $$n % $$each` = 0; then list="$$list $$1"; shift; fi; done; list="$$list $$*"

# Everything in this build.
check-all:
	@from=list-all each=12; $(SPREAD); $(MAKE) $(AM_MAKEFLAGS) check TESTS="$$list"

check-gcc: gcc-programs
	@from=list-gcc each=9; $(SPREAD); $(MAKE) $(AM_MAKEFLAGS) check-TESTS check_PROGRAMS= TESTS="$$list"

check-asan:
	@list=`$(MAKE) -s --no-print-directory list-asan` && $(MAKE) $(AM_MAKEFLAGS) check TESTS="`echo $$list`"

check-tsan:
	@list=`$(MAKE) -s --no-print-directory list-tsan` && \
	$(MAKE) $(AM_MAKEFLAGS) check-TESTS check_PROGRAMS='$(TSAN_NEEDS)' TESTS="`echo $$list`"

# All that is built and run by any test.
programs: $(BUILT_SOURCES)
	$(MAKE) $(AM_MAKEFLAGS) all-am $(check_PROGRAMS) $(check_SCRIPTS) $(check_DATA)

# The programs of quick_tests.
QUICK_NEEDS = ckptfs ckptctl storesim ckptbench $(unit_tests) $(store_fake_tests) $(fuzz_targets) tests/lib/fdo tests/lib/objects \
	tests/mount/anyop tests/mount/latest tests/mount/mixed tests/mount/readers tests/mount/ways tests/mount/ring tests/mount/crowd tests/posix/model tests/posix/noise
quick-programs: $(BUILT_SOURCES)
	$(MAKE) $(AM_MAKEFLAGS) $(QUICK_NEEDS) $(check_SCRIPTS)

# For the analysis of the compiler: how a C file of ours is compiled, in the tree of the build.
print-cflags:
	@echo -std=gnu11 $(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) $(CPPFLAGS) $(FUSE_CFLAGS) $(CURL_CFLAGS) $(CRYPTO_CFLAGS) \
		$(SSL_CFLAGS) $(CJSON_CFLAGS) $(YAML_CFLAGS) $(EXPAT_CFLAGS) $(ISAL_CFLAGS) $(MPI_CFLAGS) $(JPEG_CFLAGS) $(ARCHIVE_CFLAGS) \
		$(OPENBLAS_CFLAGS)

# What those tests run, and no more; what else there is is built in every other way.
TSAN_NEEDS = ckptfs ckptctl storesim $(store_fake_tests) tests/store/test_store tests/unit/test_log \
	tests/unit/test_metrics tests/unit/test_train tests/unit/test_train_devices tests/unit/test_train_pipe tests/unit/test_train_ranks \
	tests/unit/test_train_save tests/lib/fdo tests/lib/objects tests/mount/anyop tests/mount/latest tests/mount/mixed tests/mount/readers
tsan-programs: $(BUILT_SOURCES)
	$(MAKE) $(AM_MAKEFLAGS) $(TSAN_NEEDS)

# Units and parsers by themselves are built where they run.
gcc-programs: $(BUILT_SOURCES)
	@needs=`for p in $(check_PROGRAMS); do \
		case " $(unit_tests) $(store_fake_tests) $(fuzz_targets) " in *" $$p "*) ;; *) echo $$p;; esac; done`; \
	$(MAKE) $(AM_MAKEFLAGS) all-am `echo $$needs` $(check_SCRIPTS) $(check_DATA)

# distcheck with the units: what is distributed builds, installs and is whole. quickstart has a second compiler and CUDA's
# do it: device.sh tells what such a build says without a GPU, and hardened.sh what the second compiler leaves out.
check-dist:
	@list=`$(MAKE) -s --no-print-directory list-dist` && $(MAKE) $(AM_MAKEFLAGS) distcheck TESTS="`echo $$list`"

# Lines and branches of fs/ that the tests of fs/ reach, in a build of its own.
COVERAGE_TESTS = tests/unit/*|tests/store/*|tests/creds/*|tests/mount/*|tests/faults/*|tests/ctl/*|tests/fuzz/*|tests/posix/crash.sh|tests/posix/model.sh|tests/posix/parts.sh
coverage:
	+@list=; for t in $(all_tests); do case $$t in $(COVERAGE_TESTS)) list="$$list $$t";; esac; done; \
	MAKE='$(MAKE)' $(SHELL) $(abs_top_srcdir)/tests/coverage.sh $(abs_top_srcdir) coverage $$list
clean-local: clean-coverage
clean-coverage:
	rm -rf coverage
.PHONY: clean-coverage coverage
.PHONY: check-all check-asan check-dist check-gcc check-tsan gcc-programs list-all list-asan list-dist list-gcc
.PHONY: list-quick list-tsan print-cflags programs quick-programs tsan-programs

# A soak waits for minutes, and packages are built for minutes on one core: what else there is runs beside them.
include tests/soak/local.mk
include tests/packages/local.mk
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
include tests/fuzz/local.mk
include tests/history/local.mk
include tests/admin/local.mk

# SPDX-License-Identifier: Apache-2.0
# A mount each, against storesim.
mount_tests = \
	%D%/anyop.sh \
	%D%/append.sh \
	%D%/attrs.sh \
	%D%/basic.sh \
	%D%/bigfile.sh \
	%D%/chmod_readers.sh \
	%D%/cli.sh \
	%D%/concurrency.sh \
	%D%/conflict.sh \
	%D%/consistency.sh \
	%D%/copies.sh \
	%D%/daemon_kill.sh \
	%D%/direct.sh \
	%D%/dirs.sh \
	%D%/end.sh \
	%D%/gs_append.sh \
	%D%/gs_keys.sh \
	%D%/gs_listing.sh \
	%D%/gs_resumable.sh \
	%D%/handles.sh \
	%D%/hns.sh \
	%D%/kill.sh \
	%D%/kill_ways.sh \
	%D%/listing.sh \
	%D%/listing_changes.sh \
	%D%/listing_large.sh \
	%D%/locks.sh \
	%D%/many_files.sh \
	%D%/memory.sh \
	%D%/mmap.sh \
	%D%/names.sh \
	%D%/options.sh \
	%D%/permissions.sh \
	%D%/plans.sh \
	%D%/publish.sh \
	%D%/readers.sh \
	%D%/refused.sh \
	%D%/rename.sh \
	%D%/rename_dir.sh \
	%D%/rename_open.sh \
	%D%/rename_sent.sh \
	%D%/rename_write.sh \
	%D%/replaced.sh \
	%D%/sent.sh \
	%D%/skipped_names.sh \
	%D%/symlinks.sh \
	%D%/times.sh \
	%D%/truncate.sh \
	%D%/two_mounts.sh \
	%D%/unlink.sh \
	%D%/unlinked.sh \
	%D%/xattr.sh \
	$(NULL)
TESTS += $(mount_tests)
EXTRA_DIST += $(mount_tests)

# The same on Google Cloud Storage, but for what is about S3 alone. Add a test of the mount here, too.
mount_gs_tests = \
	%D%/gs/basic.sh \
	%D%/gs/bigfile.sh \
	%D%/gs/concurrency.sh \
	%D%/gs/conflict.sh \
	%D%/gs/copies.sh \
	%D%/gs/daemon_kill.sh \
	%D%/gs/dirs.sh \
	%D%/gs/kill.sh \
	%D%/gs/listing.sh \
	%D%/gs/many_files.sh \
	%D%/gs/names.sh \
	%D%/gs/options.sh \
	%D%/gs/publish.sh \
	%D%/gs/readers.sh \
	%D%/gs/rename.sh \
	%D%/gs/rename_open.sh \
	%D%/gs/rename_sent.sh \
	%D%/gs/replaced.sh \
	%D%/gs/sent.sh \
	%D%/gs/truncate.sh \
	%D%/gs/unlink.sh \
	$(NULL)
TESTS += $(mount_gs_tests)
check_SCRIPTS += $(mount_gs_tests)
CLEANFILES += $(mount_gs_tests)
$(mount_gs_tests): %D%/local.mk
	$(AM_V_GEN)$(MKDIR_P) $(@D) && { echo '#!/bin/sh'; echo 'CKPTFS_TEST_SCHEME=gs'; \
		echo '. "$${srcdir:?}/%D%/$(@F)"'; } >$@ && chmod +x $@

check_PROGRAMS += %D%/anyop %D%/readers
%C%_anyop_SOURCES = %D%/anyop.c
%C%_readers_SOURCES = %D%/readers.c

# SPDX-License-Identifier: Apache-2.0
# A mount each, against storesim.
mount_tests = \
	%D%/addressing.sh \
	%D%/advice.sh \
	%D%/anyop.sh \
	%D%/append.sh \
	%D%/archived.sh \
	%D%/attrs.sh \
	%D%/basic.sh \
	%D%/bigfile.sh \
	%D%/checksums.sh \
	%D%/chmod_readers.sh \
	%D%/cli.sh \
	%D%/close_left.sh \
	%D%/concurrency.sh \
	%D%/conflict.sh \
	%D%/consistency.sh \
	%D%/content_type.sh \
	%D%/copies.sh \
	%D%/covered.sh \
	%D%/crowd.sh \
	%D%/daemon_kill.sh \
	%D%/differences.sh \
	%D%/denied.sh \
	%D%/descriptor.sh \
	%D%/direct.sh \
	%D%/dirs.sh \
	%D%/encryption.sh \
	%D%/end.sh \
	%D%/end_early.sh \
	%D%/end_in_time.sh \
	%D%/express_append.sh \
	%D%/express_local.sh \
	%D%/express_names.sh \
	%D%/express_uploads.sh \
	%D%/file_handle.sh \
	%D%/gs_append.sh \
	%D%/gs_attrs.sh \
	%D%/gs_class.sh \
	%D%/gs_csek.sh \
	%D%/gs_keys.sh \
	%D%/gs_listing.sh \
	%D%/gs_metadata.sh \
	%D%/gs_often.sh \
	%D%/gs_pays.sh \
	%D%/gs_pieces.sh \
	%D%/gs_resumable.sh \
	%D%/gs_retained.sh \
	%D%/gs_testbench.sh \
	%D%/gs_versions.sh \
	%D%/gs_zonal.sh \
	%D%/handles.sh \
	%D%/heirs.sh \
	%D%/hostile_objects.sh \
	%D%/handed.sh \
	%D%/hard_links.sh \
	%D%/hns.sh \
	%D%/idle.sh \
	%D%/ignored_conditions.sh \
	%D%/huge.sh \
	%D%/interrupt.sh \
	%D%/kill.sh \
	%D%/kill_container.sh \
	%D%/kill_open.sh \
	%D%/kill_order.sh \
	%D%/kill_ways.sh \
	%D%/latest.sh \
	%D%/listing.sh \
	%D%/listing_changes.sh \
	%D%/listing_large.sh \
	%D%/locks.sh \
	%D%/log.sh \
	%D%/log_lines.sh \
	%D%/lost_base.sh \
	%D%/lost_name.sh \
	%D%/many_files.sh \
	%D%/many_open.sh \
	%D%/memory.sh \
	%D%/memory_commits.sh \
	%D%/memory_held.sh \
	%D%/metadata_hidden.sh \
	%D%/metrics.sh \
	%D%/mmap.sh \
	%D%/mmap_full.sh \
	%D%/mixed.sh \
	%D%/mount_helper.sh \
	%D%/names.sh \
	%D%/notify.sh \
	%D%/odd_names.sh \
	%D%/options.sh \
	%D%/other_namespace.sh \
	%D%/other_servers.sh \
	%D%/otlp.sh \
	%D%/parts.sh \
	%D%/permissions.sh \
	%D%/pid_namespace.sh \
	%D%/plans.sh \
	%D%/privileges.sh \
	%D%/prometheus.sh \
	%D%/publish.sh \
	%D%/radosgw.sh \
	%D%/read_cache.sh \
	%D%/read_huge.sh \
	%D%/read_once.sh \
	%D%/readers.sh \
	%D%/refused.sh \
	%D%/rename.sh \
	%D%/rename_dir.sh \
	%D%/rename_noreplace.sh \
	%D%/rename_open.sh \
	%D%/rename_sent.sh \
	%D%/rename_write.sh \
	%D%/replaced.sh \
	%D%/running.sh \
	%D%/sent.sh \
	%D%/s3_versions.sh \
	%D%/skipped_names.sh \
	%D%/spill.sh \
	%D%/spill_slow.sh \
	%D%/storage_class.sh \
	%D%/symlinks.sh \
	%D%/systemd.sh \
	%D%/times.sh \
	%D%/tls.sh \
	%D%/truncate.sh \
	%D%/two_mounts.sh \
	%D%/unlink.sh \
	%D%/unlinked.sh \
	%D%/unseen.sh \
	%D%/uring.sh \
	%D%/versions.sh \
	%D%/waiters.sh \
	%D%/walks.sh \
	%D%/ways.sh \
	%D%/xattr.sh \
	$(NULL)
all_tests += $(mount_tests)
EXTRA_DIST += $(mount_tests) %D%/kill_order.py %D%/names_in_pages.py %D%/prometheus.rules.yaml

# The same on Google Cloud Storage. Add a test of the mount here, too, unless it is one of these: hns.sh and gs_*.sh are about
# Google's alone; encryption.sh does both; cli.sh is about the keys of S3, and tests/creds has Google's;
# walks.sh is about listings that do not tell attributes, and huge.sh about copies of ranges. They run with gcc alone (GCC_SECOND).
mount_gs_tests = \
	%D%/gs/anyop.sh \
	%D%/gs/append.sh \
	%D%/gs/attrs.sh \
	%D%/gs/basic.sh \
	%D%/gs/bigfile.sh \
	%D%/gs/chmod_readers.sh \
	%D%/gs/close_left.sh \
	%D%/gs/concurrency.sh \
	%D%/gs/conflict.sh \
	%D%/gs/consistency.sh \
	%D%/gs/copies.sh \
	%D%/gs/crowd.sh \
	%D%/gs/daemon_kill.sh \
	%D%/gs/direct.sh \
	%D%/gs/dirs.sh \
	%D%/gs/end.sh \
	%D%/gs/hard_links.sh \
	%D%/gs/handles.sh \
	%D%/gs/heirs.sh \
	%D%/gs/interrupt.sh \
	%D%/gs/kill.sh \
	%D%/gs/kill_ways.sh \
	%D%/gs/latest.sh \
	%D%/gs/listing.sh \
	%D%/gs/listing_changes.sh \
	%D%/gs/listing_large.sh \
	%D%/gs/locks.sh \
	%D%/gs/lost_base.sh \
	%D%/gs/many_files.sh \
	%D%/gs/many_open.sh \
	%D%/gs/memory.sh \
	%D%/gs/lost_name.sh \
	%D%/gs/memory_commits.sh \
	%D%/gs/memory_held.sh \
	%D%/gs/mmap.sh \
	%D%/gs/mmap_full.sh \
	%D%/gs/names.sh \
	%D%/gs/odd_names.sh \
	%D%/gs/options.sh \
	%D%/gs/parts.sh \
	%D%/gs/permissions.sh \
	%D%/gs/plans.sh \
	%D%/gs/publish.sh \
	%D%/gs/read_huge.sh \
	%D%/gs/read_once.sh \
	%D%/gs/readers.sh \
	%D%/gs/refused.sh \
	%D%/gs/rename.sh \
	%D%/gs/rename_dir.sh \
	%D%/gs/rename_open.sh \
	%D%/gs/rename_sent.sh \
	%D%/gs/rename_write.sh \
	%D%/gs/replaced.sh \
	%D%/gs/running.sh \
	%D%/gs/sent.sh \
	%D%/gs/skipped_names.sh \
	%D%/gs/symlinks.sh \
	%D%/gs/times.sh \
	%D%/gs/truncate.sh \
	%D%/gs/two_mounts.sh \
	%D%/gs/unlink.sh \
	%D%/gs/unlinked.sh \
	%D%/gs/versions.sh \
	%D%/gs/waiters.sh \
	%D%/gs/ways.sh \
	%D%/gs/xattr.sh \
	$(NULL)
all_tests += $(mount_gs_tests)
check_SCRIPTS += $(mount_gs_tests)
CLEANFILES += $(mount_gs_tests)
$(mount_gs_tests): %D%/local.mk
	$(AM_V_GEN)$(MKDIR_P) $(@D) && { echo '#!/bin/sh'; echo 'CKPTFS_TEST_SCHEME=gs'; \
		echo '. "$${srcdir:?}/%D%/$(@F)"'; } >$@ && chmod +x $@

check_PROGRAMS += %D%/anyop %D%/latest %D%/mixed %D%/readers %D%/ways %D%/crowd %D%/kill_open %D%/many_open \
	%D%/ring %D%/unseen
%C%_anyop_SOURCES = %D%/anyop.c
%C%_latest_SOURCES = %D%/latest.c
%C%_mixed_SOURCES = %D%/mixed.c
%C%_readers_SOURCES = %D%/readers.c
%C%_crowd_SOURCES = %D%/crowd.c
%C%_kill_open_SOURCES = %D%/kill_open.c
%C%_many_open_SOURCES = %D%/many_open.c
%C%_ring_SOURCES = %D%/ring.c
%C%_unseen_SOURCES = %D%/unseen.c
%C%_ways_SOURCES = %D%/ways.c

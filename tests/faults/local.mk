# SPDX-License-Identifier: Apache-2.0
# Mounts whose store goes wrong as the JSON files say (storesim --faults, see storesim(1)).
fault_tests = \
	%D%/certificate.sh \
	%D%/chmod_removed.sh \
	%D%/clock.sh \
	%D%/deadline.sh \
	%D%/failing_calls.sh \
	%D%/first_refused.sh \
	%D%/found_between.sh \
	%D%/frozen.sh \
	%D%/gs_frozen.sh \
	%D%/gs_lost.sh \
	%D%/gs_lost_keys.sh \
	%D%/gs_pieces_stay.sh \
	%D%/gs_rename_between.sh \
	%D%/gs_refused.sh \
	%D%/memory_group.sh \
	%D%/name_excluded.sh \
	%D%/name_refused.sh \
	%D%/one_thread.sh \
	%D%/publish_ends_late.sh \
	%D%/read.sh \
	%D%/readonly.sh \
	%D%/rename.sh \
	%D%/rename_between.sh \
	%D%/rename_dir.sh \
	%D%/rename_dir_between.sh \
	%D%/rename_held.sh \
	%D%/rename_record.sh \
	%D%/rename_recovered.sh \
	%D%/rename_sent_held.sh \
	%D%/rename_with_recover.sh \
	%D%/short_pages.sh \
	%D%/short_uploads.sh \
	%D%/spill_full.sh \
	%D%/spill_readonly.sh \
	%D%/stat_beside_chmod.sh \
	%D%/way_changes.sh \
	%D%/write.sh \
	%D%/write_fails.sh \
	%D%/write_refused.sh \
	$(NULL)
all_tests += $(fault_tests)
# The same on Google Cloud Storage, but for what the store has no part in (spill_full.sh) and what it says in other words
# (write_refused.sh; gs_refused.sh has Google's).
fault_gs_tests = \
	%D%/gs/chmod_removed.sh \
	%D%/gs/clock.sh \
	%D%/gs/deadline.sh \
	%D%/gs/failing_calls.sh \
	%D%/gs/first_refused.sh \
	%D%/gs/found_between.sh \
	%D%/gs/name_excluded.sh \
	%D%/gs/name_refused.sh \
	%D%/gs/publish_ends_late.sh \
	%D%/gs/read.sh \
	%D%/gs/readonly.sh \
	%D%/gs/rename.sh \
	%D%/gs/rename_dir.sh \
	%D%/gs/rename_held.sh \
	%D%/gs/rename_recovered.sh \
	%D%/gs/rename_sent_held.sh \
	%D%/gs/short_pages.sh \
	%D%/gs/stat_beside_chmod.sh \
	%D%/gs/write.sh \
	%D%/gs/write_fails.sh \
	$(NULL)
all_tests += $(fault_gs_tests)
check_SCRIPTS += $(fault_gs_tests)
CLEANFILES += $(fault_gs_tests)
$(fault_gs_tests): %D%/local.mk
	$(AM_V_GEN)$(MKDIR_P) $(@D) && { echo '#!/bin/sh'; echo 'CKPTFS_TEST_SCHEME=gs'; \
		echo '. "$${srcdir:?}/%D%/$(@F)"'; } >$@ && chmod +x $@

EXTRA_DIST += \
	$(fault_tests) \
	%D%/aborts_denied.json \
	%D%/attributes_answered_late.json \
	%D%/attributes_late.json \
	%D%/begin_lost.json \
	%D%/begin_unknown.json \
	%D%/checks_slowed.json \
	%D%/complete_200_with_error.json \
	%D%/complete_200_with_error_once.json \
	%D%/complete_reply_lost.json \
	%D%/copies_denied.json \
	%D%/empty_pages.json \
	%D%/expired.json \
	%D%/expired_for_good.json \
	%D%/express_lost.json \
	%D%/failing_calls.py \
	%D%/gs_batch_silent.json \
	%D%/gs_compose_lost.json \
	%D%/gs_copy_lost.json \
	%D%/gs_expired.json \
	%D%/gs_expired_for_good.json \
	%D%/gs_folder_lost.json \
	%D%/gs_hiccups.json \
	%D%/gs_move_hiccups.json \
	%D%/gs_move_missed.json \
	%D%/gs_moves_denied.json \
	%D%/gs_no_batch_denied.json \
	%D%/gs_operation_forgotten.json \
	%D%/gs_pieces_stay.json \
	%D%/gs_tmp_stays.json \
	%D%/name_copies_denied.json \
	%D%/name_deletes_denied.json \
	%D%/name_moves_denied.json \
	%D%/one_slow_key.json \
	%D%/pages_late.json \
	%D%/pages_for_ever.json \
	%D%/pages_of_others.json \
	%D%/part_503.json \
	%D%/part_corrupt.json \
	%D%/part_reset.json \
	%D%/part_stall.json \
	%D%/parts_denied.json \
	%D%/parts_late.json \
	%D%/parts_unavailable.json \
	%D%/put_faults.json \
	%D%/put_late.json \
	%D%/put_unavailable.json \
	%D%/read_corrupt.json \
	%D%/read_corrupt_once.json \
	%D%/read_denied.json \
	%D%/read_reset.json \
	%D%/read_short.json \
	%D%/read_stall.json \
	%D%/readonly.json \
	%D%/reads_pause.json \
	%D%/reader_killed.json \
	%D%/rename_batch_denied.json \
	%D%/rename_copied_late.json \
	%D%/rename_copy_denied.json \
	%D%/rename_delete_denied.json \
	%D%/rename_dir_copied_late.json \
	%D%/rename_dir_listed_late.json \
	%D%/rename_dir_refused_late.json \
	%D%/rename_dir_target_held.json \
	%D%/rename_held.json \
	%D%/rename_hiccups.json \
	%D%/rename_moved_back.json \
	%D%/rename_one_held.json \
	%D%/rename_rest_denied.json \
	%D%/rename_slow.json \
	%D%/rename_some_denied.json \
	%D%/rename_taken_back.json \
	%D%/resumable_begun_anew.json \
	%D%/resumable_damaged.json \
	%D%/resumable_gone.json \
	%D%/resumable_hiccups.json \
	%D%/resumable_refused.json \
	%D%/set_meta_lost.json \
	%D%/short_pages.json \
	%D%/short_uploads.json \
	%D%/skewed.json \
	%D%/skewed_for_good.json \
	%D%/slow_reads.json \
	%D%/through_gone.json \
	%D%/unlink_late.json \
	$(NULL)

# Each call of the mount that may fail does so once, in a mount of its own: ten minutes.
failing-calls: ckptfs storesim tests/lib/failing.so $(fault_gs_tests)
	CKPTFS_PLACES=0 $(MAKE) $(AM_MAKEFLAGS) check TESTS='%D%/failing_calls.sh %D%/gs/failing_calls.sh'
.PHONY: failing-calls

# SPDX-License-Identifier: Apache-2.0
# A unit is one program named after the source it tests; it links the rooms it needs.
unit_tests = \
	%D%/test_log \
	%D%/test_mutex \
	%D%/test_buf \
	%D%/test_content_type \
	%D%/test_cred \
	%D%/test_cred_parts \
	%D%/test_dcp_read \
	%D%/test_digits \
	%D%/test_digest \
	%D%/test_digest_fips \
	%D%/test_hosts \
	%D%/test_json \
	%D%/test_recovery_record \
	%D%/test_retry \
	%D%/test_s3_arn \
	%D%/test_s3_endpoint \
	%D%/test_s3_etag \
	%D%/test_error_hint \
	%D%/test_gcs \
	%D%/test_s3_request \
	%D%/test_pattern \
	%D%/test_read_torch \
	%D%/test_sim_chunked \
	%D%/test_sim_fault \
	%D%/test_sim_http \
	%D%/test_sim_index \
	%D%/test_sim_limit \
	%D%/test_sim_record \
	%D%/test_sim_related \
	%D%/test_sign_v4 \
	%D%/test_unpickle \
	%D%/test_unzip \
	%D%/test_uri \
	%D%/test_xml \
	%D%/test_conf \
	%D%/test_io_posix \
	%D%/test_coll_nccl \
	%D%/test_dev \
	%D%/test_dev_places \
	%D%/test_preflight \
	%D%/test_payload_dev \
	%D%/test_keys \
	%D%/test_loss_scale \
	%D%/test_metrics \
	%D%/test_models \
	%D%/test_move \
	%D%/test_params \
	%D%/test_sample \
	%D%/test_stats \
	%D%/test_suite \
	%D%/test_sweep \
	%D%/test_train \
	%D%/test_train_devices \
	%D%/test_train_pipe \
	%D%/test_train_ranks \
	%D%/test_train_save \
	%D%/test_async_state \
	%D%/test_attr \
	%D%/test_cached_ranges \
	%D%/test_crc_combine \
	%D%/test_commit \
	%D%/test_commit_failed \
	%D%/test_commit_phase \
	%D%/test_name_lock \
	%D%/test_fuse_init_ext \
	%D%/test_op_interrupt \
	%D%/test_open_intent \
	%D%/test_fd_owners \
	%D%/test_exit_signal \
	%D%/test_mount_list \
	%D%/test_proc_query \
	%D%/test_heir \
	%D%/test_image_crop \
	%D%/test_inflight \
	%D%/test_worker_load \
	%D%/test_worker_pace \
	%D%/test_rate_ramp \
	%D%/test_extent_map \
	%D%/test_part_plan \
	%D%/test_pool \
	%D%/test_readdir_history \
	%D%/test_tombstone \
	%D%/test_tree \
	%D%/test_readahead \
	%D%/test_reader \
	%D%/test_version_cache \
	%D%/test_waiter \
	$(NULL)
check_PROGRAMS += $(unit_tests)
all_tests += $(unit_tests)

AM_UNIT_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
UNIT_BASE_LIBS = fs/base/libbase.la $(CHECK_LIBS)
UNIT_BENCH_LIBS = bench/libbench.la $(CHECK_LIBS) -lm
UNIT_SIM_LIBS = bench/sim/libsim.la $(CHECK_LIBS)
UNIT_STORE_LIBS = fs/store/libstore.la $(CHECK_LIBS)

%C%_test_cred_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_cred_LDADD = $(UNIT_STORE_LIBS)
%C%_test_cred_parts_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_cred_parts_LDADD = $(UNIT_STORE_LIBS)
%C%_test_digest_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_digest_LDADD = $(UNIT_BASE_LIBS)
%C%_test_mutex_SOURCES = %D%/test_mutex.c fs/base/mutex.c
%C%_test_mutex_CFLAGS = $(AM_UNIT_CFLAGS) -DLOCK_CHECKS
%C%_test_mutex_LDADD = $(UNIT_BASE_LIBS)
%C%_test_digits_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_digits_LDADD = $(UNIT_BASE_LIBS)
%C%_test_digest_fips_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_digest_fips_LDADD = $(UNIT_BASE_LIBS)
%C%_test_hosts_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_hosts_LDADD = $(UNIT_STORE_LIBS)
%C%_test_recovery_record_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_recovery_record_LDADD = $(UNIT_BASE_LIBS)
%C%_test_json_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_json_LDADD = $(UNIT_BASE_LIBS)
%C%_test_sign_v4_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_sign_v4_LDADD = $(UNIT_BASE_LIBS)
%C%_test_uri_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_uri_LDADD = $(UNIT_BASE_LIBS)
%C%_test_xml_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_xml_LDADD = $(UNIT_BASE_LIBS)
%C%_test_conf_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_conf_LDADD = $(UNIT_BASE_LIBS)
%C%_test_io_posix_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_io_posix_LDADD = $(UNIT_BENCH_LIBS)
# coll_nccl.c is built once more, against a library that the test plays
%C%_test_coll_nccl_SOURCES = %D%/test_coll_nccl.c %D%/nccl/nccl.h bench/coll/coll_nccl.c
%C%_test_coll_nccl_CPPFLAGS = -I$(srcdir)/%D%/nccl $(AM_CPPFLAGS) -DHAVE_NCCL=1 -Ddlopen=played_dlopen -Ddlsym=played_dlsym
%C%_test_coll_nccl_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_coll_nccl_LDADD = $(UNIT_BENCH_LIBS)
# and dev.c, with a GPU that the test plays
%C%_test_dev_SOURCES = %D%/test_dev.c bench/dev/dev.c
%C%_test_dev_CPPFLAGS = $(AM_CPPFLAGS) -DHAVE_CUDA=1
%C%_test_dev_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_dev_LDADD = $(UNIT_BENCH_LIBS)
%C%_test_dev_places_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_dev_places_LDADD = $(UNIT_BENCH_LIBS)
%C%_test_s3_endpoint_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_s3_endpoint_LDADD = $(UNIT_BENCH_LIBS)
%C%_test_preflight_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_preflight_LDADD = $(UNIT_BENCH_LIBS)
%C%_test_payload_dev_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_payload_dev_LDADD = $(UNIT_BENCH_LIBS)
%C%_test_keys_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_keys_LDADD = $(UNIT_BENCH_LIBS)
%C%_test_metrics_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_metrics_LDADD = $(UNIT_BASE_LIBS)
%C%_test_params_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_params_LDADD = $(UNIT_BASE_LIBS)
%C%_test_models_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_models_LDADD = $(UNIT_BENCH_LIBS)
%C%_test_move_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_move_LDADD = fs/move/libmove.la $(CHECK_LIBS)
%C%_test_dcp_read_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_dcp_read_LDADD = $(UNIT_BENCH_LIBS)
%C%_test_read_torch_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_read_torch_LDADD = $(UNIT_BENCH_LIBS)
%C%_test_unpickle_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_unpickle_LDADD = $(UNIT_BENCH_LIBS)
%C%_test_unzip_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_unzip_LDADD = $(UNIT_BENCH_LIBS)
%C%_test_image_crop_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_image_crop_LDADD = $(UNIT_BENCH_LIBS)
%C%_test_sample_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_sample_LDADD = $(UNIT_BENCH_LIBS)
%C%_test_stats_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_stats_LDADD = $(UNIT_BENCH_LIBS)
%C%_test_suite_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_suite_LDADD = $(UNIT_BENCH_LIBS)
%C%_test_async_state_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_async_state_LDADD = $(UNIT_BENCH_LIBS)
%C%_test_train_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_train_LDADD = $(UNIT_BENCH_LIBS)
%C%_test_loss_scale_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_loss_scale_LDADD = $(UNIT_BENCH_LIBS)
%C%_test_train_devices_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_train_devices_LDADD = $(UNIT_BENCH_LIBS)
%C%_test_train_pipe_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_train_pipe_LDADD = $(UNIT_BENCH_LIBS)
%C%_test_train_ranks_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_train_ranks_LDADD = $(UNIT_BENCH_LIBS)
%C%_test_train_save_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_train_save_LDADD = $(UNIT_BENCH_LIBS)
%C%_test_sweep_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_sweep_LDADD = $(UNIT_BENCH_LIBS)
%C%_test_retry_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_retry_LDADD = $(UNIT_STORE_LIBS)
%C%_test_s3_etag_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_s3_etag_LDADD = $(UNIT_STORE_LIBS)
%C%_test_pattern_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_pattern_LDADD = $(UNIT_SIM_LIBS)
%C%_test_sim_chunked_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_sim_chunked_LDADD = $(UNIT_SIM_LIBS)
%C%_test_sim_fault_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_sim_fault_LDADD = $(UNIT_SIM_LIBS)
%C%_test_sim_related_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_sim_related_LDADD = $(UNIT_SIM_LIBS)
%C%_test_sim_http_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_sim_http_LDADD = $(UNIT_SIM_LIBS)
%C%_test_sim_index_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_sim_index_LDADD = $(UNIT_SIM_LIBS)
%C%_test_sim_limit_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_sim_limit_LDADD = $(UNIT_SIM_LIBS)
%C%_test_sim_record_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_sim_record_LDADD = $(UNIT_SIM_LIBS)

UNIT_MOUNT_LIBS = fs/mount/libmount.la $(CHECK_LIBS)
%C%_test_attr_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_attr_LDADD = $(UNIT_MOUNT_LIBS)
%C%_test_cached_ranges_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_cached_ranges_LDADD = $(UNIT_MOUNT_LIBS)
%C%_test_crc_combine_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_crc_combine_LDADD = $(UNIT_MOUNT_LIBS)
%C%_test_commit_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_commit_LDADD = $(UNIT_MOUNT_LIBS)
%C%_test_commit_failed_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_commit_failed_LDADD = $(UNIT_MOUNT_LIBS)
%C%_test_commit_phase_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_commit_phase_LDADD = $(UNIT_MOUNT_LIBS)
%C%_test_name_lock_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_name_lock_LDADD = $(UNIT_MOUNT_LIBS)
%C%_test_fuse_init_ext_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_fuse_init_ext_LDADD = $(UNIT_MOUNT_LIBS)
%C%_test_op_interrupt_CFLAGS = $(AM_UNIT_CFLAGS) $(FUSE_CFLAGS)
%C%_test_op_interrupt_LDADD = $(UNIT_MOUNT_LIBS)
%C%_test_open_intent_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_open_intent_LDADD = $(UNIT_MOUNT_LIBS)
%C%_test_fd_owners_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_fd_owners_LDADD = $(UNIT_MOUNT_LIBS)
%C%_test_mount_list_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_mount_list_LDADD = $(UNIT_MOUNT_LIBS)
%C%_test_proc_query_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_proc_query_LDADD = $(UNIT_MOUNT_LIBS)
%C%_test_exit_signal_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_exit_signal_LDADD = $(UNIT_MOUNT_LIBS)
%C%_test_extent_map_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_extent_map_LDADD = $(UNIT_MOUNT_LIBS)
%C%_test_s3_arn_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_s3_arn_LDADD = $(UNIT_STORE_LIBS)
%C%_test_content_type_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_content_type_LDADD = $(UNIT_MOUNT_LIBS)
%C%_test_error_hint_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_error_hint_LDADD = $(UNIT_STORE_LIBS)
%C%_test_part_plan_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_part_plan_LDADD = $(UNIT_MOUNT_LIBS)
%C%_test_version_cache_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_version_cache_LDADD = $(UNIT_MOUNT_LIBS)
%C%_test_waiter_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_waiter_LDADD = $(UNIT_BASE_LIBS)
%C%_test_pool_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_pool_LDADD = $(UNIT_MOUNT_LIBS)
%C%_test_readdir_history_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_readdir_history_LDADD = $(UNIT_MOUNT_LIBS)
%C%_test_tombstone_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_tombstone_LDADD = $(UNIT_MOUNT_LIBS)
%C%_test_tree_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_tree_LDADD = $(UNIT_MOUNT_LIBS)
%C%_test_readahead_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_readahead_LDADD = $(UNIT_MOUNT_LIBS)
%C%_test_reader_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_reader_LDADD = $(UNIT_MOUNT_LIBS)
%C%_test_heir_CFLAGS = $(AM_UNIT_CFLAGS) $(FUSE_CFLAGS)
%C%_test_heir_LDADD = $(UNIT_MOUNT_LIBS)
%C%_test_inflight_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_inflight_LDADD = $(UNIT_STORE_LIBS)
%C%_test_worker_load_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_worker_load_LDADD = $(UNIT_STORE_LIBS)
%C%_test_worker_pace_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_worker_pace_LDADD = $(UNIT_STORE_LIBS)
%C%_test_rate_ramp_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_rate_ramp_LDADD = $(UNIT_STORE_LIBS)
%C%_test_buf_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_buf_LDADD = $(UNIT_BASE_LIBS)
%C%_test_log_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_log_LDADD = $(UNIT_BASE_LIBS)
%C%_test_gcs_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_gcs_LDADD = $(UNIT_STORE_LIBS)
%C%_test_s3_request_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_s3_request_LDADD = $(UNIT_STORE_LIBS)

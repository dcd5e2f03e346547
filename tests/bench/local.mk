# SPDX-License-Identifier: Apache-2.0
bench_tests = \
	%D%/bad_input.sh \
	%D%/ceiling.sh \
	%D%/async.sh \
	%D%/compare.sh \
	%D%/counters.sh \
	%D%/dataflux.sh \
	%D%/datagen.sh \
	%D%/dataset.sh \
	%D%/dcp.sh \
	%D%/dcp_time.sh \
	%D%/device.sh \
	%D%/formats.sh \
	%D%/gds.sh \
	%D%/hold.sh \
	%D%/hosts.sh \
	%D%/hosts_model.sh \
	%D%/hosts_ssh.sh \
	%D%/lightning_file.sh \
	%D%/load.sh \
	%D%/mlperf.sh \
	%D%/prepare_nvme.sh \
	%D%/progress.sh \
	%D%/ranks.sh \
	%D%/report.sh \
	%D%/reshard.sh \
	%D%/restore.sh \
	%D%/schema.sh \
	%D%/selfcheck.sh \
	%D%/shards.sh \
	%D%/shards_awscrt.sh \
	%D%/shards_gcs.sh \
	%D%/shards_libs3.sh \
	%D%/shards_s3.sh \
	%D%/shards_verify.sh \
	%D%/signal_cleanup.sh \
	%D%/signal_cleanup_ranks.sh \
	%D%/signal_cleanup_saves.sh \
	%D%/speed_table.sh \
	%D%/suite.sh \
	%D%/sysinfo.sh \
	%D%/torch.sh \
	%D%/train.sh \
	%D%/train_devices.sh \
	%D%/train_fails.sh \
	%D%/train_fsdp.sh \
	%D%/train_kill.sh \
	%D%/train_pdp.sh \
	%D%/train_save.sh \
	%D%/train_scale.sh \
	%D%/train_signal.sh \
	%D%/train_stores.sh \
	%D%/train_torch.sh \
	%D%/train_trace.sh \
	%D%/wrong_byte.sh \
	%D%/through_mount.sh \
	$(NULL)
all_tests += $(bench_tests)
EXTRA_DIST += $(bench_tests) tests/lib/bench.sh tests/lib/sdk.sh

# The simulator by itself.
sim_tests = \
	%D%/sim_append.sh \
	%D%/sim_archive.sh \
	%D%/sim_args.sh \
	%D%/sim_auth.sh \
	%D%/sim_faults.sh \
	%D%/sim_gs_folders.sh \
	%D%/sim_gs_objects.sh \
	%D%/sim_gs_uploads.sh \
	%D%/sim_identity.sh \
	%D%/sim_limits.sh \
	%D%/sim_log.sh \
	%D%/sim_list.sh \
	%D%/sim_null.sh \
	%D%/sim_objects.sh \
	%D%/sim_parallel.sh \
	%D%/sim_restart.sh \
	%D%/sim_s3_checksums.sh \
	%D%/sim_s3_more.sh \
	%D%/sim_s3_places.sh \
	%D%/sim_transfer.sh \
	%D%/sim_uploads.sh \
	%D%/sim_versions.sh \
	$(NULL)
all_tests += $(sim_tests)
EXTRA_DIST += $(sim_tests) tests/lib/sim.sh
EXTRA_DIST += %D%/dynamodb.py %D%/formats.py %D%/lightning_file.py %D%/schema.py %D%/train_torch.py
check_PROGRAMS += %D%/crop_images %D%/train_steps
%C%_crop_images_SOURCES = %D%/crop_images.c
%C%_crop_images_LDADD = bench/libbench.la
%C%_train_steps_SOURCES = %D%/train_steps.c
%C%_train_steps_LDADD = bench/libbench.la
# coll_mpi.c once more, with a limit that the program lowers
if WITH_MPI
check_PROGRAMS += %D%/coll_large
%C%_coll_large_SOURCES = %D%/coll_large.c
%C%_coll_large_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
%C%_coll_large_LDADD = bench/libbench.la
endif
# As the S3 connector's suite publishes them.
EXTRA_DIST += \
	%D%/suite/dataloader/fsspec.yaml \
	%D%/suite/dataloader/mountpoint.yaml \
	%D%/suite/dataloader/mountpointcache.yaml \
	%D%/suite/dataloader/s3iterabledataset.yaml \
	%D%/suite/dataloader/s3mapdataset.yaml \
	%D%/suite/dataset.yaml \
	%D%/suite/dcp.yaml \
	%D%/suite/dcp_ddp_load.yaml \
	%D%/suite/dcp_ddp_save.yaml \
	%D%/suite/dcp_fsdp_load.yaml \
	%D%/suite/dcp_fsdp_save.yaml \
	%D%/suite/lightning_checkpointing.yaml \
	%D%/suite/pytorch_checkpointing.yaml \
	$(NULL)

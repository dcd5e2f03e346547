# SPDX-License-Identifier: Apache-2.0
bin_PROGRAMS += ckptbench

# All but main(): tests link it too.
noinst_LTLIBRARIES += %D%/libbench.la
%C%_libbench_la_SOURCES = \
	%D%/bucket.c \
	%D%/bucket.h \
	%D%/ceiling.h \
	%D%/ceiling_fuse.c \
	%D%/ceiling_fuse.h \
	%D%/ceiling_measure.c \
	%D%/ceiling_setup.c \
	%D%/child.c \
	%D%/child.h \
	%D%/clock.h \
	%D%/coll.h \
	%D%/coll_none.c \
	%D%/compare.c \
	%D%/compare.h \
	%D%/cpu.c \
	%D%/cpu.h \
	%D%/dev.c \
	%D%/dev.h \
	%D%/dev_places.h \
	%D%/dev_host.c \
	%D%/dev_places.c \
	%D%/doc.c \
	%D%/doc.h \
	%D%/dynamodb.c \
	%D%/dynamodb.h \
	%D%/environ.c \
	%D%/environ.h \
	%D%/facts.c \
	%D%/facts.h \
	%D%/fill_in.c \
	%D%/fill_in.h \
	%D%/format/dcp.c \
	%D%/format/dcp.h \
	%D%/format/dcp_read.c \
	%D%/format/format.c \
	%D%/format/format.h \
	%D%/format/layout.c \
	%D%/format/layout.h \
	%D%/format/pickle.c \
	%D%/format/pickle.h \
	%D%/format/read.c \
	%D%/format/read.h \
	%D%/format/read_torch.c \
	%D%/format/torch.c \
	%D%/format/torch.h \
	%D%/format/unpickle.c \
	%D%/format/unpickle.h \
	%D%/format/unzip.c \
	%D%/format/unzip.h \
	%D%/format/value.c \
	%D%/format/zip.c \
	%D%/format/zip.h \
	%D%/fresh.c \
	%D%/fresh.h \
	%D%/io.c \
	%D%/io.h \
	%D%/io_null.c \
	%D%/io_posix.c \
	%D%/io_s3.c \
	%D%/keys.c \
	%D%/keys.def \
	%D%/keys.h \
	%D%/measure.c \
	%D%/measured.c \
	%D%/measure.h \
	%D%/measured.h \
	%D%/meter.c \
	%D%/meter.h \
	%D%/model.c \
	%D%/model.def \
	%D%/model.h \
	%D%/model_keys.c \
	%D%/model_keys.h \
	%D%/needs.c \
	%D%/needs.h \
	%D%/pattern.c \
	%D%/pattern.h \
	%D%/pattern_word.h \
	%D%/payload.c \
	%D%/payload.h \
	%D%/payload_dev.c \
	%D%/payload_dev.h \
	%D%/place.c \
	%D%/place.h \
	%D%/plot.c \
	%D%/plot.h \
	%D%/prepare_nvme.c \
	%D%/prepare_nvme.h \
	%D%/progress.c \
	%D%/progress.h \
	%D%/report.c \
	%D%/report.h \
	%D%/results.c \
	%D%/results.h \
	%D%/run.c \
	%D%/run.h \
	%D%/sampler.c \
	%D%/sampler.h \
	%D%/scenario.c \
	%D%/scenario/async.c \
	%D%/scenario/async.h \
	%D%/scenario/async_stage.c \
	%D%/scenario/async_stage.h \
	%D%/scenario/async_table.c \
	%D%/scenario/async_table.h \
	%D%/scenario/async_writer.c \
	%D%/scenario/async_writer.h \
	%D%/scenario/ceiling.c \
	%D%/scenario/dataflux.c \
	%D%/scenario/dataflux.h \
	%D%/scenario/datagen.c \
	%D%/scenario/dataset.c \
	%D%/scenario/dataset.h \
	%D%/scenario/dataset_keys.c \
	%D%/scenario/dataset_needs.c \
	%D%/scenario/dataset_save.c \
	%D%/scenario/dataset_table.c \
	%D%/scenario/dcp.c \
	%D%/scenario/dcp.h \
	%D%/scenario/dcp_files.c \
	%D%/scenario/dcp_files.h \
	%D%/scenario/dcp_load.c \
	%D%/scenario/dcp_plan.c \
	%D%/scenario/dcp_rounds.c \
	%D%/scenario/dcp_rounds.h \
	%D%/scenario/dcp_save.c \
	%D%/scenario/firstbyte.c \
	%D%/scenario/image.c \
	%D%/scenario/image.h \
	%D%/scenario/image_jpeg.c \
	%D%/scenario/lightning_async.c \
	%D%/scenario/lightning_checkpointing.c \
	%D%/scenario/lightning_multinode.c \
	%D%/scenario/lightning_singlenode.c \
	%D%/scenario/list.c \
	%D%/scenario/loader.c \
	%D%/scenario/loader.h \
	%D%/scenario/load.c \
	%D%/scenario/mlperf.c \
	%D%/scenario/mlperf_shape.c \
	%D%/scenario/mlperf_shape.h \
	%D%/scenario/mlperf_table.c \
	%D%/scenario/mlperf_table.h \
	%D%/scenario/place.c \
	%D%/scenario/place.h \
	%D%/scenario/place_i.h \
	%D%/scenario/place_read.c \
	%D%/scenario/place_write.c \
	%D%/scenario/pytorch_checkpointing.c \
	%D%/scenario/restore.c \
	%D%/scenario/rotation.c \
	%D%/scenario/rotation.h \
	%D%/scenario/sample.c \
	%D%/scenario/sample.h \
	%D%/scenario/selfcheck.c \
	%D%/scenario/shards.c \
	%D%/scenario/simulated.c \
	%D%/scenario/small.c \
	%D%/scenario/tar.c \
	%D%/scenario/tar.h \
	%D%/scenario/torch.c \
	%D%/scenario/torch.h \
	%D%/scenario/versus.c \
	%D%/scenario/versus.h \
	%D%/shard.c \
	%D%/shard.h \
	%D%/shards_page.c \
	%D%/shards_table.c \
	%D%/shards_table.h \
	%D%/stats.c \
	%D%/stats.h \
	%D%/stop.c \
	%D%/stop.h \
	%D%/suite.c \
	%D%/suite.h \
	%D%/sweep.c \
	%D%/sweep.h \
	%D%/sweep_list.c \
	%D%/sweep_list.h \
	%D%/timed.c \
	%D%/timed.h \
	%D%/watch.c \
	%D%/watch.h \
	$(NULL)
%C%_libbench_la_CFLAGS = $(AM_CFLAGS) $(FUSE_CFLAGS) $(MPI_CFLAGS) \
	$(JPEG_CFLAGS) $(ARCHIVE_CFLAGS)
%C%_libbench_la_LIBADD = fs/store/libstore.la fs/base/libbase.la $(FUSE_LIBS) $(MPI_LIBS) \
	$(JPEG_LIBS) $(ARCHIVE_LIBS) -lm
if WITH_MPI
%C%_libbench_la_SOURCES += %D%/coll_mpi.c
endif
EXTRA_DIST += %D%/dev_cuda.cu
if WITH_CUDA
%C%_libbench_la_LIBADD += %D%/dev_cuda.lo $(CUDA_LIBS)
%D%/dev_cuda.lo: %D%/dev_cuda.cu bench/dev.h bench/pattern_word.h config.h
	@$(MKDIR_P) %D%
	$(AM_V_GEN)$(LIBTOOL) --silent --tag=CC --mode=compile $(NVCC) $(NVCCFLAGS) --compiler-options -Wall,-Wextra \
		-I$(top_srcdir) -include config.h $(CUDA_CFLAGS) -c $(srcdir)/%D%/dev_cuda.cu -o $@
endif
if WITH_NCCL
%C%_libbench_la_SOURCES += %D%/coll_nccl.c
%C%_libbench_la_CFLAGS += $(NCCL_CFLAGS) $(CUDA_CFLAGS)
endif

# Clients of others, for comparison. Their headers are not ours to warn about.
if WITH_AWSCRT
%C%_libbench_la_SOURCES += \
	%D%/awscrt.c \
	%D%/awscrt.h \
	%D%/awscrt_call.c \
	%D%/awscrt_i.h \
	%D%/io_awscrt.c \
	$(NULL)
%C%_libbench_la_CFLAGS += $(AWSCRT_CFLAGS)
%C%_libbench_la_LIBADD += $(AWSCRT_LIBS)
endif
if WITH_LIBS3
%C%_libbench_la_SOURCES += %D%/io_libs3.c
%C%_libbench_la_LIBADD += $(LIBS3_LIBS)
endif
EXTRA_DIST += %D%/speed.awk %D%/speed.sh
EXTRA_DIST += %D%/third_party/awscrt.sh %D%/third_party/awscrt.txt

ckptbench_SOURCES = %D%/main.c
ckptbench_LDADD = %D%/libbench.la

# Prints the keys for ckptbench(1).
noinst_PROGRAMS += %D%/gen_keys
%C%_gen_keys_SOURCES = %D%/gen_keys.c
%C%_gen_keys_LDADD = %D%/libbench.la

# SPDX-License-Identifier: Apache-2.0
exampledir = $(docdir)/examples
dist_example_DATA = \
	%D%/async.yaml \
	%D%/ceiling.yaml \
	%D%/ckptfs.logrotate \
	%D%/ckptfs.yaml \
	%D%/datagen.yaml \
	%D%/dataset.yaml \
	%D%/dcp.yaml \
	%D%/dcp_ddp_load.yaml \
	%D%/dcp_ddp_save.yaml \
	%D%/dcp_fsdp_load.yaml \
	%D%/dcp_fsdp_save.yaml \
	%D%/firstbyte.yaml \
	%D%/fstab \
	%D%/lightning_async.yaml \
	%D%/lightning_checkpointing.yaml \
	%D%/lightning_multinode.yaml \
	%D%/lightning_singlenode.yaml \
	%D%/list.yaml \
	%D%/mlperf.yaml \
	%D%/pytorch_checkpointing.yaml \
	%D%/load.yaml \
	%D%/restore.yaml \
	%D%/selfcheck.yaml \
	%D%/shards.yaml \
	%D%/simulated.yaml \
	%D%/slurm/dcp_fsdp_save.sbatch \
	%D%/slurm/hosts.sh \
	%D%/slurm/mlperf.sbatch \
	%D%/slurm/train_ddp.sbatch \
	%D%/slurm/train_pdp.sbatch \
	%D%/small.yaml \
	%D%/train.yaml \
	$(NULL)
dataloaderdir = $(exampledir)/dataloader
dist_dataloader_DATA = \
	%D%/dataloader/fsspec.yaml \
	%D%/dataloader/iterable.yaml \
	%D%/dataloader/map.yaml \
	%D%/dataloader/mountpoint.yaml \
	%D%/dataloader/mountpointcache.yaml \
	%D%/dataloader/s3iterabledataset.yaml \
	%D%/dataloader/s3mapdataset.yaml \
	$(NULL)
awsexampledir = $(exampledir)/aws
dist_awsexample_DATA = %D%/aws/dynamodb.yaml

prometheusdir = $(exampledir)/prometheus
dist_prometheus_DATA = \
	%D%/prometheus/ckptfs.rules.yaml \
	%D%/prometheus/dashboard.json \
	%D%/prometheus/prometheus.yaml \
	$(NULL)

kubernetesdir = $(exampledir)/kubernetes
dist_kubernetes_DATA = \
	%D%/kubernetes/csi.yaml \
	%D%/kubernetes/mpijob.yaml \
	%D%/kubernetes/podmonitor.yaml \
	%D%/kubernetes/sidecar.yaml \
	%D%/kubernetes/train.yaml \
	$(NULL)

if WITH_LIBRARY
dist_example_DATA += %D%/library/put_get.c
else
EXTRA_DIST += %D%/library/put_get.c
endif

# What the results of ckptbench are.
schemadir = $(pkgdatadir)/schema
dist_schema_DATA = %D%/schema/job_results.json %D%/schema/run_results.json

include %D%/completions/local.mk

nodist_example_DATA = %D%/ckptfs@.service
EXTRA_DIST += %D%/ckptfs@.service.in
CLEANFILES += %D%/ckptfs@.service

%D%/ckptfs@.service: %D%/ckptfs@.service.in Makefile
	@$(MKDIR_P) %D%
	$(AM_V_GEN)$(SED) 's|@bindir[@]|$(bindir)|' '$(srcdir)/%D%/ckptfs@.service.in' >$@

# The sample is committed; tests/docs/params.sh says when it is old.
update-docs: fs/base/gen_docs$(EXEEXT)
	fs/base/gen_docs yaml >'$(srcdir)/%D%/ckptfs.yaml'
.PHONY: update-docs

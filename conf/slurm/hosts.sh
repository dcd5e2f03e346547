#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Several hosts without a scheduler: OpenMPI logs in by ssh, eight ranks each. -x hands the variables
# of the Dataflux benchmarks to rank 0, wherever it runs.
set -eu
: "${CKPT_DIR_PATH:=gs://my-bucket/bench}" "${NUM_LAYERS:=100}"
export CKPT_DIR_PATH NUM_LAYERS

mpirun --host host1:8,host2:8 -x CKPT_DIR_PATH -x NUM_LAYERS \
	ckptbench lightning_multinode out=multirun

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Several hosts without a scheduler: OpenMPI logs in by ssh, eight ranks each; the first host's directory
# gets the results of all. -x hands the variables of the Dataflux benchmarks to rank 0, wherever it runs.
#   HOSTS=a:8,b:8,c:8 sh hosts.sh num_load_calls=0
set -eu
: "${HOSTS:=host1:8,host2:8}" "${CKPT_DIR_PATH:=gs://my-bucket/bench}" "${NUM_LAYERS:=100}"
export CKPT_DIR_PATH NUM_LAYERS

mpirun --host "$HOSTS" --bind-to none -x CKPT_DIR_PATH -x NUM_LAYERS ckptbench lightning_multinode out=multirun "$@"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# replay.sh: the calls of DeepSpeed, Megatron core and NeMo on a mount of each store.
. "${srcdir:?}/tests/trainers/trainers.sh"
need_trainers
plan_each 6
start_mounts
trial replay.py \
	"DeepSpeed: O_DIRECT, close, append the tail, O_DIRECT and O_APPEND again, latest overwritten" \
	"Megatron: tracker file, .bck renames, rmtree of old iterations" \
	"NeMo: unfinished markers, links, recursive glob, rename of a run, rmtree" \
	"DCP's newest load: eight threads read one file, the largest item first, 8 MiB at a time" \
	"Locks: flock and fcntl exclude another process, a lock file is made once"
end_mounts

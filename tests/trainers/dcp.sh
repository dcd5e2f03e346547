#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# dcp.sh: torch.distributed.checkpoint on a mount of each store.
. "${srcdir:?}/tests/trainers/trainers.sh"
need_trainers
plan_each 7
start_mounts
trial dcp.py \
	"DCP: save with one thread, load, save over it" \
	"DCP: save with eight threads, load, save over it" \
	"DCP: one file a rank, files not synced; a save that may not overwrite" \
	"DCP: async_save from a thread" \
	"DCP: async_save from a process" \
	"DCP: two processes, one and eight threads, loaded in another layout, saved over"
end_mounts

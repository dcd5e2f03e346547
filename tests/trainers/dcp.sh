#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# dcp.sh: torch.distributed.checkpoint on the mount.
. "${srcdir:?}/tests/trainers/trainers.sh"
need_trainers
plan 7
start_store
mount_ckptfs
trial dcp.py \
	"DCP: save with one thread, load, save over it" \
	"DCP: save with eight threads, load, save over it" \
	"DCP: one file a rank, files not synced; a save that may not overwrite" \
	"DCP: async_save from a thread" \
	"DCP: async_save from a process" \
	"DCP: two processes, one and eight threads, loaded in another layout, saved over"
umount_ckptfs

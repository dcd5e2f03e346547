#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# versitygw.sh: the trainers' main ways to save and load, on a mount of a store of other hands.
. "${srcdir:?}/tests/trainers/trainers.sh"
need_trainers
need_store versitygw
stores=vg
plan 13
use_mount vg
store_start versitygw
mount_ckptfs
cases="torch_files.by_name torch_files.over dcp.eight_threads dcp.async_thread st.saved st.saved_over
	pl.link hf.rotation orbax_files.asynchronous replay.deepspeed replay.megatron replay.nemo"
trial several.py \
	"torch.save to a name, torch.load of it" \
	"torch.save over an old file and by rename over one, while it is mapped" \
	"DCP: save with eight threads, load, save over it" \
	"DCP: async_save from a thread" \
	"save_file and load_file" \
	"save_file over an old file, which is mapped meanwhile" \
	"Lightning: save_last as a link, the best two are kept" \
	"HF Trainer: staging directories become checkpoint-N, save_total_limit rotates them" \
	"Orbax: CheckpointManager that saves in the background" \
	"DeepSpeed: O_DIRECT, close, append the tail, O_DIRECT and O_APPEND again, latest overwritten" \
	"Megatron: tracker file, .bck renames, rmtree of old iterations" \
	"NeMo: unfinished markers, links, recursive glob, rename of a run, rmtree"
end_mounts

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# versitygw.sh: the trainers' main ways to save and load, on a mount of a store of other hands.
. "${srcdir:?}/tests/trainers/trainers.sh"
need_trainers
need_store versitygw
plan 13
store_start versitygw
mount_ckptfs
cases="by_name over" trial torch_files.py \
	"torch.save to a name, torch.load of it" \
	"torch.save over an old file and by rename over one, while it is mapped"
cases="eight_threads async_thread" trial dcp.py \
	"DCP: save with eight threads, load, save over it" \
	"DCP: async_save from a thread"
cases="saved saved_over" trial st.py \
	"save_file and load_file" \
	"save_file over an old file, which is mapped meanwhile"
cases=link trial pl.py \
	"Lightning: save_last as a link, the best two are kept"
cases=rotation trial hf.py \
	"HF Trainer: staging directories become checkpoint-N, save_total_limit rotates them"
cases=asynchronous trial orbax_files.py \
	"Orbax: CheckpointManager that saves in the background"
cases="deepspeed megatron nemo" trial replay.py \
	"DeepSpeed: O_DIRECT, close, append the tail, O_DIRECT and O_APPEND again, latest overwritten" \
	"Megatron: tracker file, .bck renames, rmtree of old iterations" \
	"NeMo: unfinished markers, links, recursive glob, rename of a run, rmtree"
umount_ckptfs

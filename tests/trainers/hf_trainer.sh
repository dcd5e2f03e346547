#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hf_trainer.sh: Hugging Face's Trainer and save_pretrained on a mount of each store.
. "${srcdir:?}/tests/trainers/trainers.sh"
need_trainers
plan_each 4
start_mounts
trial hf.py \
	"HF Trainer: staging directories become checkpoint-N, save_total_limit rotates them" \
	"HF Trainer: resume_from_checkpoint gives what training in one go gives" \
	"save_pretrained in shards, over an old one in a single file, and back"
end_mounts

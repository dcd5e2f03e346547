#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hf_trainer.sh: Hugging Face's Trainer and save_pretrained on the mount.
. "${srcdir:?}/tests/trainers/trainers.sh"
need_trainers
plan 4
start_store
mount_ckptfs
trial hf.py \
	"HF Trainer: staging directories become checkpoint-N, save_total_limit rotates them" \
	"HF Trainer: resume_from_checkpoint gives what training in one go gives" \
	"save_pretrained in shards, over an old one in a single file, and back"
umount_ckptfs

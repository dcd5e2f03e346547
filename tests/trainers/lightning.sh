#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lightning.sh: Lightning's ModelCheckpoint and loggers on the mount.
. "${srcdir:?}/tests/trainers/trainers.sh"
need_trainers
plan 5
start_store
mount_ckptfs
trial pl.py \
	"Lightning: save_last as a link, the best two are kept" \
	"Lightning: save_last as a file, resume from it" \
	'Lightning: resume from ckpt_path="last", from a clean directory and from a used one' \
	"Lightning: loggers in the same directory"
umount_ckptfs

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lightning.sh: Lightning's ModelCheckpoint and loggers on a mount of each store.
. "${srcdir:?}/tests/trainers/trainers.sh"
need_trainers
plan_each 5
start_mounts
trial pl.py \
	"Lightning: save_last as a link, the best two are kept" \
	"Lightning: save_last as a file, resume from it" \
	'Lightning: resume from ckpt_path="last", from a clean directory and from a used one' \
	"Lightning: loggers in the same directory"
end_mounts

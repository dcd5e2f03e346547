#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tensorboard.sh: TensorBoard's writer and reader on a mount of each store.
. "${srcdir:?}/tests/trainers/trainers.sh"
need_trainers
plan_each 3
start_mounts
trial tb.py \
	"TensorBoard: each flush is seen by a reader in another process" \
	"TensorBoard: all of several runs in one directory is read at once"
end_mounts

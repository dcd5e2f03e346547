#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tensorboard.sh: TensorBoard's writer and reader on the mount.
. "${srcdir:?}/tests/trainers/trainers.sh"
need_trainers
plan 3
start_store
mount_ckptfs
trial tb.py \
	"TensorBoard: each flush is seen by a reader in another process" \
	"TensorBoard: all of several runs in one directory is read at once"
umount_ckptfs

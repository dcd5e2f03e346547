#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# formats.sh: numpy, HDF5, zipfile and sqlite3 on the mount.
. "${srcdir:?}/tests/trainers/trainers.sh"
need_trainers
plan 5
start_store
mount_ckptfs
trial formats.py \
	"numpy: memmap made, changed in place and read back, npz" \
	"HDF5: create, append, reopen, overwrite, extend" \
	"zipfile: made, appended to, comment changed" \
	"sqlite3 with a rollback journal: commits, a rollback, VACUUM, two connections"
umount_ckptfs

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# formats.sh: numpy, HDF5, zipfile and sqlite3 on a mount of each store.
. "${srcdir:?}/tests/trainers/trainers.sh"
need_trainers
plan_each 5
start_mounts
trial formats.py \
	"numpy: memmap made, changed in place and read back, npz" \
	"HDF5: create, append, reopen, overwrite, extend" \
	"zipfile: made, appended to, comment changed" \
	"sqlite3 with a rollback journal: commits, a rollback, VACUUM, two connections"
end_mounts

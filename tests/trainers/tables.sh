#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tables.sh: Lance and zarr on a mount of each store, with hard_links=copy.
. "${srcdir:?}/tests/trainers/trainers.sh"
need_trainers
plan_each 3
CKPTFS_TEST_OPTIONS=${CKPTFS_TEST_OPTIONS:+$CKPTFS_TEST_OPTIONS,}hard_links=copy
start_mounts
trial tables.py \
	"Lance: create, append, delete, update, index, compact, overwrite" \
	"zarr: both formats, shards, groups, attributes, append and resize"
end_mounts

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hub.sh: huggingface_hub's cache, datasets and filelock on a mount of each store.
. "${srcdir:?}/tests/trainers/trainers.sh"
need_trainers
plan_each 4
export HF_HUB_OFFLINE=0
start_mounts
trial hub.py \
	"huggingface_hub: blobs, snapshots of links, locks; a second revision shares what is equal" \
	"datasets: save_to_disk in shards, load mapped, map with a cache in the mount" \
	"filelock: a lock that is held elsewhere is refused, a soft one too"
end_mounts

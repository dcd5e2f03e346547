#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# torch.sh: torch.save and torch.load on a mount of each store.
. "${srcdir:?}/tests/trainers/trainers.sh"
need_trainers
plan_each 7
start_mounts
trial torch_files.py \
	"torch.save to a name, torch.load of it" \
	"torch.load with mmap=True" \
	"torch.save to a stream that is synced, torch.load from a stream" \
	"torch.save over an old file and by rename over one, while it is mapped" \
	"torch.save in the format without zip, appended to" \
	"what cannot be saved or loaded raises the same error"
end_mounts

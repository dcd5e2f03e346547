#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# orbax.sh: Orbax with JAX on a mount of each store.
. "${srcdir:?}/tests/trainers/trainers.sh"
need_trainers
plan_each 4
start_mounts
trial orbax_files.py \
	"Orbax: StandardCheckpointer saves, restores, refuses to overwrite, overwrites with force" \
	"Orbax: CheckpointManager, two steps kept, restore in a new one" \
	"Orbax: CheckpointManager that saves in the background"
end_mounts

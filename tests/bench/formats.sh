#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# formats.sh: what ckptbench saves is the real thing: safetensors and torch load it, and find every
# value of the pattern.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/bench.sh"
need_torch
plan 4
cd "$tmp" || exit 1
mkdir disk

saved() { # FORMAT: one file of a small model, with optimizer state
	bench shards model=gpt-mini storage=disk path=disk format="$1" phase=save suffix="$1" out=out
}
for kind in safetensors torch; do
	check "a model is saved as $kind" saved $kind
	check "$kind loads it, and every value is right" \
		"$torch_python" "$srcdir/tests/bench/formats.py" $kind disk/$kind/shard-000-*
done

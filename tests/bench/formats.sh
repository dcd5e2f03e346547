#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# formats.sh: what ckptbench saves is the real thing: safetensors and torch load it, and find every
# value of the pattern.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/bench.sh"
need_torch
plan 8
cd "$tmp" || exit 1
mkdir disk

keys="model=gpt-mini optimizer=on storage=disk path=disk out=out"
loads() { "$torch_python" "$srcdir/tests/bench/formats.py" "$@"; }
for kind in safetensors torch; do
	check "a model is saved as $kind" bench shards $keys format=$kind phase=save suffix=$kind
	check "$kind loads it, and every value is right" loads $kind disk/$kind/shard-000-*
done
mv disk/torch/shard-000-* model.ckpt
rm -r disk/*
check "a replicated model is saved as a directory" bench dcp_ddp_save $keys thread_count=2
check "torch.distributed.checkpoint loads it" loads dcp model.ckpt disk/*
rm -r disk/*
if bench_mpi true; then
	check "rows are saved by two ranks" bench_mpi bench dcp_fsdp_save $keys
	check "torch.distributed.checkpoint loads them" loads dcp model.ckpt disk/*
else
	skip "rows are saved by two ranks" "$bench_no_mpi"
	skip "torch.distributed.checkpoint loads them" "$bench_no_mpi"
fi

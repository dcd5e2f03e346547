#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# torch.sh: one file of a whole model, saved and loaded epoch by epoch, with the suite's figures.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
plan 6
cd "$tmp" || exit 1
mkdir disk

keys="model=demo storage=disk path=disk"
check "a model is saved and loaded five times" bench pytorch_checkpointing $keys out=out
run=$(echo out/*/*/run_results.json)
check "the suite's figures are there" jq -e '.job_results[0].suite | (.save_times_s | length == 5)
	and (.throughput_mibs | length == 5) and .utilization.cpu_mem.max > 0
	and .utilization.cpu_util.n > 0' "$run"
expect_eq "" "$(ls disk)" "no file is left"
check "every second epoch is saved" bench lightning_checkpointing $keys epochs=4 save_one_in=2 \
	keep=on out=two
expect_eq "demo-0.ckpt demo-1.ckpt" "$(cd disk/* && echo *)" "as files that keep=on leaves"
bench pytorch_checkpointing $keys epochs=1 save_one_in=2 out=out 2>err
expect_eq "1 1" "$? $(wc -l <err)" "saving nothing is refused in one line"

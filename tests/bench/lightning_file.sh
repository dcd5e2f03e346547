#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lightning_file.sh: what ckptbench saves as Lightning is a checkpoint of Lightning's: a trainer loads
# it and goes on; it was written to a temporary file and moved, between file systems too.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/store.sh"
. "$srcdir/tests/lib/bench.sh"
need_torch
command -v jq >/dev/null || skip_all "jq is not installed"
command -v strace >/dev/null || skip_all "strace is not installed"
plan 9
cd "$tmp" || exit 1
mkdir disk far
saves() { bench lightning_checkpointing model=gpt-mini model.layers=1 epochs=1 keep=on storage=disk path=disk "$@"; }
saved() { find disk -name '*.ckpt'; }

# goes_on STEPS: a trainer loads the file and makes two more epochs of a step each
goes_on() { "$torch_python" "$srcdir/tests/bench/lightning_file.py" "$(saved)" "$1" >py.out 2>&1 || { diag "$(tail -n 20 py.out)"; return 1; }; }

# LeakSanitizer is no friend of strace.
check "a save with Adam's state succeeds" env TMPDIR="$tmp/far" ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" strace -f -e trace=rename,write,chmod -o calls \
	"$builddir/ckptbench" lightning_checkpointing model=gpt-mini model.layers=1 epochs=1 keep=on storage=disk path=disk optimizer=on out=adam
check "a save with Adam's state is loaded by a trainer, which goes on from its step" goes_on 1
expect_eq 1 "$(grep -c "rename(\"$tmp/far/[^\"]*/gpt-mini-0.ckpt\", \"disk/[^\"]*/gpt-mini-0.ckpt\") *= 0" calls)" \
	"a checkpoint is moved from a temporary file"
size=$(stat -c %s "$(saved)")
expect_eq 1 "$(grep -c "write([0-9]*, .*, $size) *= $size" calls)" "the temporary file was written by one write"
expect_eq "" "$(ls far)" "no temporary file is left"
check "the copy to memory is counted" jq -e '.job_results[0].metrics.save | .copied.host_bytes == .bytes' adam/*/*/run_results.json
rm -r disk/*
check "a save of the weights alone succeeds" saves out=weights
check "a save of the weights alone is loaded by a trainer from the first step on" goes_on 0
rm -r disk/*
if [ "$(stat -c %d /dev/shm)" != "$(stat -c %d .)" ] && [ -w /dev/shm ]; then
	TMPDIR=/dev/shm saves out=shm >shm.out 2>&1
	expect_eq "0 644" "$? $(stat -c %a "$(saved)")" "a move between file systems copies, and verifies"
else
	skip "a move between file systems copies, and verifies" "/dev/shm is no other file system"
fi

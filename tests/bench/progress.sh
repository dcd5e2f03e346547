#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# progress.sh: how far a job is: a bar on a terminal, lines elsewhere; and what --dry-run says of its
# needs, which are refused before the first write when they are not there.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/bench.sh"
plan 13
cd "$tmp" || exit 1
mkdir disk

slow="shards size=16M storage=null null.delay_us=100000 warmup=0 epochs=2"
bench $slow progress=100ms seed=1,2 >lines.out 2>lines.err
expect_eq 0 $? "a job that takes its time"
check "says how far it is, in lines" grep -qE '^job 1 of 2, seed=1: +[0-9]+ %, [0-9.]+ GB/s, [0-9:]+ left$' lines.out
check "and before anything moved, for how long it works" grep -qE '^job 2 of 2, seed=2: .* so far$' lines.out
expect_eq "" "$(cat lines.err)" "which are no errors"
bench $slow progress=0 epochs=1 >quiet.out 2>&1
expect_eq 0 "$(grep -c '^job ' quiet.out)" "and can be left out"
if command -v script >/dev/null; then
	script -qec "'$builddir/ckptbench' $slow" terminal.out >/dev/null </dev/null
	check "a terminal gets a bar with rate and time left" \
		grep -qE '1/1 shards \[#*-*\] +[0-9]+ %, [0-9.]+ GB/s, [0-9:]+ left' terminal.out
	check "that is cleared at the end" sh -c 'tr "\r" "\n" <terminal.out | grep -q "^.\[Kgpt-"'
else
	skip "a terminal gets a bar with rate and time left" "script is not installed"
	skip "that is cleared at the end" "script is not installed"
fi

rm -r multirun
bench shards --dry-run size=1GiB storage=disk path=disk epochs=3 keep=on hold=on >dry
expect_eq 0 $? "--dry-run"
check "says what moves, memory and disk" sh -c 'grep -qE "^  moved: 6\.[0-9]* GB by 1 ranks" dry &&
	grep -qE "^  memory held: 1\.[0-9]* GB of [0-9.]* GB free" dry &&
	grep -qE "^  disk: 3\.[0-9]* GB of [0-9.]* GB free at disk" dry'
check "and makes nothing" test ! -e multirun
for want in "disk has .* GB free and .* would lie there" "hold .* GB in memory and"; do
	hold=off
	[ "${want#hold}" = "$want" ] || hold=on
	bench shards size=1M,500T model=mlperf-1t storage=disk,null path=disk hold=$hold >out 2>err
	expect_eq "1 1" "$? $(grep -c "$want" err)" "what does not fit is refused: $want"
done
expect_eq "" "$(ls disk; ls multirun 2>/dev/null)" "before the first job"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# progress.sh: how far a job is: a bar on a terminal, lines elsewhere; and what --dry-run says of its
# needs, which are refused before the first write when they are not there.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/bench.sh"
plan 34
cd "$tmp" || exit 1
mkdir disk

slow="shards size=16M storage=null null.delay_us=100000 warmup=0 epochs=2"
bench $slow progress=100ms seed=1,2 >lines.out 2>lines.err
expect_eq 0 $? "a job that takes its time succeeds"
check "a job says how far it is, in lines" grep -qE '^job 1 of 2, seed=1: +[0-9]+ %, [0-9.]+ GB/s, [0-9:]+ left$' lines.out
check "a job says for how long it works before anything moves" grep -qE '^job 2 of 2, seed=2: .* so far$' lines.out
expect_eq "" "$(cat lines.err)" "lines of progress are no errors"
bench $slow progress=0 epochs=1 >quiet.out 2>&1
expect_eq 0 "$(grep -c '^job ' quiet.out)" "the lines of progress can be left out"
if command -v script >/dev/null; then
	script -qec "'$builddir/ckptbench' $slow" terminal.out >/dev/null </dev/null
	check "a terminal gets a bar with rate and time left" \
		grep -qE '1/1 shards \[#*-*\] +[0-9]+ %, [0-9.]+ GB/s, [0-9:]+ left' terminal.out
	check "the bar is cleared at the end" sh -c 'tr "\r" "\n" <terminal.out | grep -q "^.\[Kgpt-"'
else
	skip "a terminal gets a bar with rate and time left" "script is not installed"
	skip "the bar is cleared at the end" "script is not installed"
fi

rm -r multirun
bench shards --dry-run size=1GiB storage=disk path=disk epochs=3 keep=on hold=on seed=1,2 >dry
expect_eq "0 2" "$? $(grep -c '^would save, load and verify on disk' dry)" "--dry-run lists the jobs"
check "--dry-run says what moves, memory and disk" sh -c 'grep -qE "^  moved: 6\.[0-9]* GB by 1 rank$" dry &&
	grep -qE "^  memory held: 1\.[0-9]* GB of [0-9.]* [GT]B free" dry &&
	grep -qE "^  disk: 3\.[0-9]* GB of [0-9.]* [GT]B free at disk" dry'
for scenario in shards restore dcp_ddp_save pytorch_checkpointing lightning_multinode simulated; do
	bench $scenario --dry-run model.layers=1 storage=disk path=disk >dry
	check "--dry-run says what $scenario holds where it fits" grep -qE "^  memory held: [0-9.]* [kMG]B of" dry
	bench $scenario --dry-run model.layers=1 storage=disk path=disk hold=off >dry
	expect_eq 1 "$(grep -cE "^  memory held: none of" dry)" "--dry-run says that $scenario holds nothing with hold=off"
done
check "a dry run makes nothing" test ! -e multirun
for want in "disk has .*B free and .* would lie there" "holds* .*B in memory and"; do
	hold=off
	[ "${want#hold}" = "$want" ] || hold=on
	bench shards size=250G,500T model=mlperf-1t storage=disk,null path=disk hold=$hold >out 2>err
	expect_eq "1 1" "$? $(grep -c "$want" err)" "what does not fit is refused: $want"
done
expect_eq "" "$(ls disk; ls multirun 2>/dev/null)" "what does not fit is refused before the first job"

# datasets: how large one gets is told by an image, and how large it is by its files or its name
set="--resolution 200x100 --image-format PPM"
bench datagen --dry-run -n 1k $set path=disk datagen.threads=4 >dry
check "datagen --dry-run says what moves, memory and disk" sh -c 'grep -qE "^  moved: 60\.[0-9]* MB by 1 rank$" dry &&
	grep -qE "^  memory held: [0-9.]* [kM]B of" dry && grep -qE "^  disk: 60\.[0-9]* MB of [0-9.]* [GT]B free at disk" dry'
bench datagen -n 1000M --resolution 16384x16384 --image-format PPM path=disk >out 2>err
expect_eq "1 1" "$? $(grep -c 'disk has .*B free and .* would lie there' err)" "datagen: what does not fit is refused"
expect_eq "" "$(ls disk)" "a job without room is not begun"
bench datagen -n 1k $set path=disk progress=1ms out=gen >gen.out 2>&1
check "datagen says how far it is" grep -qE '^job 1 of 1, datagen: +[0-9]+ %, [0-9.]+ GB/s, [0-9:]+ left$' gen.out
read="dataset dataset=1k_200x100_images dataloader.num_workers=2 epochs=3"
bench $read --dry-run path=disk checkpoint.save_one_in=2 checkpoint.uri=disk/not/yet checkpoint.model=vit-base >dry
diag "$(cat dry)"
check "dataset --dry-run says what moves, memory and disk, by the files that are there" sh -c \
	'grep -qE "^  moved: 3[0-9.]* [MG]B by 1 rank$" dry && grep -qE "^  disk: 1\.0[0-9]* GB of [0-9.]* [GT]B free at disk" dry'
expect_eq 1k_200x100_images "$(ls disk)" "a dry run makes no directory"
bench $read --dry-run s3.bucket=b image_format=PPM >dry
check "--dry-run knows the size of a dataset in a bucket by its name" grep -qE '^  moved: 180 MB by 1 rank$' dry
bench dataset --dry-run dataset=other s3.bucket=b >dry
check "a size that the name does not tell is said to be unknown" grep -q '^  moved: not known before' dry
bench $read path=disk progress=1ms epochs=20 out=read >read.out 2>&1
check "dataset says how far it is" grep -qE '^job 1 of 1, dataset: +[0-9]+ %, [0-9.]+ GB/s, [0-9:]+ left$' read.out

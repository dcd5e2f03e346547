#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# train_fails.sh: a training that cannot go on, or a save that is not what its name says, is told in one line
# with what to do, and is no success.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
bench_has HAVE_OPENBLAS || skip_all "built without OpenBLAS"
plan 19
cd "$tmp" || exit 1
mkdir disk full

small="model=gpt-mini model.layers=1 model.hidden=64 model.vocab=256 model.block=16 batch_size=2 warmup_steps=0"
# shellcheck disable=SC2086
train() { bench train progress=0 $small storage=disk path=disk "$@"; }
saved() { echo "$(jq -r .job_results[0].setup.suffix "$1"/*/*/run_results.json)/step-00000$2"; }
# fails PATTERN WHAT KEY...
fails() {
	pattern=$1 what=$2
	shift 2
	train "$@" >out 2>err
	rc=$?
	diag "$(cat err)"
	expect_eq "1 1 1" "$rc $(wc -l <err) $(grep -c -- "$pattern" err)" "$what is told in one line, with what to do"
}

# A state that is not of the step in its name, as a save of old memory would be.
train steps=3 save=sync keep=on format=dcp out=three >/dev/null
dir=$(saved three 003)
mv "disk/$dir" "disk/${dir%3}7"
fails "resume=.*7: its state is that after step 3: name a" "a directory of another step" resume="${dir%3}7"
mv "disk/${dir%3}7" "disk/${dir%/*}/newest"
check "a directory may have a name of its own" train resume="${dir%/*}/newest" steps=1 out=newest
train steps=3 save=sync keep=on format=torch out=file >/dev/null
file=$(saved file 003)
mv "disk/$file.ckpt" "disk/${file%3}2.ckpt"
fails "resume=.*2.ckpt: its state is that after step 3: name a" "a file of another step" resume="${file%3}2.ckpt"

# What one optimizer has saved, and another needs.
for format in dcp torch; do
	train steps=1 save=sync keep=on format=$format out=sgd.$format >/dev/null
	dir=$(saved sgd.$format 001)
	[ $format = dcp ] || dir=$dir.ckpt
	fails "resume=.*: it has no exp_avg.*: give optimizer.name=sgd, or name a file" "a save of SGD for AdamW, in $format," \
		resume="$dir" optimizer.name=adamw
done

# Weights that are no numbers: what the sum of the logits comes to.
check "the sum of the logits has no lower bound, and is saved" train loss=sum lr=10000 steps=12 steps_per_save=6 save=sync \
	keep=on format=dcp out=nan
check "a loss that is no number is null in the results" jq -e '.job_results[0].metrics.losses[-1] == null' nan/*/*/run_results.json
fails "step 13: the loss is no number with the weights of resume=.*: name an earlier save" "a state that is no numbers" \
	resume="$(saved nan 012)"
fails "no number any more: give a smaller lr" "a loss that becomes none" lr=100000 steps=20

# One byte that is another, in a tensor of which each rank wants a part.
# shellcheck disable=SC2086
two() { bench_mpi bench train progress=0 $small storage=disk path=disk train.mode=fsdp "$@"; }
train steps=1 save=sync keep=on format=dcp out=bad.dcp >/dev/null
train steps=1 save=sync keep=on format=torch out=bad.torch >/dev/null
for format in dcp torch; do
	at=$(saved bad.$format 001)
	case $format in dcp) file=disk/$at/__0_0.distcp ;; torch) at=$at.ckpt file=disk/$at ;; esac
	if bench_mpi true; then
		check "two ranks go on from their parts of $format" two resume="$at" steps=1 out=parts
		printf X | dd of="$file" bs=1 seek=100000 conv=notrunc 2>/dev/null
		two resume="$at" steps=1 out=wrong >out 2>err
		expect_eq "1 1" "$(($? != 0)) $(grep -c 'resume=.* differs from its checksum.*name a file' err)" \
			"a byte that is another is found in a part of $format"
	else
		skip "two ranks go on from their parts of $format" "$bench_no_mpi"
		skip "a byte that is another is found in a part of $format" "$bench_no_mpi"
	fi
done

# Shares of another save, or of another rank, which fit where they are.
# refuses WHAT: the directory with what was exchanged
refuses() {
	train resume=mixed steps=1 out=mixed >out 2>err
	expect_eq "1 1 1" "$? $(wc -l <err) $(grep -c 'resume=mixed: .* of __1_0.distcp is that of another save or rank: name a' err)" \
		"a share of $1 is refused in one line"
	diag "$(cat err)"
	rm -r disk/mixed
}
if bench_mpi true; then
	bench_ranks=4
	two steps=2 save=sync keep=on format=dcp out=four >out 2>&1 || diag "$(cat out)"
	at=$(saved four 002)
	cp -r "disk/$at" disk/mixed
	check "shares of four ranks are all of the state" train resume=mixed steps=1 out=four.on
	cp "disk/$(saved four 001)/__1_0.distcp" disk/mixed
	refuses "the save before"
	cp -r "disk/$at" disk/mixed
	cp "disk/$at/__1_0.distcp" disk/mixed/__2_0.distcp
	cp "disk/$at/__2_0.distcp" disk/mixed/__1_0.distcp
	refuses "another rank"
else
	skip "shares of four ranks are all of the state" "$bench_no_mpi"
	skip "a share of the save before is refused in one line" "$bench_no_mpi"
	skip "a share of another rank is refused in one line" "$bench_no_mpi"
fi

# A disk that is full.
at_exit 'umount "$tmp/full" 2>/dev/null'
if mount -t tmpfs -o size=4m none full 2>/dev/null; then
	fails "full has .* free and .* would lie there: give another path=, .*saves" "a disk without room for all saves" path=full \
		save=sync steps=100 format=dcp
	mount -o remount,size=100m full
	# shellcheck disable=SC2086
	bench train progress=0 $small storage=disk path=full save=async format=dcp steps=250 keep=on >out 2>err &
	pid=$!
	wait_for 60 sh -c '[ "$(ls full/* | wc -l)" -ge 2 ]'
	head -c 100000000 /dev/zero >full/filler 2>/dev/null
	wait "$pid"
	rc=$?
	diag "$(cat err)"
	expect_eq "1 1 1" "$rc $(wc -l <err) $(grep -c 'save of step-.*: No space left on device: give a storage with more room' err)" \
		"a disk that fills up meanwhile is told in one line, with what to do"
	newest=$(find full -name .metadata | sort | tail -n 1)
	newest=${newest#full/}
	check "training goes on from the newest save before" train path=full resume="${newest%/.metadata}" steps=1 out=on
else
	for name in "a disk without room for all saves is told" "a disk that fills up meanwhile is told" "training goes on from the newest save before"; do
		skip "$name" "no file system can be mounted here"
	done
fi

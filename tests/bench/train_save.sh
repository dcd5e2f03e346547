#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# train_save.sh: what is saved while a model learns is that model: training goes on from it as if nothing
# had been.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/store.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
bench_has HAVE_OPENBLAS || skip_all "built without OpenBLAS"
plan 58
cd "$tmp" || exit 1
mkdir disk
echo '[]' >faults
store_start storesim --faults "$tmp/faults"

small="model=gpt-mini model.layers=2 model.vocab=256 model.block=32 batch_size=4 warmup_steps=0 optimizer.name=adamw"
train() { bench train progress=0 $small "$@"; }
losses() { jq -c '.job_results[0].metrics.losses' "$1"/*/*/run_results.json; }
suffix() { jq -r '.job_results[0].setup.suffix' "$1"/*/*/run_results.json; }

check "a model that is not saved is trained" train steps=6 out=whole
# saved OUT FORMAT STEP: what resume= wants
saved() {
	case $2 in
	torch) echo "$(suffix "$1")/step-0000000$3.ckpt" ;;
	safetensors) echo "$(suffix "$1")/step-0000000$3.safetensors" ;;
	dcp) echo "$(suffix "$1")/step-0000000$3/" ;;
	esac
}
for format in torch safetensors dcp; do
	for storage in disk s3; do
		where="storage=$storage path=disk s3.uri=s3://$CKPTFS_TEST_BUCKET/$format s3.endpoint=$CKPTFS_TEST_ENDPOINT"
		check "steps save to $storage as $format, and the last save is verified" train $where format=$format \
			steps=4 save=sync keep=on out=$format.$storage
		check "training goes on from a save on $storage as $format" train $where steps=3 out=$format.$storage.on \
			resume="$(saved $format.$storage $format 3)"
		expect_eq "$(losses whole | jq -c '.[3:]')" "$(losses $format.$storage.on)" \
			"losses after a save on $storage as $format are to the bit those without the stop"
	done
done
for format in torch safetensors dcp; do
	check "steps go on while a thread saves as $format, and the last save is verified" train storage=disk path=disk \
		save=async format=$format steps=5 steps_per_save=2 keep=on out=async.$format
	expect_eq "$(losses whole | jq -c '.[:5]')" "$(losses async.$format)" "saves as $format beside the steps change no loss"
	train storage=disk path=disk steps=2 resume="$(saved async.$format $format 2)" out=async.$format.on >on.out 2>&1
	diag "$(cat on.out)"
	expect_eq "$(losses whole | jq -c '.[2:4]')" "$(losses async.$format.on)" \
		"a save as $format beside the steps is of the state before them"
done
for out in torch.disk dcp.disk; do
	check "each save that steps wait for has its figures: $out" jq -e '.job_results[0] | .metrics as $m |
		.setup.saved_steps == [1, 2, 3, 4] and .setup.bytes_a_save > 3 * 4 * 466432 and .setup.staging_bytes > 3 * 4 * 466432
		and $m.saves_cost_percent > 0 and $m.save_cost_s > 0 and $m.oldest_save_s > 0 and ($m.save_s.each | length == 4)
		and all(range(4); $m.save_blocked_s.each[.] >= $m.save_s.each[.] - 1e-3
			and $m.save_s.each[.] >= $m.save_copy_s.each[.] + $m.save_file_s.each[.] - 1e-3)
		and $m.step_busy_s == null and $m.step_idle_s.n == 4' $out/*/*/run_results.json
done
check "each save beside the steps has its figures" jq -e '.job_results[0] | .metrics as $m | .setup.saved_steps == [2, 4]
	and ($m.save_s.each | length == 2) and $m.step_busy_s.n + $m.step_idle_s.n == 5 and $m.step_busy_s.n >= 1
	and all(range(2); $m.save_blocked_s.each[.] >= $m.save_waited_s.each[.] + $m.save_copy_s.each[.] - 1e-6
		and $m.save_s.each[.] >= $m.save_file_s.each[.])' async.dcp/*/*/run_results.json
# create, write, sync and close wait half a second each
train storage=null null.delay_us=500000 save=async steps=3 profile=on out=slow >slow.out 2>&1
diag "$(cat slow.out)"
check "a storage that is slow is not hidden" jq -e '.job_results[0].metrics | . as $m | .oldest_save_s >= 2 and
	all(range(3); $m.save_s.each[.] >= 2 + $m.save_waited_s.each[.] - 1e-6
	and $m.save_blocked_s.each[.] >= $m.save_waited_s.each[.])' slow/*/*/run_results.json
check "a save begins when the one before has ended" jq -e '[.[] | select(.name == "save write")] as $write |
	[.[] | select(.name == "save copy")] | length == 3 and all(range(3) as $i | $write[$i].dur >= 2e6;.)
	and all(range(1; 3) as $i | .[$i].ts >= $write[$i - 1].ts + $write[$i - 1].dur - 1; .)' slow/*/*/0/trace.json
train storage=null null.delay_us=2000000 save=sync steps=1 progress=1s out=still >still.out 2>&1
expect_eq 1 "$(grep -c '^save of step-00000001.ckpt: no byte in 1 s, and steps wait$' still.out)" \
	"a write that stands still is told once, in a line"
kept=$(ls disk | wc -l)
check "the table says what saves cost" sh -c '"$@" | grep -q "a save of 0.006 GB blocks for .*a save every 10 minutes costs"' \
	sh "$builddir/ckptbench" train progress=0 $small storage=disk path=disk save=sync,async format=torch,dcp steps=2 \
	steps_per_save=2 out=table
expect_eq "$kept" "$(ls disk | wc -l)" "saves that are not to be kept are removed"

near() { jq -en --argjson a "$1" --argjson b "$2" '($a | length) == ($b | length) and
	all(range($a | length); ($a[.] - $b[.] | fabs) < 1e-5 * $a[.])'; }
two() { bench_mpi bench train progress=0 $small batch_size=2 storage=disk path=disk "$@" >two.out 2>&1; }
if bench_mpi true; then
	for format in torch dcp; do
		two resume="$(saved $format.disk $format 3)" steps=3 save=async format=$format keep=on out=two.$format
		diag "$(cat two.out)"
		check "two ranks go on where one stopped, and save as $format" near "$(losses two.$format)" "$(losses whole | jq -c '.[3:]')"
		train storage=disk path=disk resume="$(saved two.$format $format 5)" steps=1 out=one.$format >one.out 2>&1
		check "one goes on where two stopped that saved as $format" near "$(losses one.$format)" "$(losses whole | jq -c '.[5:]')"
	done
	expect_eq ".metadata __0_0.distcp __1_0.distcp" "$(ls -A "disk/$(saved two.dcp dcp 4)" | sort | paste -sd ' ')" \
		"each rank writes its share, and one .metadata is of all"
	expect_eq 2 "$(find "disk/$(saved two.dcp dcp 4)" -size +2500k | wc -l)" "the shares are halves"
else
	for format in torch dcp; do
		skip "two ranks go on where one stopped, and save as $format" "$bench_no_mpi"
		skip "one goes on where two stopped that saved as $format" "$bench_no_mpi"
	done
	skip "each rank writes its share, and one .metadata is of all" "$bench_no_mpi"
	skip "the shares are halves" "$bench_no_mpi"
fi

# refused PATTERN KEY...
refused() {
	pattern=$1
	shift
	train storage=disk path=disk "$@" >out 2>err
	rc=$?
	expect_eq "1 1 1" "$rc $(wc -l <err) $(grep -c -- "$pattern" err)" "a state that does not fit is refused in one line: $pattern"
}
last=$(suffix torch.disk)/step-00000004.ckpt
refused "No such file" resume=none/step-00000001.ckpt
refused "tok_emb.weight has 131072 bytes and the model wants 262144" resume="$last" model.vocab=512
refused "it has no tensor blocks.2.ln1.weight" resume="$last" model.layers=3
refused "with a save every 5 saves nothing" save=sync steps=4 steps_per_save=5
refused "train writes safetensors or torch or dcp" save=sync format=raw
refused "give a steps_per_save with which they are 1000 at most" save=sync steps=1001
last=$(saved dcp.disk dcp 4)
refused "emb_stem.tok_emb.weight has another shape" resume="$last" model.vocab=512
refused "it has no tensor blocks.2.ln1.weight" resume="$last" model.layers=3
cp -r "disk/$last" disk/bad.dcp
printf X | dd of=disk/bad.dcp/__0_0.distcp bs=1 seek=100000 conv=notrunc 2>/dev/null
refused "differs from its checksum" resume=bad.dcp
truncate -s 100000 disk/bad.dcp/__0_0.distcp
refused "bad.dcp/__0_0.distcp" resume=bad.dcp
truncate -s 1000 disk/bad.dcp/.metadata
refused "name a file, or a directory with .metadata" resume=bad.dcp
cp -r "disk/$(suffix torch.disk)" disk/bad
printf X | dd of=disk/bad/step-00000004.ckpt bs=1 seek=100000 conv=notrunc 2>/dev/null
refused "differs from its checksum" resume=bad/step-00000004.ckpt
truncate -s 100000 disk/bad/step-00000004.ckpt
refused "name a file, or a directory with .metadata, that train has saved" resume=bad/step-00000004.ckpt
train optimizer.name=sgd storage=disk path=disk save=sync steps=1 keep=on out=sgd >sgd.out
refused "it has no exp_avg.emb_stem.pos_emb, which AdamW needs" resume="$(suffix sgd)/step-00000001.ckpt"
check "weights of a run without AdamW are read without its moments" train optimizer.name=sgd storage=disk path=disk \
	resume="$(suffix sgd)/step-00000001.ckpt" steps=1 out=sgd.on
echo '[{"op": "HeadObject", "key": "*/.metadata", "do": "status", "status": 403, "code": "AccessDenied"}]' >faults
kill -HUP "$store_pid"
train storage=s3 s3.uri="s3://$CKPTFS_TEST_BUCKET/dcp" s3.endpoint="$CKPTFS_TEST_ENDPOINT" steps=1 out=denied \
	resume="$(saved dcp.s3 dcp 4)" >out 2>err
expect_eq "1 1" "$? $(grep -c 'resume=.*: .*/step-00000004/.metadata: Permission denied: name a' err)" \
	"a directory whose .metadata may not be looked at is told so, and not that it is not there"
diag "$(cat err)"

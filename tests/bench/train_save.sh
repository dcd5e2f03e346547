#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# train_save.sh: what is saved while a model learns is that model: training goes on from it as if nothing
# had been.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/store.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
bench_has HAVE_OPENBLAS || skip_all "built without OpenBLAS"
plan 26
cd "$tmp" || exit 1
mkdir disk
store_start storesim

small="model=gpt-mini model.layers=2 model.vocab=256 model.block=32 batch_size=4 warmup_steps=0 optimizer.name=adamw"
train() { bench train progress=0 $small "$@"; }
losses() { jq -c '.job_results[0].metrics.losses' "$1"/*/*/run_results.json; }
suffix() { jq -r '.job_results[0].setup.suffix' "$1"/*/*/run_results.json; }

check "a model that is not saved is trained" train steps=6 out=whole
for format in torch safetensors; do
	for storage in disk s3; do
		where="storage=$storage path=disk s3.uri=s3://$CKPTFS_TEST_BUCKET/$format s3.endpoint=$CKPTFS_TEST_ENDPOINT"
		check "steps save to $storage as $format, and the last save is verified" train $where format=$format \
			steps=4 save=sync keep=on out=$format.$storage
		file=$(suffix $format.$storage)/step-00000003.$([ $format = torch ] && echo ckpt || echo safetensors)
		check "training goes on from a save on $storage as $format" train $where resume="$file" steps=3 \
			out=$format.$storage.on
		expect_eq "$(losses whole | jq -c '.[3:]')" "$(losses $format.$storage.on)" \
			"losses after a save on $storage as $format are to the bit those without the stop"
	done
done
check "each save has its figures" jq -e '.job_results[0] | .metrics as $m | .setup.saved_steps == [1, 2, 3, 4]
	and .setup.bytes_a_save > 3 * 4 * 466432 and $m.saves_cost_percent > 0 and ($m.save_s.each | length == 4)
	and all(range(4); $m.save_s.each[.] >= $m.save_copy_s.each[.] + $m.save_file_s.each[.] - 1e-3)' \
	torch.disk/*/*/run_results.json
check "the table says what saves cost" sh -c '"$@" | grep -q "a save of 0.006 GB takes .*one every 10 minutes costs"' sh \
	"$builddir/ckptbench" train progress=0 $small storage=disk path=disk save=sync steps=2 steps_per_save=2 out=table
expect_eq 2 "$(ls disk | wc -l)" "saves that are not to be kept are removed"

if bench_mpi true; then
	one=$(suffix torch.disk)/step-00000003.ckpt
	bench_mpi bench train progress=0 $small batch_size=2 storage=disk path=disk resume="$one" steps=3 save=sync out=two >two.out 2>&1
	diag "$(cat two.out)"
	check "two ranks go on where one stopped, and save" jq -en --argjson a "$(losses two)" --argjson b "$(losses whole)" \
		'all(range(3); ($a[.] - $b[. + 3] | fabs) < 1e-5 * $a[.])'
else
	skip "two ranks go on where one stopped, and save" "$bench_no_mpi"
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
refused "train writes safetensors or torch" save=sync format=dcp
cp -r "disk/$(suffix torch.disk)" disk/bad
printf X | dd of=disk/bad/step-00000004.ckpt bs=1 seek=100000 conv=notrunc 2>/dev/null
refused "differs from its checksum" resume=bad/step-00000004.ckpt
truncate -s 100000 disk/bad/step-00000004.ckpt
refused "name a file that train has saved" resume=bad/step-00000004.ckpt
train optimizer.name=sgd storage=disk path=disk save=sync steps=1 keep=on out=sgd >sgd.out
refused "it has no tensor exp_avg.emb_stem.pos_emb" resume="$(suffix sgd)/step-00000001.ckpt"
check "weights of a run without AdamW are read without its moments" train optimizer.name=sgd storage=disk path=disk \
	resume="$(suffix sgd)/step-00000001.ckpt" steps=1 out=sgd.on

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# train.sh: a model learns; ranks learn together; what does not fit is told.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
cd "$tmp" || exit 1
if ! bench_has HAVE_OPENBLAS; then
	plan 1
	expect_eq "1 built without OpenBLAS" "$(bench train model=gpt-mini 2>&1 |
		sed -n 's/^ckptbench: \(built without OpenBLAS\): install libopenblas-dev.*/1 \1/p')" \
		"a build without OpenBLAS says in one line what is missing"
	exit 0
fi
plan 48

small="model=gpt-mini model.layers=2 model.vocab=256 model.block=32"
train() { bench train progress=0 "$@"; }
losses() { jq -c '.job_results[0].metrics.losses' "$1"/*/*/run_results.json; }
# close A B: lists of as many losses, which agree but for rounding
close() { jq -en --argjson a "$1" --argjson b "$2" '($a | length) == ($b | length) and
	all(range($a | length); ($a[.] - $b[.] | fabs) < 1e-5 * $a[.])'; }

check "a model is trained" train $small steps=3 warmup_steps=2 batch_size=4 out=first
check "each step has its parts, and each loss is there" jq -e '.job_results[0] | .metrics as $m |
	($m.losses | length == 5) and ($m.step_s.each | length == 3) and $m.tflops > 0 and $m.peak_memory_bytes > 1e6
	and all(range(3); $m.step_s.each[.] >= $m.forward_s.each[.] + $m.backward_s.each[.] + $m.update_s.each[.])
	and .model.parameters == 466432 and .setup.mode == "ddp"' first/*/*/run_results.json
suite=$(echo first/*/*/0/delay/ddp_gpt-mini_ws1_bs4_vs256_blk32_noop_fp32.txt)
number='[0-9]*\.[0-9]*'
expect_eq "delays tflops/gpu max_mem max_cpu_mem_percent forward backward optimizer" "$(sed -n \
	"s/^\(delays\|tflops.gpu\) = $number ($number)\$/\1/p;s/^\(max mem\|max cpu mem percent\) = [0-9.]*\$/\1/p
	s/^\(forward\|backward\|optimizer\) = $number %\$/\1/p" "$suite" | tr ' \n' '_ ' | sed 's/ $//')" \
	"the suite's text is there, under the suite's name, line by line"
check "the text has the delay of the results" jq -e --argjson delay "$(sed -n 's/^delays = \([0-9.]*\) .*/\1/p' "$suite")" \
	'(.job_results[0].metrics.delay_s.mean - $delay | fabs) < 1e-6' first/*/*/run_results.json
train $small steps=3 warmup_steps=2 batch_size=4 out=again >again.out
expect_eq "$(losses first)" "$(losses again)" "steps with the same seed have the same losses, to the bit"
train $small steps=3 warmup_steps=2 batch_size=4 --activation checkpoint out=checkpoint >checkpoint.out
expect_eq "$(losses first) checkpoint" "$(losses checkpoint) $(jq -r '.job_results[0].setup.activation' checkpoint/*/*/run_results.json)" \
	"blocks that are computed anew have the same losses, to the bit"
train $small steps=3 warmup_steps=2 batch_size=4 --activation offload out=offload >offload.out
expect_eq "$(losses first) offload" "$(losses offload) $(jq -r '.job_results[0].setup.activation' offload/*/*/run_results.json)" \
	"blocks that come back from copies have the same losses, to the bit"
train $small steps=3 warmup_steps=2 batch_size=4 seed=2 out=other >other.out
check "steps with another seed have other losses" test "$(losses first)" != "$(losses other)"

head -c 3000 "$srcdir/LICENSE" >text
check "a text is fitted to below half of the first loss in 200 steps" sh -c '"$@" && jq -e "
	.job_results[0].metrics.losses | .[-1] < .[0] / 2" text.out/*/*/run_results.json' sh "$builddir/ckptbench" train \
	$small progress=0 data=text batch_size=8 optimizer.name=adamw lr=0.002 steps=200 warmup_steps=0 out=text.out
check "the sum of the logits, which the suite lowers, falls" sh -c '"$@" && jq -e "
	.job_results[0].metrics.losses | .[1] < .[0]" sum.out/*/*/run_results.json' sh "$builddir/ckptbench" train $small \
	progress=0 loss=sum steps=1 warmup_steps=1 out=sum.out

if bench_mpi true; then
	train $small steps=4 batch_size=8 optimizer.name=adamw out=one >one.out
	bench_mpi bench train progress=0 $small steps=4 batch_size=4 optimizer.name=adamw out=two >two.out 2>&1
	diag "$(cat two.out)"
	check "two ranks, with dropout, are one rank of twice the batch" close "$(losses one)" "$(losses two)"
	expect_eq "2 2" "$(jq -c '.job_results[0] | "\(.setup.ranks) \(.metrics.delay_s.each | length)"' -r two/*/*/run_results.json)" \
		"each of two ranks has its delay in the results"
	bench_ranks=3
	for overlap in on off; do
		bench_mpi bench train progress=0 $small steps=4 batch_size=4 train.overlap=$overlap out=overlap.$overlap >three.out 2>&1
		diag "$(cat three.out)"
	done
	expect_eq "$(losses overlap.off)" "$(losses overlap.on)" \
		"gradients that are averaged beside the backward pass have the same losses, to the bit"
else
	skip "gradients that are averaged beside the backward pass have the same losses" "$bench_no_mpi"
	skip "two ranks, with dropout, are one rank of twice the batch" "$bench_no_mpi"
	skip "each of two ranks has its delay in the results" "$bench_no_mpi"
fi

bench train --model GPTSmall --vocab_size 3072 --block_size=128 --batch_size 10 --dry-run >dry
check "the build of the model and the memory behind each part of the warm-up are in the results" jq -e \
	'.job_results[0].metrics | .build_s > 0 and (.memory_bytes | keys == ["backward", "forward", "model", "optimizer", "zero_grad"]
	and all(.[]; . > 1e6))' first/*/*/run_results.json
bench train $small steps=3 warmup_steps=2 batch_size=4 progress=1h out=lines >lines.out
expect_eq "1 2 3 4 5" "$(sed -n 's/^step \([0-9]\): loss [0-9.]*, [0-9.]* s (forward .*, zero_grad [0-9.]*)$/\1/p' lines.out | paste -sd ' ')" \
	"each step has a line"
check "the table has that memory" grep -q '^disk: the model was built in [0-9.]* s; GB of memory then [0-9.]*, in the warm-up behind forward [0-9.]*, backward [0-9.]*, optimizer [0-9.]*, zero_grad [0-9.]*$' lines.out
check "of many steps some have a line" sh -c '"$@" >many.out && [ "$(grep -c "^step " many.out)" -eq 155 ]' sh \
	"$builddir/ckptbench" train model=gpt-mini model.layers=1 model.hidden=8 model.vocab=8 model.block=2 batch_size=1 steps=310 \
	warmup_steps=0 out=many
check "the suite's words are understood, and a dry run says what a step is" \
	grep -q "would train gpt-small, 89872896 parameters, for 8 steps on 1 rank: 6.885e+11 operations a step and rank (9.12e+11 as the suite" dry
bench train model=GPT1T --dry-run >dry 2>err
check "a dry run has the figures of a model that does not fit" grep -q "would train gpt-1t, 1006836172800 parameters" dry
check "a dry run says in one line that a model does not fit" grep -q "^ckptbench: 1 rank here holds .* TB in memory and .* GB are free" err

# of DRYFILE PART: GB
part() { sed -n "s/.*memory of a rank:.* $2 \([0-9.]*\).*/\1/p" "$1"; }
for model in Small Medium Large XL XXL XXXL 13B 175B 1T; do
	bench train --model GPT$model --dry-run 2>/dev/null
done >dry
expect_eq "89872896 308733952 689593344 1240501152 2533708800 6469853184 15515100288 174038605824 1006836172800" \
	"$(sed -n 's/.*, \([0-9]*\) parameters.*/\1/p' dry | tr '\n' ' ' | sed 's/ $//')" \
	"a dry run counts the parameters of each published model"
expect_eq "9 9" "$(grep -c 'memory of a rank: [0-9.]* GB: model [0-9.]*, passes [0-9.]*, saves 0.000, text 0.000$' dry) $(
	grep -c 'operations a step and rank' dry)" "a dry run has the memory and the operations of each"
bench train model=gpt-small optimizer.name=adamw --dry-run >dry
expect_eq 1.438 "$(part dry model)" "a dry run counts weights, gradients and both moments"
bench train model=gpt-small activation=offload --dry-run >dry
bench train model=gpt-small --dry-run >dry.noop
check "a dry run counts the copies of activations, in memory of the same machine" jq -en --argjson a "$(part dry passes)" \
	--argjson b "$(part dry.noop passes)" '$a > $b and $a < 1.2 * $b'
for optimizer in sgd adamw; do
	bench train size=1G optimizer.name=$optimizer --dry-run 2>&1 | sed -n "s/.*, \([0-9]*\) parameters.*/$optimizer \1/p"
done | awk '{ print $1, int($2 * ($1 == "sgd" ? 4 : 12) / 2^30 * 10 + .5) }' >sized
expect_eq "sgd 10,adamw 10" "$(paste -sd , sized)" "a size is that of a save, with the moments that there are"
truncate -s 300M large
bench train model=gpt-mini data=large --dry-run >dry
expect_eq 0.315 "$(part dry text)" "a dry run counts the text, which each rank holds"

# refused PATTERN KEY...: in one line
refused() {
	pattern=$1
	shift
	train $small "$@" >out 2>err
	rc=$?
	expect_eq "1 1 1" "$rc $(wc -l <err) $(grep -c -- "$pattern" err)" "what makes no sense is refused in one line: $*"
}
train $small steps=3 warmup_steps=2 batch_size=4 --dtype=fp16 out=halves >halves.out
check "losses with products of halves are near those in fp32, and others" jq -en --argjson a "$(losses first)" --argjson b \
	"$(losses halves)" '$a != $b and all(range(5); ($a[.] - $b[.] | fabs) < 1e-3 * $a[.])'
check "the text of products of halves has its name" ls halves/*/*/0/delay/ddp_gpt-mini_ws1_bs4_vs256_blk32_noop_fp16.txt
check "GPTSmall of one layer is trained on the cpu" train --model GPTSmall model.layers=1 batch_size=1 steps=1 warmup_steps=0 device=cpu out=cpu
expect_eq host "$(jq -r '.job_results[0].config.device' cpu/*/*/run_results.json)" "the results call it host"
refused "device=emulated: train works on a GPU or on the host" device=emulated
refused "prefetch=prehook: give train.mode=fsdp" --prefetch prehook
refused "cpu_offload=on: give train.mode=fsdp, which alone has it" --cpu_offload
refused "--version fairscale: train has the modes of PyTorch alone" --version=fairscale
check "flags of the suite that ask for what there is are accepted" bench train $small --dtype fp32 --prefetch=noop --version pytorch \
	--dry-run
refused "give a number from 0 to below 1e+06" lr=fast
refused "give a number from 0 to below 1e+06" lr=nan
refused "give a number from 0 to below 1" dropout=1
refused "give a number from 0 to below 1" dropout=0.99999999
refused "more than 2147483647 tokens of a rank: give less of one" batch_size=1000000 model.block=4096
refused "train knows the GPTs" model=L7b
refused "four times its hidden size: leave it out" model.ffn=7
refused "give loss=cross_entropy, or leave it out" data=text loss=sum
refused "give model.vocab of 256 or more" data=text model.vocab=255
refused "No such file" data=missing
refused "give a file of more than 32 bytes" data=/dev/null
mkfifo fifo
refused "give a file of more than 32 bytes" data=fifo
refused "the loss is no number any more: give a smaller lr" lr=100000 steps=20

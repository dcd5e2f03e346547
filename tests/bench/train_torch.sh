#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# train_torch.sh: what "train" computes is what torch computes from the same weights and tokens: in fp32, each
# tensor within 1e-4 of its norm, and with products of halves within 1e-3.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/bench.sh"
bench_has HAVE_OPENBLAS || skip_all "built without OpenBLAS"
need_torch
plan 30
cd "$tmp" || exit 1

mkdir disk
for format in torch safetensors dcp; do
	bench train model=gpt-mini model.layers=2 warmup_steps=0 steps=2 steps_per_save=2 save=sync keep=on optimizer.name=adamw \
		storage=disk path=disk format=$format progress=0 out=$format >save.out 2>&1 || diag "$(cat save.out)"
done
# By two ranks, if there can be: half of each batch each.
mkdir two
set -- bench
! bench_mpi true || set -- bench_mpi bench
"$@" train model=gpt-mini model.layers=2 warmup_steps=0 steps=2 steps_per_save=2 save=async keep=on optimizer.name=adamw \
	storage=disk path=two format=dcp progress=0 batch_size=$([ "$1" = bench ] && echo 10 || echo 5) out=two.out >save.out 2>&1 ||
	diag "$(cat save.out)"
# A vision transformer, and the parts of images that it sees.
format=$(image_format)
for size in 60x50 496x387 900x20; do
	bench datagen -n 8 --resolution $size --image-format $format path=. dataset=images.$size >save.out 2>&1 || diag "$(cat save.out)"
done
bench dataset model=vit model.layers=2 model.hidden=32 model.heads=2 num_labels=5 path=. dataset=images.60x50 dataloader.batch_size=4 \
	checkpoint.save_one_in=1 checkpoint.uri=vision keep=on dataloader.num_workers=1 out=vision.out >save.out 2>&1 || diag "$(cat save.out)"
"$builddir/tests/bench/crop_images" images.*/image_[12].$format >crops
# One start of torch for all: optimizer, loss, learning rate.
set -- sgd cross_entropy 0.1 adamw cross_entropy 0.001 sgd sum 0.00001 sgd halves 0.1 sgd overflow 0.0001 adam labels 0.001
all=$*
while [ $# -gt 0 ]; do
	mkdir "$1.$2"
	(cd "$1.$2" && "$builddir/tests/bench/train_steps" "$1" "$2" "$3")
	shift 3
done
# shellcheck disable=SC2086
timeout 300 "$torch_python" "$srcdir/tests/bench/train_torch.py" disk/*/*.ckpt disk/*/*.safetensors disk/*/step-00000002 two/*/step-00000002 vision/*/batch2.ckpt crops \
	$all >out 2>err
diag "$(cat out err)"
check "both files and the directory of a save are loaded by a model of torch, and are the same" grep -q "^ok files" out
check "torch.distributed.checkpoint loads what two ranks saved beside their steps" grep -q "^ok shares" out
check "transformers' model takes what a vision transformer has saved" grep -q "^ok vision" out
check "the parts of images are scaled as torch scales them" grep -q "^ok crops" out
check "logits of products of halves are not those of fp32" grep -q "^ok sgd\.halves nearer" out
set -- $all
while [ $# -gt 0 ]; do
	check "the logits before $1 of $2 are torch's" grep -q "^ok $1\.$2 logits" out
	if [ "$2" != overflow ]; then check "every gradient before $1 of $2 is torch's" grep -q "^ok $1\.$2 gradients" out; fi
	case $2 in halves | overflow)
		check "steps of $1 of $2 are skipped, and the scale changes, as torch's GradScaler has it" grep -q "^ok $1\.$2 scale" out ;;
	esac
	check "weights are torch's after a step of $1 of $2" grep -q "^ok $1\.$2 step 1" out
	check "weights are torch's after four steps of $1 of $2" grep -q "^ok $1\.$2 step 4" out
	shift 3
done

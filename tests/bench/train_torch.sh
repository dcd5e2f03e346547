#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# train_torch.sh: what "train" computes is what torch computes from the same weights and tokens: in fp32,
# each tensor within 1e-4 of its norm.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/bench.sh"
bench_has HAVE_OPENBLAS || skip_all "built without OpenBLAS"
need_torch
plan 12
cd "$tmp" || exit 1

# One start of torch for all: optimizer, loss, learning rate.
set -- sgd cross_entropy 0.1 adamw cross_entropy 0.001 sgd sum 0.00001
all=$*
while [ $# -gt 0 ]; do
	mkdir "$1.$2"
	(cd "$1.$2" && "$builddir/tests/bench/train_steps" "$1" "$2" "$3")
	shift 3
done
# shellcheck disable=SC2086
timeout 300 "$torch_python" "$srcdir/tests/bench/train_torch.py" $all >out 2>err
diag "$(cat out err)"
set -- $all
while [ $# -gt 0 ]; do
	check "the logits before $1 of $2 are torch's" grep -q "^ok $1\.$2 logits" out
	check "every gradient before $1 of $2 is torch's" grep -q "^ok $1\.$2 gradients" out
	check "weights are torch's after a step of $1 of $2" grep -q "^ok $1\.$2 step 1" out
	check "weights are torch's after four steps of $1 of $2" grep -q "^ok $1\.$2 step 4" out
	shift 3
done

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# train_stores.sh: training goes on, to the bit, from what it saved on mounts of both protocols and on Cloud Storage.
# train_save.sh does so on a disk and on S3. Clients of others save, too.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/store.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
bench_has HAVE_OPENBLAS || skip_all "built without OpenBLAS"
[ -w /dev/fuse ] || skip_all "/dev/fuse cannot be opened"
plan 35
cd "$tmp" || exit 1

small="model=gpt-mini model.layers=1 model.hidden=64 model.vocab=256 model.block=16 batch_size=4 warmup_steps=0 optimizer.name=adamw"
# shellcheck disable=SC2086
train() { bench train progress=0 $small "$@"; }
losses() { jq -c '.job_results[0].metrics.losses' "$1"/*/*/run_results.json; }
train steps=5 out=whole >/dev/null

# goes_on WORD KEY...: from each format, on a storage
goes_on() {
	word=$1
	shift
	for format in torch safetensors dcp; do
		out=$word.$format
		check "steps save to $word as $format, and the last save is verified" train "$@" format=$format steps=4 save=async \
			steps_per_save=2 keep=on out="$out"
		at=$(jq -r .job_results[0].setup.suffix "$out"/*/*/run_results.json)/step-00000002
		case $format in torch) at=$at.ckpt ;; safetensors) at=$at.safetensors ;; esac
		train "$@" steps=3 resume="$at" out="$out.on" >on.out 2>&1 || diag "$(cat on.out)"
		expect_eq "$(losses whole | jq -c '.[2:]')" "$(losses "$out.on")" \
			"losses after a save on $word as $format are to the bit those without the stop"
	done
}
mounted() { # URI DIRECTORY: by $spawned
	mkdir "$2"
	spawn "$builddir/ckptfs" -f "$1" "$2" -o "endpoint=$CKPTFS_TEST_ENDPOINT"
	at_exit "umount '$tmp/$2' 2>/dev/null || umount -l '$tmp/$2' 2>/dev/null"
	check "a mount of $1" wait_for 20 mountpoint -q "$2"
}
store_start storesim
mounted "s3://$CKPTFS_TEST_BUCKET" s3
mount_pid=$spawned
goes_on "a mount of S3" storage=mount mount.path="$tmp/s3"

for client in awscrt libs3; do
	if bench_has HAVE_$(echo $client | tr a-z A-Z); then
		goes_on $client storage=$client s3.endpoint="$CKPTFS_TEST_ENDPOINT" s3.uri="s3://$CKPTFS_TEST_BUCKET/$client"
	else
		for n in 1 2 3 4 5 6; do skip "training goes on from what $client saved, $n" "built without $client"; done
	fi
done

# The mount dies while steps go on.
# shellcheck disable=SC2086
bench train progress=1s $small storage=mount mount.path="$tmp/s3" steps=1000 save=async format=dcp keep=on >out 2>err &
pid=$!
whole() { find s3 -name .metadata | grep -q "00000002/"; }
rm -r s3/*
check "saves go through a mount" wait_for 60 whole
freeze "$store_pid"
check "a store that stands still is told in a line, with who knows why" wait_for 60 grep -q \
	'^save of step-.*: no byte in 1 s, and steps wait: the mount tries until its deadline=, and its log says why$' out
thaw "$store_pid"
kill -KILL "$mount_pid"
wait "$pid"
rc=$?
diag "$(cat err)"
expect_eq "1 1 1" "$rc $(wc -l <err) $(grep -c 'save of step-.*: the mount has ended: see its log, and mount again' err)" \
	"a mount that has ended is told in one line, with what to do"
umount -l s3
store_stop
rm -r "$store_data"
CKPTFS_TEST_SCHEME=gs
store_start storesim --protocol gs
mounted "gs://$CKPTFS_TEST_BUCKET" gs
goes_on "a mount of Google's" storage=mount mount.path="$tmp/gs"
goes_on "Cloud Storage" storage=gcs gcs.endpoint="$CKPTFS_TEST_ENDPOINT" gcs.uri="gs://$CKPTFS_TEST_BUCKET/p"

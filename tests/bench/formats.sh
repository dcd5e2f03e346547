#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# formats.sh: what ckptbench saves is the real thing: safetensors and torch load it from disk, both kinds of
# store and mount, and find every value of the pattern. And it loads what they saved.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/store.sh"
. "$srcdir/tests/lib/bench.sh"
need_torch
command -v jq >/dev/null || skip_all "jq is not installed"
[ -w /dev/fuse ] || skip_all "/dev/fuse cannot be opened"
plan 19
cd "$tmp" || exit 1
mkdir disk mnt mnt-gs gs
store_start storesim
spawn "$builddir/storesim" --protocol gs --listen 127.0.0.1:0 --bucket "$CKPTFS_TEST_BUCKET" --data gs >gs.out 2>gs.err
wait_for 30 grep -q '^listening on ' gs.out || diag "$(cat gs.err)"
gs=$(sed -n 's/^listening on //p;q' gs.out)
mounted() { # SCHEME ENDPOINT DIR
	spawn "$builddir/ckptfs" -f "$1://$CKPTFS_TEST_BUCKET" "$tmp/$3" -o "endpoint=$2"
	at_exit "timeout 20 umount '$tmp/$3' 2>/dev/null || timeout 20 umount -l '$tmp/$3' 2>/dev/null"
	wait_for 30 mountpoint -q "$3"
}
mounted s3 "$CKPTFS_TEST_ENDPOINT" mnt && mounted gs "$gs" mnt-gs || exit 1

where="path=$tmp/disk mount.path=$tmp/mnt s3.endpoint=$CKPTFS_TEST_ENDPOINT gcs.endpoint=$gs"
keys="model=gpt-mini model.layers=2 optimizer=on out=out $where s3.uri=s3://$CKPTFS_TEST_BUCKET/s3
	gcs.uri=gs://$CKPTFS_TEST_BUCKET/gcs"
all=storage=disk,s3,mount,gcs
for kind in safetensors torch raw; do
	check "a model is saved as $kind on disk, stores and mount" \
		bench shards $keys $all format=$kind phase=save suffix=$kind
done
mkdir dcp
save() { # the directories that the command saved, as links in dcp
	"$@" || return 1
	for d in disk mnt mnt/s3 mnt-gs/gcs; do
		for new in $d/20*; do
			[ ! -d "$new" ] || [ -e "dcp/${new##*/}" ] || ln -s "$tmp/$new" "dcp/${new##*/}"
		done
	done
}
check "a replicated model is saved as directories" save bench dcp_ddp_save $keys $all thread_count=2
if bench_mpi true; then
	check "rows are saved by two ranks" save bench_mpi bench dcp_fsdp_save $keys $all
else
	skip "rows are saved by two ranks" "$bench_no_mpi"
fi

# one start of torch for all
mkdir disk/py
timeout 300 "$torch_python" "$srcdir/tests/bench/formats.py" disk/torch/shard-* disk/py \
	disk/[rs]*/* mnt/[rst]*/shard* mnt/s3/*/shard* mnt-gs/gcs/*/shard* dcp/* >py.out 2>&1
expect_eq 0 $? "the libraries load all of it, and every value is the one that was saved"
expect_eq "4 4 4" "$(grep -c '^safetensors .*safetensors: ' py.out) $(grep -c '^torch .*ckpt: ' py.out) $(grep -c '^raw ' py.out)" \
	"the libraries load files from each storage"
expect_eq "$(ls dcp | wc -l)" "$(grep -c '^dcp ' py.out)" "the libraries load directories, too"
tail -n 5 py.out | sed 's/^/# /'

cp -r disk/py mnt/py # at the top of the buckets
cp -r disk/py mnt-gs/py
load() { bench "$@" $where s3.uri=s3://$CKPTFS_TEST_BUCKET gcs.uri=gs://$CKPTFS_TEST_BUCKET $all; }
verified() { jq -r '[.job_results[].setup.verified] | unique | join(";")' "$1"/*/*/run_results.json; }
for file in pattern.safetensors pattern.pt; do
	check "what torch saved as $file is loaded from each storage" load load suffix=py file=$file out=$file
	expect_eq "every timed byte, after the clock" "$(verified $file)" "what torch saved as $file is verified"
done
for file in other.safetensors other.pt; do
	check "a file that has other values is loaded, too: $file" load load suffix=py file=$file out=$file
done
expect_eq "no: the file has neither the pattern nor checksums" "$(verified other.safetensors)" "values of others without checksums cannot be verified"
expect_eq "by the checksums in the file, after the clock" "$(verified other.pt)" "values of others are verified by the archive's checksums"
expect_eq "model.0.bias model.0.weight optimizer.state.0.exp_avg 3" "$(jq -r '.job_results[0].load.contents |
	[(.[0:4] | map(.name) | sort | .[0:2] | .[]), (.[] | select(.name | endswith("state.0.exp_avg")) | .name),
	([.[] | select(.name | startswith("model."))] | length)] | join(" ")' other.pt/*/*/run_results.json)" \
	"the tensors have their names"
expect_eq "$(sed -n 's/^crc //p' py.out)" \
	"$(jq -r '.job_results[0].load.contents[] | "\(.name) \(.crc32)"' other.safetensors/*/*/run_results.json | sort)" \
	"the checksums are those that zlib finds"
cp -r disk/py/dcp disk/torchdcp
cp -r disk/py/dcp mnt/torchdcp
cp -r disk/py/dcp mnt-gs/torchdcp
check "a directory that torch saved is loaded by rows" load dcp_fsdp_load model=gpt-mini model.layers=2 optimizer=on \
	suffix=torchdcp out=torchdcp

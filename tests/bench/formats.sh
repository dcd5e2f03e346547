#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# formats.sh: what ckptbench saves is the real thing: safetensors and torch load it from disk, store and
# mount, and find every value of the pattern. And it loads what they saved.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/store.sh"
. "$srcdir/tests/lib/bench.sh"
need_torch
command -v jq >/dev/null || skip_all "jq is not installed"
[ -w /dev/fuse ] || skip_all "/dev/fuse cannot be opened"
plan 18
cd "$tmp" || exit 1
mkdir disk mnt
store_start storesim
spawn "$builddir/ckptfs" -f "s3://$CKPTFS_TEST_BUCKET" "$tmp/mnt" -o "endpoint=$CKPTFS_TEST_ENDPOINT"
at_exit 'umount "$tmp/mnt" 2>/dev/null || umount -l "$tmp/mnt" 2>/dev/null'
wait_for 20 mountpoint -q mnt || skip_all "ckptfs does not mount here"

where="path=$tmp/disk mount.path=$tmp/mnt s3.endpoint=$CKPTFS_TEST_ENDPOINT"
keys="model=gpt-mini model.layers=2 optimizer=on out=out $where s3.uri=s3://$CKPTFS_TEST_BUCKET/s3"
for kind in safetensors torch; do
	check "a model is saved as $kind on disk, store and mount" \
		bench shards $keys storage=disk,s3,mount format=$kind phase=save suffix=$kind
done
mkdir dcp
save() { # the directories that the command saved, as links in dcp
	"$@" || return 1
	for d in disk mnt mnt/s3; do
		for new in $d/20*; do
			[ ! -d "$new" ] || [ -e "dcp/${new##*/}" ] || ln -s "$tmp/$new" "dcp/${new##*/}"
		done
	done
}
check "a replicated model is saved as directories" save bench dcp_ddp_save $keys storage=disk,s3,mount thread_count=2
if bench_mpi true; then
	check "rows are saved by two ranks" save bench_mpi bench dcp_fsdp_save $keys storage=disk,s3,mount
else
	skip "rows are saved by two ranks" "$bench_no_mpi"
fi

# one start of torch for all
mkdir disk/py
timeout 300 "$torch_python" "$srcdir/tests/bench/formats.py" disk/torch/shard-* disk/py \
	disk/safetensors/* mnt/safetensors/* mnt/s3/safetensors/* mnt/torch/* mnt/s3/torch/* dcp/* >py.out 2>&1
expect_eq 0 $? "the libraries load all of it, and every value is right"
expect_eq "3 3" "$(grep -c '^safetensors .*safetensors: ' py.out) $(grep -c '^torch .*ckpt: ' py.out)" "from each storage"
expect_eq "$(ls dcp | wc -l)" "$(grep -c '^dcp ' py.out)" "directories, too"
tail -n 5 py.out | sed 's/^/# /'

cp -r disk/py mnt/py # at the top of the bucket
load() { bench "$@" $where s3.uri=s3://$CKPTFS_TEST_BUCKET storage=disk,s3,mount; }
verified() { jq -r '[.job_results[].setup.verified] | unique | join(";")' "$1"/*/*/run_results.json; }
for file in pattern.safetensors pattern.pt; do
	check "what torch saved as $file is loaded from each storage" load load suffix=py file=$file out=$file
	expect_eq "every timed byte, after the clock" "$(verified $file)" "and verified"
done
for file in other.safetensors other.pt; do
	check "other values, too: $file" load load suffix=py file=$file out=$file
done
expect_eq "no: the file has neither the pattern nor checksums" "$(verified other.safetensors)" "which cannot be verified"
expect_eq "by the checksums in the file, after the clock" "$(verified other.pt)" "or by the archive's checksums"
expect_eq "model.0.bias model.0.weight optimizer.state.0.exp_avg 3" "$(jq -r '.job_results[0].load.contents |
	[(.[0:4] | map(.name) | sort | .[0:2] | .[]), (.[] | select(.name | endswith("state.0.exp_avg")) | .name),
	([.[] | select(.name | startswith("model."))] | length)] | join(" ")' other.pt/*/*/run_results.json)" \
	"the tensors have their names"
expect_eq "$(sed -n 's/^crc //p' py.out)" \
	"$(jq -r '.job_results[0].load.contents[] | "\(.name) \(.crc32)"' other.safetensors/*/*/run_results.json | sort)" \
	"and the checksums that zlib finds"
cp -r disk/py/dcp disk/torchdcp
cp -r disk/py/dcp mnt/torchdcp
check "a directory that torch saved is loaded by rows" load dcp_fsdp_load model=gpt-mini model.layers=2 optimizer=on \
	suffix=torchdcp out=torchdcp

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# dataset.sh: epochs over a dataset, from each storage and by each loader, every sample verified once.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/store.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
plan 71
cd "$tmp" || exit 1
format=$(image_format)
mkdir disk mnt
echo '[]' >faults
store_start storesim --log "$tmp/requests" --faults "$tmp/faults"
at="s3.endpoint=$CKPTFS_TEST_ENDPOINT s3.bucket=$CKPTFS_TEST_BUCKET"
gen() { bench datagen -n 90 --resolution 40x30 --image-format $format "$@" >gen.out 2>&1; }
gen path=disk && gen $at || diag "$(cat gen.out)"
images=90_40x30_images
small="dataloader.batch_size=8 dataloader.num_workers=3"

# read_ok NAME OUT arguments...: a run that verifies every sample
read_ok() {
	what=$1 out=$2; shift 2
	bench dataset $small "$@" out=$out >run.out 2>&1
	expect_eq "0 every sample, inside the clock" \
		"$? $(jq -r .job_results[-1].setup.verified $out/*/*/run_results.json)" "$what"
	tail -n 3 run.out | sed 's/^/# /'
}
result() { jq -r ".job_results[0]$2" $1/*/*/run_results.json; }
# refused PATTERN arguments...: fails, one line on stderr that matches
refused() {
	pattern=$1; shift
	if bench dataset $small "$@" >out 2>err; then not_ok "$* is refused"; else
		check "a bad option is refused: $pattern" sh -c 'grep -q -- "$1" err && [ $(wc -l <err) = 1 ] || { cat err; exit 1; }' sh "$pattern"
	fi
}

read_ok "samples are read from a directory" disk dataset=$images path=disk epochs=2
read_ok "samples are read where path= is the dataset itself" whole path=disk/$images/
expect_eq "180 90 iterable" "$(result disk .metrics.samples) $(result disk .setup.objects) $(result disk .setup.access)" \
	"each sample is read once an epoch"
check "the results have the Python suite's figures" jq -e '.job_results[0] | (.metrics.epoch_durations_s | length == 2)
	and .metrics.throughput_mibs == .metrics.samples_per_s and (.metrics.volume_mibs * 1048576 - .metrics.bytes | fabs < 1)
	and (.metrics.training_duration_s - (.metrics.epoch_durations_s | add) | fabs < 1e-9)
	and .metrics.utilization.cpu_mem.max > 0 and .metrics.mib_per_s > 0' disk/*/*/run_results.json
read_ok "samples are read from a bucket by an iterable loader" s3 dataset=$images $at dataloader=s3iterabledataset
read_ok "samples are read by a map loader that shuffles" map dataset=$images $at dataloader=s3mapdataset dataloader.shuffle=on epochs=2
expect_eq "180 map" "$(result map .metrics.samples) $(result map .setup.access)" "a map loader reads all samples"
lists() { :>requests; bench dataset $small dataset=$images $at "$@" out=lists >run.out 2>&1; awk '$2 ~ /^ListObjects/' requests | wc -l; }
once=$(lists dataloader=s3mapdataset epochs=2)
expect_eq "$((once + 6)) $((once + 6))" "$(lists dataloader=s3iterabledataset epochs=2) $(lists dataloader=fsspec epochs=2 dataloader.shuffle=on)" \
	"an iterable loader lists in each worker and epoch, a map one before the first"
check "how long a worker took to list is told" jq -e '.job_results[0].metrics.list_s > 0' s3/*/*/run_results.json
read_ok "samples are read by ranges of 4 KiB" range dataset=$images $at dataloader=s3iterabledataset \
	dataloader.s3reader.type=range_based dataloader.s3reader.buffer_size=4K
expect_eq range_based "$(result range .setup.reader)" "the results tell the kind of reader"
read_ok "samples are read ahead by blocks of 64 KiB" ahead dataset=$images $at s3.read_size=64K
read_ok "samples are read as fsspec does" fsspec dataset=$images/ $at dataloader=fsspec
read_ok "samples are read without workers" none dataset=$images path=disk dataloader.num_workers=0 dataloader=map
read_ok "samples are read by more workers than there are samples" many dataset=$images path=disk dataloader.num_workers=120
read_ok "samples are decoded" decode dataset=$images path=disk model=decode
bench dataset $small dataset=$images path=disk model=decode,entitlement drop=none out=two >run.out 2>&1
check "models can be swept" sh -c 'grep -q "disk model=decode .*[0-9]" run.out && grep -q "disk model=entitlement" run.out'
if bench_mpi true; then
	bench_mpi bench dataset $small dataset=$images $at dataloader=map,iterable epochs=2 out=ranks >run.out 2>&1
	expect_eq "0 180 180" "$? $(jq -r '[.job_results[].metrics.samples] | join(" ")' ranks/*/*/run_results.json)" \
		"two ranks share an epoch"
else
	skip "two ranks share an epoch" "$bench_no_mpi"
fi

if bench_has HAVE_LIBARCHIVE; then
	gen path=disk --shard-size 20KiB && gen $at --shard-size 20KiB
	tars=${images}_20KiB_shards
	read_ok "samples are read from tars in a directory" tars dataset=$tars path=disk sharding=on
	read_ok "samples are read from tars in a bucket" s3tars dataset=$tars $at sharding=on s3.read_size=64K epochs=2
	read_ok "samples are read from tars by ranges" rtars dataset=$tars $at sharding=on dataloader.s3reader.type=range_based \
		dataloader.s3reader.buffer_size=4K
	refused "give sharding=off if it is no tar" dataset=$images path=disk sharding=on
	read_ok "samples are read by a map loader to which whole tars are dealt" mtars dataset=$tars path=disk sharding=on dataloader=map
	cp -r disk/$tars disk/exchanged
	mv disk/exchanged/shard_1.tar one && mv disk/exchanged/shard_2.tar disk/exchanged/shard_1.tar && mv one disk/exchanged/shard_2.tar
	refused "shard_[12].tar holds [0-9]* samples from [0-9]* on, and datagen put others there" dataset=exchanged path=disk sharding=on
	shard=$(find disk/$tars -name 'shard_2.tar')
	printf x | dd of="$shard" bs=1 seek=900 conv=notrunc 2>/dev/null
	refused "shard_2.tar: image_[0-9]*.*differs from what datagen" dataset=$tars path=disk sharding=on
	rm "$shard"
	refused "datagen made 90 samples, and [0-9]* were read" dataset=$tars path=disk sharding=on
else
	for t in 1 2 3 4 5 6 7 8; do skip "the data set is read from tars" "built without libarchive"; done
fi

# what the page cache keeps is not said to be dropped
dropped() { jq -r .job_results[0].setup.page_cache_dropped $1/*/*/run_results.json; }
read_ok "a dataset that was just made is dropped from the page cache" fresh dataset=$images path=disk drop=auto
case $(stat -f -c %T /dev/shm 2>/dev/null) in
tmpfs)
	shm=$(mktemp -d /dev/shm/ckptfs-test.XXXXXX)
	at_exit 'rm -rf "$shm"'
	gen path="$shm"
	read_ok "a dataset that lies in memory alone is read" shm dataset=$images path="$shm"
	expect_eq "no: not possible here, what was read may have come from memory" "$(dropped shm)" \
		"a dataset that the page cache keeps is not told as dropped"
	refused "cannot be dropped: it keeps what was read: give drop=none" dataset=$images path="$shm" drop=file
	;;
*)
	for t in 1 2 3; do skip "the page cache of a file system in memory is told as kept" "/dev/shm is no tmpfs"; done
	;;
esac

# what is wrong is found
cp -r disk/$images disk/bad
one=disk/bad/image_33.$format
printf x | dd of=$one bs=1 seek=700 conv=notrunc 2>/dev/null
refused "image_33.$format: a byte of its [0-9]* differs" dataset=bad path=disk
cp disk/$images/image_34.$format $one
refused "image_33.$format holds sample 34" dataset=bad path=disk
echo "no image" >$one
refused "image_33.$format has no line of datagen" dataset=bad path=disk
for older in seed=2 num_samples=80; do # what the dataset was before, under the same name
	gen path=disk dataset=before_$older $older && cp disk/before_$older/image_33.$format $one
	refused "image_33.$format .*samples of two datasets" dataset=bad path=disk
done
rm $one
refused "datagen made 90 samples, and 89 were read" dataset=bad path=disk
mkdir disk/plain
echo text >disk/plain/a && : >disk/plain/empty && mkdir disk/plain/deep && echo more >disk/plain/deep/b
bench dataset $small dataset=plain path=disk out=plain >run.out 2>&1
expect_eq "0 3 no: datagen did not make them" "$? $(result plain .metrics.samples) $(result plain .setup.verified)" \
	"samples of others are read, with folders"
refused "neither JPEG nor PPM" dataset=plain path=disk model=decode
refused "direct=on is for checkpoints" dataset=$images path=disk direct=on
refused "model 'resnet' is unknown: give entitlement, decode or vit" dataset=$images path=disk model=resnet
refused "num_labels is of model=vit" dataset=$images path=disk num_labels=10
refused "dataloader 's3' is unknown: give one of iterable, map" dataset=$images path=disk dataloader=s3
refused "dataloader=s3mapdataset reads from s3, not from storage=disk" dataset=$images path=disk \
	storage=disk dataloader=s3mapdataset
refused "dataloader=mountpointcache reads through a mount with a cache on a disk, and ckptfs has none" dataset=$images $at \
	mount.path=. dataloader=mountpointcache
refused "no sample is there" dataset=nothing $at
refused "dataset= names no data set" dataset= path=disk/$images
refused "mount.path=DIR" dataset=$images $at dataloader=mountpoint

# a vision transformer
if bench_has HAVE_OPENBLAS; then
	vit="model=vit model.layers=1 model.hidden=32 model.heads=2 num_labels=3"
	bench dataset dataset=$images path=disk model=vit --dry-run >dry 2>&1
	check "a dry run tells the parameters of the vision transformer" grep -q "vit learns: 86567656 parameters" dry
	read_ok "a vision transformer learns from samples" vit dataset=$images path=disk $vit epochs=3 dataloader.shuffle=on
	check "what it has learnt is told" jq -e '.job_results[0] | .metrics.steps == 36 and (.metrics.epoch_losses | length == 3)
		and (.metrics.epoch_losses | all(. > 0)) and .setup.labels == 3 and .metrics.step_s > 0' vit/*/*/run_results.json
	read_ok "a vision transformer learns from samples in a bucket" vit_s3 dataset=$images $at $vit dataloader=s3mapdataset
	read_ok "a vision transformer learns without workers" vit_alone dataset=$images path=disk $vit dataloader=map dataloader.num_workers=0
	losses() { jq -c .job_results[0].metrics.epoch_losses $1/*/*/run_results.json; }
	expect_eq "$(losses vit_s3)" "$(losses vit_alone)" "what is learnt does not depend on workers and storage"
	if bench_mpi true; then
		bench dataset dataset=$images path=disk $vit dataloader=map dataloader.batch_size=16 epochs=2 out=vit_one >run.out 2>&1
		bench_mpi bench dataset dataset=$images path=disk $vit dataloader=map dataloader.batch_size=8 epochs=2 out=vit_two >run.out 2>&1
		check "two ranks learn what one learns from batches twice as large" sh -c 'echo "$1 $2"; jq -ne "[$1, $2] | transpose |
			length == 2 and all(.[0] / .[1] - 1 | fabs < 1e-4)"' sh "$(losses vit_one)" "$(losses vit_two)"
		bench_mpi bench dataset $small dataset=$images path=disk $vit dataloader=iterable epochs=2 dataloader.batch_size=7 \
			dataloader.num_workers=1 out=vit_odd >run.out 2>&1
		expect_eq "0 180" "$? $(jq .job_results[0].metrics.samples vit_odd/*/*/run_results.json)" \
			"ranks learn to the end though their batches differ"
	else
		skip "two ranks learn what one learns from batches twice as large" "$bench_no_mpi"
		skip "ranks learn to the end though their batches differ" "$bench_no_mpi"
	fi
	read_ok "the weights of a vision transformer are saved every five batches" vit_saves dataset=$images path=disk $vit \
		checkpoint.save_one_in=5 checkpoint.uri=deep/er/vit epochs=2
	expect_eq "4 0" "$(result vit_saves '.metrics.save_times_s | length') $(find deep -type f | wc -l)" \
		"the last save is loaded and compared, and all are removed"
	refused "model.vocab: the labels are told by num_labels" dataset=$images path=disk $vit model.vocab=9
	refused "model.block: an image has 196 patches" dataset=$images path=disk $vit model.block=9
	mkdir disk/cut && head -c 1200 disk/$images/image_5.$format >disk/cut/image_5.$format
	refused "image_5.$format: a broken $format" dataset=cut path=disk $vit verify=off
else
	for t in 1 2 3 4 5 6 7 8 9 10 11 12 13; do skip "a vision transformer learns" "built without OpenBLAS"; done
fi

# checkpoints
read_ok "a checkpoint is saved every five batches" saves dataset=$images path=disk checkpoint.save_one_in=5 \
	checkpoint.uri=deep/er/saves checkpoint.model=demo epochs=2
expect_eq "4 0" "$(result saves '.metrics.save_times_s | length') $(find deep -type f | wc -l)" \
	"two checkpoints an epoch are saved, and removed at the end"
read_ok "checkpoints are saved in a bucket" s3saves dataset=$images path=disk checkpoint.save_one_in=10 checkpoint.destination=s3 \
	checkpoint.uri=s3://$CKPTFS_TEST_BUCKET/saves s3.endpoint="$CKPTFS_TEST_ENDPOINT" checkpoint.model=demo
refused='"key": "fails/*", "skip": 1, "do": "status", "status": 403, "code": "AccessDenied"'
store_rules faults "[{\"op\": \"PutObject\", $refused}, {\"op\": \"CreateMultipartUpload\", $refused}]"
bench dataset $small dataset=$images path=disk checkpoint.save_one_in=10 checkpoint.destination=s3 epochs=2 \
	checkpoint.uri=s3://$CKPTFS_TEST_BUCKET/fails s3.endpoint="$CKPTFS_TEST_ENDPOINT" checkpoint.model=demo >run.out 2>err
expect_eq "1 1 1" "$(($? != 0)) $(grep -c 'checkpoint batch10.ckpt' err) $(grep -c 'checkpoint batch10.ckpt: .*Permission denied' err)" \
	"a save that failed in the place of an older one is told once, and not looked for"
diag "$(cat err)"
store_rules faults '[]'

mounted=no
if [ -w /dev/fuse ]; then
	spawn "$builddir/ckptfs" -f "s3://$CKPTFS_TEST_BUCKET" "$tmp/mnt" -o "endpoint=$CKPTFS_TEST_ENDPOINT"
	at_exit 'timeout 20 umount "$tmp/mnt" 2>/dev/null || timeout 20 umount -l "$tmp/mnt" 2>/dev/null'
	wait_for 20 mountpoint -q mnt && mounted=yes
fi
if [ $mounted = yes ]; then
	mkdir cache
	cached="dataset $small dataset=$images epochs=2 mount.path=$tmp/mnt"
	timeout 600 "$builddir/ckptbench" $cached dataloader=mountpointcache mount.cache="$tmp/cache" out=none >run.out 2>err
	expect_eq "1 1" "$? $(grep -c 'mount.cache=.*/cache is empty behind the last epoch' err)" \
		"a mount that keeps nothing in its cache on a disk is told"
	echo block >cache/block # a stand-in for what a mount with a cache leaves
	timeout 600 "$builddir/ckptbench" $cached dataloader=mountpoint,mountpointcache mount.cache="$tmp/cache" out=mount >run.out 2>&1
	expect_eq "0 180 180" "$? $(jq -r '[.job_results[].metrics.samples] | join(" ")' mount/*/*/run_results.json)" \
		"a data set is read through a mount, with a cache on a disk and without"
	expect_eq "before each epoch false, before each epoch true" "$(jq -r '[.job_results[].setup
		| "\(.page_cache_dropped) \(.cache_bytes > 0)"] | join(", ")' mount/*/*/run_results.json)" \
		"the page cache is dropped before each epoch, the cache on a disk is not"
else
	for t in 1 2 3; do skip "the data set is read through a mount" "/dev/fuse cannot be opened"; done
fi

# The Python suite's configuration as it is published, with a dataset of the name that it has: tars,
# ten epochs, five loaders.
suite="-cd $srcdir/tests/bench/suite $at"
mkdir -p nvme/checkpoints
if [ $mounted = yes ] && bench_has HAVE_LIBARCHIVE; then
	gen $at dataset=100k_496x387_images --shard-size 20KiB
	timeout 600 "$builddir/ckptbench" dataset $suite s3.region=us-east-1 mount.path="$tmp/mnt" mount.cache="$tmp/cache" out=suite >run.out 2>&1
	expect_eq "0 s3iterabledataset s3mapdataset fsspec mountpoint mountpointcache 900" "$? $(jq -r '[.job_results[]
		| .setup.dataloader, .metrics.samples] | (map(strings) | join(" ")) + " " + (map(numbers) | unique | join(" "))' \
		suite/*/*/run_results.json)" "the configuration of the Python suite runs as it is published"
	tail -n 3 run.out | sed 's/^/# /'
else
	skip "the configuration of the Python suite runs as it is published" "no /dev/fuse, or built without libarchive"
fi
bench dataset $suite mount.path=. sharding=off >run.out 2>&1
check "a value that the published configuration leaves open is asked for" grep -q "s3.region has no value yet" run.out

store_stop
CKPTFS_TEST_SCHEME=gs
store_data=$tmp/gs
store_start storesim --protocol gs
at="gcs.endpoint=$CKPTFS_TEST_ENDPOINT gcs.uri=gs://$CKPTFS_TEST_BUCKET/sets"
gen $at
expect_eq 0 $? "a dataset is made in a bucket of Cloud Storage"
read_ok "a dataset is read from a bucket of Cloud Storage" gs dataset=$images $at dataloader=map

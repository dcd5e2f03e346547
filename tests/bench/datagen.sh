#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# datagen.sh: images that other programs read, single and in tars, the same however they are made.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/store.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
plan 29
cd "$tmp" || exit 1
format=$(image_format)
mkdir a b c
gen() { bench datagen --resolution 40x30 --image-format $format "$@"; }

gen -n 50 path=a datagen.threads=1 >out 2>&1
expect_eq 0 $? "images are made in a directory"
diag "$(cat out)"
expect_eq 50 "$(ls a/50_40x30_images | grep -c "^image_[0-9]*\.$format\$")" "images have the names that the Python suite gives them"
gen --num-samples=50 path=b datagen.threads=4 >out 2>&1
check "more threads make the same bytes" diff -r a b
if bench_mpi true; then
	bench_mpi bench datagen --resolution 40x30 --image-format $format -n 50 path=c >out 2>&1
	check "more ranks make the same data set" diff -r a c
else
	skip "more ranks make the same data set" "$bench_no_mpi"
fi
reads_it() { sh -c '
	command=$(sed -n "s/^read it with: //p" "$1" | tail -n 1) && [ -n "$command" ] && PATH=$2:$PATH && eval "$command"' \
	sh "$1" "$builddir"; }
check "the command that datagen prints reads what it made" reads_it out
odd="it's;one&two"
mkdir "$odd"
gen -n 5 path="$odd" >odd.out 2>&1
check "a shell takes that command as it was meant" reads_it odd.out
gen -n 50 path=b dataset=other seed=2 >out 2>&1
check_fails "another seed makes other images" cmp -s b/other/image_0.$format b/50_40x30_images/image_0.$format
if command -v file >/dev/null; then
	check "images have the size that was asked for" sh -c 'file "$1" | grep -q "40 *x *30"' sh a/50_40x30_images/image_49.$format
else
	skip "images have the size that was asked for" "file is not installed"
fi
if command -v djpeg >/dev/null && [ $format = JPEG ]; then
	expect_eq "40 30" "$(djpeg -pnm a/50_40x30_images/image_7.JPEG | sed -n 2p)" "djpeg decodes the images that were made"
else
	skip "djpeg decodes the images that were made" "djpeg is not installed, or libjpeg"
fi

store_start storesim
s3() { gen s3.endpoint="$CKPTFS_TEST_ENDPOINT" "$@"; }
s3 -n 50 --s3-bucket "$CKPTFS_TEST_BUCKET" --region us-east-1 out=s3 >out 2>&1
expect_eq 0 $? "the data set is made in a bucket, too"
expect_eq 50 "$(jq .job_results[0].metrics.objects s3/*/*/run_results.json)" "a data set in a bucket has as many objects"

if bench_has HAVE_LIBARCHIVE; then
	gen -n 60 --shard-size 16KiB path=a >out 2>&1
	expect_eq 0 $? "tars are made in a directory"
	tars=a/60_40x30_images_16KiB_shards
	for t in "$tars"/shard_*.tar; do tar tf "$t" || echo bad; done | sort -u >listed
	expect_eq 60 "$(grep -c "^image_[0-9]*\.$format\$" listed)" "tar lists every image once"
	expect_eq "" "$(find $tars -size +16k)" "no tar is larger than was asked for"
	mkdir one && tar xf $tars/shard_1.tar -C one
	gen -n 60 path=b >out 2>&1
	check "a tar holds the image that stands alone" cmp one/image_0.$format b/60_40x30_images/image_0.$format
	gen -n 60 --shard-size 16KiB path=b datagen.threads=1 >out 2>&1
	check "one thread makes the same tars" diff -r $tars b/60_40x30_images_16KiB_shards
	bench datagen --resolution 300x200 --image-format PPM -n 40 --shard-size 6MiB s3.part_size=5M \
		s3.uri=s3://$CKPTFS_TEST_BUCKET/deep/er dataset=tars s3.endpoint="$CKPTFS_TEST_ENDPOINT" >out 2>&1
	expect_eq 0 $? "a tar larger than a part is uploaded in parts"
else
	for t in 1 2 3 4 5 6; do skip "tars are made of samples" "built without libarchive"; done
fi

# refused PATTERN arguments...: fails, one line on stderr that matches
refused() {
	pattern=$1; shift
	if bench datagen "$@" >out 2>err; then not_ok "$* is refused"; else
		check "$* is refused" sh -c 'grep -q -- "$1" err && [ $(wc -l <err) = 1 ]' sh "$pattern"
	fi
}
refused "image_format=PNG is none that is made here: give JPEG or PPM" path=a --image-format PNG
refused "num_samples=ten is no count" path=a -n ten --image-format PPM
refused "resolution=10 is none: give WIDTHxHEIGHT" path=a --resolution 10 --image-format PPM
refused "resolution=0x5 is none" path=a --resolution 0x5 --image-format PPM
refused "shard_size=1GB is not a size" path=a --shard-size 1GB
refused "nothing says where the dataset is" -n 5 --image-format PPM
refused "path=/dev/null: Not a directory" path=/dev/null --image-format PPM
refused "-n needs a" path=a -n
refused "holds no datasets: give s3, gcs, mount or disk" storage=null --image-format PPM
refused "bucket other does not exist" --s3-bucket other s3.endpoint="$CKPTFS_TEST_ENDPOINT" --image-format PPM

mkdir stopped
"$builddir/ckptbench" datagen -n 10k --resolution 200x200 --image-format PPM path=stopped dataset=set >out 2>&1 &
pid=$!
at_exit "kill -9 $pid 2>/dev/null"
wait_for 20 sh -c 'ls stopped/set/image_* >/dev/null 2>&1'
kill -INT $pid
wait $pid
expect_eq 130 $? "a signal ends datagen"
expect_eq "" "$(ls stopped)" "a signal removes what was made"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shards_gcs.sh: shards as objects of Cloud Storage, through libstore: parts, ranges, one request.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/store.sh"
. "$srcdir/tests/lib/bench.sh"
plan 5
cd "$tmp" || exit 1
CKPTFS_TEST_SCHEME=gs
store_start storesim --protocol gs
gcs() { bench shards storage=gcs gcs.endpoint="$CKPTFS_TEST_ENDPOINT" gcs.uri="gs://$CKPTFS_TEST_BUCKET/p" out=out "$@"; }

check "a shard goes up in parts and comes back in ranges" gcs size=40M s3.part_size=5M s3.read_size=1M
check "a shard that fits a part is one request" gcs size=16M s3.part_size=64M warmup=0
check "nothing is left in the bucket" sh -c '[ -z "$(find "$1" -type f -size +4k)" ]' sh "$store_data"
check "a directory of torch.distributed.checkpoint is saved" bench dcp_ddp_save model=gpt-mini \
	storage=gcs gcs.endpoint="$CKPTFS_TEST_ENDPOINT" gcs.uri="gs://$CKPTFS_TEST_BUCKET/p" out=dcp
bench shards storage=gcs gcs.uri=s3://b out=out 2>err
expect_eq "1 gcs.uri=s3://b names no bucket: give gcs.uri=gs://BUCKET/PREFIX" \
	"$? $(sed 's/^ckptbench: //' err)" "another scheme is refused in one line"

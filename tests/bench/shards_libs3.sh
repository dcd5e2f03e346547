#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shards_libs3.sh: shards through libs3: one request, ranges, tries, a signal.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/store.sh"
. "$srcdir/tests/lib/bench.sh"
. "$srcdir/tests/lib/sdk.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
need_storage libs3 HAVE_LIBS3
plan $((sdk_planned + 15))
cd "$tmp" || exit 1
store_start storesim
sdk_cases

# Its callbacks have a small buffer to fill or to read; a device copies in blocks, pinned ones.
sdk_copied "1 0 0" "1 0 0" hold=on
sdk_copied "0 0 0" "0 0 0" hold=off device=host
sdk_copied "1 1 0" "1 1 0" device=emulated
sdk_copied "1 1 0" "1 1 0" device=emulated s3.read_size=24M s3.connections=1
sdk_copied "1 0 1" "1 0 1" device=emulated device.staging=pageable

refused() {
	sdk shards "$@" >refused.out 2>&1 && return 1
	grep -q "$pattern" refused.out && [ "$(wc -l <refused.out)" = 1 ]
}
pattern='libs3 takes a key from AWS_ACCESS_KEY_ID'
check "a profile is refused in one line" refused s3.profile=me
pattern='takes no s3.ca_bundle'
check "an authority of one's own is refused in one line" refused s3.ca_bundle=/dev/null
pattern='Permission denied (libs3: ErrorSignatureDoesNotMatch)'
AWS_SECRET_ACCESS_KEY=wrong check "a wrong key is refused in one line" refused
sdk shards size=24G hold=off warmup=0 >big.out 2>&1
check "a shard that is larger than a request can carry is refused" grep -q 'one request, of 5 GiB at most' big.out

sdk_denied '[{"op": "PutObject", "do": "status", "status": 403, "code": "AccessDenied"}]'
store_stop
echo '[{"op": "GetObject", "times": 3, "do": "status", "status": 503, "code": "SlowDown"},
	{"op": "PutObject", "nth": 2, "do": "status", "status": 503, "code": "SlowDown"}]' >faults.json
store_start storesim --faults faults.json
check "a range that the store puts off is asked for again" sdk shards size=16M s3.read_size=4M warmup=0
check "a save of a device begins anew with its first block" sdk shards size=16M s3.read_size=1M warmup=0 \
	device=emulated
sdk_stopped

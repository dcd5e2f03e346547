#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# metrics.sh: Prometheus gets the metrics of a mount, as metrics.def names them.
. "$srcdir/tests/lib/mount.sh"
need_fuse
grep -q '^#define HAVE_LIBMICROHTTPD 1' "$builddir/config.h" || lacks deep "ckptfs is built without libmicrohttpd"
command -v curl >/dev/null || skip_all "curl is not installed"
plan 27
start_store
metrics="curl -sS --max-time 60 --noproxy 127.0.0.1"
port() { sed -n 's/.*metrics are served at port //p' "$mount_log"; }
mount_ckptfs stall_timeout=120s metrics=127.0.0.1:0 'metrics_label=cluster=a"b\c'
wait_for 10 grep -q 'served at port' "$mount_log"
at=http://127.0.0.1:$(port)
printf 12345 >"$mnt/file"

expect_eq "200 text/plain; version=0.0.4; charset=utf-8" \
	"$($metrics -o "$tmp/all" -w '%{http_code} %{content_type}' "$at/metrics")" "the metrics are text of Prometheus"
sed -n 's/^METRIC(\([^,]*\), [A-Z]*, "\([^"]*\)".*/\1 \2/p' "$srcdir/fs/base/metrics.def" | awk '
	{ print "ckptfs_" $1 (($2 == "bytes" || $2 == "seconds") && $1 !~ $2 ? "_" $2 : "") }' | sort >"$tmp/names"
grep -v -e '^#' -e operation= "$tmp/all" | sed 's/{.*//; s/_total$//' | sort >"$tmp/served"
check "each metric of the table is served once" cmp "$tmp/names" "$tmp/served"
check "a sample has mount, bucket and the label that was given" grep -qF \
	"ckptfs_written_bytes_total{mount=\"$mnt\",bucket=\"$CKPTFS_TEST_BUCKET\",cluster=\"a\\\"b\\\\c\"} 5" "$tmp/all"
if command -v promtool >/dev/null; then
	check "promtool finds nothing to complain of" sh -c 'promtool check metrics <"$1" >"$2" 2>&1 && [ ! -s "$2" ] || { cat "$2"; false; }' \
		sh "$tmp/all" "$tmp/lint"
else
	! required deep || { echo "Bail out! CKPTFS_REQUIRE has deep: promtool is not installed"; exit 1; }
	skip "promtool finds nothing to complain of" "promtool is not installed"
fi

# By operation. A close has read and written here before: its figures are whole.
sample() { grep -F "ckptfs_$1{" "$tmp/all" | grep -F "operation=\"$2\"" | grep -F "${3:-operation}" | sed 's/.*} //'; }
check "each operation of the kernel has a histogram of its times" sh -c '[ "$1" -ge 1 ] && [ "$1" = "$2" ]' sh \
	"$(sample fuse_request_seconds_count create)" "$(sample fuse_request_seconds_bucket create +Inf)"
check "each operation of the store has histograms of first byte and whole reply" sh -c '[ "$1" -ge 1 ] && [ "$1" = "$2" ]' sh \
	"$(sample store_first_byte_seconds_count put)" "$(sample store_request_seconds_count put)"
check "a histogram grows from bound to bound" sh -c 'sed -n "s/^ckptfs_fuse_request_seconds_bucket.*operation=\"flush\".* //p" "$1" >"$2" &&
	[ "$(wc -l <"$2")" -eq 17 ] && sort -n -c "$2"' sh "$tmp/all" "$tmp/steps"
expect_eq "$(sample store_request_seconds_count put)" "$(sample store_replies_total put 'code="200"')" \
	"each reply of the store is counted by its status"
echo '[{"key": "late", "do": "delay", "stall": "700ms"}]' >"$tmp/late.json"
set_faults "$tmp/late.json"
printf 12345 >"$mnt/late"
set_faults
$metrics -o "$tmp/all" "$at/metrics"
check "the first byte of an upload's reply is timed from the end of its body" awk -v sum="$(sample store_first_byte_seconds_sum put)" \
	'BEGIN { exit !(sum >= 0.7) }'
printf 12345 >"$mnt/file2"
check "a later write is added to what a counter had" sh -c '[ "$(sed -n "s/^ckptfs_written_bytes_total.* //p" "$1")" -lt \
	"$($2 "$3/metrics" | sed -n "s/^ckptfs_written_bytes_total.* //p")" ]' sh "$tmp/all" "$metrics" "$at"
expect_eq 404 "$($metrics -o /dev/null -w '%{http_code}' "$at/")" "another path is not found"
expect_eq 405 "$($metrics -o /dev/null -w '%{http_code}' -d x=1 "$at/metrics")" "a change is refused"
expect_eq 200 "$($metrics -I -o /dev/null -w '%{http_code}' "$at/metrics")" "HEAD is answered"

set_rules "$(held_once PutObject held)"
fdo_begin open wct "$mnt/held" write 100 pause close
: >"$tmp/fdo/go"
wait_held PutObject
waits() { $metrics -o "$tmp/waits" "$at/metrics" && grep -qE '^ckptfs_oldest_close_seconds\{.* [1-9]' "$tmp/waits"; }
check "a close that waits for the store grows old" wait_for 60 waits
expect_eq "0 1 0 100" "$(for m in dirty_files uploading_files failed_files unsent_bytes; do
	sed -n "s/^ckptfs_$m{.* //p" "$tmp/waits"; done | paste -sd ' ')" "files are told by their state, and unsent bytes"
set_faults
fdo_ends "ok ok ok ok" "the close that waited publishes"

# Connections that say nothing.
cat >"$tmp/hold.py" <<'END'
import socket, sys, time
held = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for i in range(12)]
open(sys.argv[2], "w").close()
time.sleep(60)
END
spawn python3 "$tmp/hold.py" "$(port)" "$tmp/held"
holder=$spawned
wait_for 30 test -e "$tmp/held"
expect_eq "ok ok ok" "$(fdo open wct "$mnt/beside" write 100 close)" "files are written while clients hold every connection"
kill "$holder"
serves() { $metrics -o /dev/null "$at/metrics"; }
check "the metrics are served again when they are gone" wait_for 60 serves

use_mount second
mkdir "$mnt"
refused() {
	timeout 60 "$builddir/ckptfs" -o "endpoint=$CKPTFS_TEST_ENDPOINT,$2" "$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET" "$mnt" \
		>"$tmp/out" 2>&1
	expect_eq "1 1 1 0" "$? $(wc -l <"$tmp/out") $(grep -c "$3" "$tmp/out") $(grep -c " $mnt " /proc/self/mounts)" \
		"$1 is refused in one line, and nothing is mounted"
}
refused "a port that is taken" "metrics=${at#http://}" 'in use'
refused "an address that is none" metrics=here:9469 'ADDRESS:PORT'
refused "an address without a port" metrics=127.0.0.1 'ADDRESS:PORT'
refused "a number that is no port" metrics=127.0.0.1:99999 'ADDRESS:PORT'
refused "a label without a value" metrics=127.0.0.1:0,metrics_label=cluster NAME=VALUE
refused "a label that there is" metrics=127.0.0.1:0,metrics_label=mount=x 'none of mount'
mount_ckptfs "metrics=unix:$tmp/metrics"
# The mount is there a moment before what it serves.
check "the metrics are served at a unix socket" wait_for 60 sh -c '$1 --unix-socket "$2" http://x/metrics | grep -q "^ckptfs_requests_total{"' \
	sh "$metrics" "$tmp/metrics"
umount_ckptfs
use_mount first
umount_ckptfs

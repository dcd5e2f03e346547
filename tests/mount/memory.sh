#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# memory.sh: many files at once in little memory: the bytes are right, and the cap holds.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 9
start_store --rate 150M
mkdir "$tmp/spill"
mount_ckptfs part_size=5M memory=64M spill_dir="$tmp/spill" attr_ttl=60s
peak() { awk '/VmHWM/ { print int($2 / 1024) }' "/proc/$mount_pid/status"; }
before=$(peak)
head -c 7000001 /dev/urandom >"$tmp/data"
head -c 4000000 "$tmp/data" >"$tmp/head"
sum=$(cksum <"$tmp/data")

# Thirty-two files open at once, each with four fifths of a part: twice the memory.
fdo_begin $(for i in $(seq 1 4); do echo slot $i open wct "$mnt/spilled$i" write 4000000; done) \
	slot 0 open wct "$mnt/spilled0" pause close
set --
for i in $(seq 32); do
	mkfifo "$tmp/pipe$i"
	dd of="$mnt/w$i" bs=1M iflag=fullblock status=none <"$tmp/pipe$i" 2>>"$tmp/errors" &
	set -- "$@" $!
done
# None gets its last bytes before all have written whole MiB of the first.
sh -c 'i=1; while [ $i -le 32 ]; do eval "exec 3>\"$1/pipe$i\""; (cat "$1/head"; until [ -e "$1/go" ]; do sleep 0.1; done
	tail -c +4000001 "$1/data") >"$1/pipe$i" & i=$((i + 1)); done; wait' sh "$tmp" &
feeder=$!
have_written() { [ "$(figure written_bytes)" -ge $((4 * 4000000 + 32 * (3 << 20))) ]; }
wait_for 60 have_written
: >"$tmp/go"
for pid in "$@"; do wait "$pid" || echo "status $?" >>"$tmp/errors"; done
wait $feeder
expect_eq "" "$(cat "$tmp/errors")" "32 writers end well"
fdo_ends "ok ok ok ok ok ok ok ok ok ok ok ok ok ok ok ok" "files that waited meanwhile end well"
bad=0
for i in $(seq 32); do [ "$(store_cat w$i | cksum)" = "$sum" ] || bad=$((bad + 1)); done
expect_eq 0 $bad "the 32 writers' files are at the store byte for byte"

set --
for i in $(seq 8); do
	cmp "$mnt/w$i" "$tmp/data" >>"$tmp/errors" 2>&1 &
	set -- "$@" $!
done
for pid in "$@"; do wait "$pid" || echo "status $?" >>"$tmp/errors"; done
expect_eq "" "$(cat "$tmp/errors")" "8 readers at once get the bytes that were written"

# The cap, and 48 MiB for connections, threads and the programs' requests; the files have 216 MiB.
peak=$(peak)
if sanitized; then skip "memory= holds for many writers and readers" "a sanitizer needs memory of its own"; else
	check "memory= holds for many writers and readers (from $before to $peak MiB)" \
		test $((peak - before)) -lt 112
fi
check "data that is not sent is spilled" test "$(figure spilled_bytes)" -gt 0
expect_eq "" "$(ls -A "$tmp/spill")" "spilled data is in a file without a name"
umount_ckptfs
expect_eq "" "$(ls -A "$tmp/spill")" "nothing stays of spilled data"

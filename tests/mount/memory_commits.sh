#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# memory_commits.sh: many files are changed and closed at once in little memory. What commits fetch from
# the store before they can send it is under the cap, too: all of them share it, and each ends.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 6
start_store --rate 100M --ttfb 20ms
head -c 4900000 /dev/urandom >"$tmp/data"
for i in $(seq 120); do store_put f$i <"$tmp/data"; done
mkdir "$tmp/spill"
mount_ckptfs memory=64M spill_dir="$tmp/spill" attr_ttl=60s
peak() { awk '/VmHWM/ { print int($2 / 1024) }' "/proc/$mount_pid/status"; }
before=$(peak)

# All have their bytes before any is closed.
set --
for i in $(seq 1 8 120); do
	words=''
	for k in 0 1 2 3 4 5 6 7; do words="$words slot $k open wa $mnt/f$((i + k)) write 4096"; done
	for k in 0 1 2 3 4 5 6 7; do words="$words slot $k close"; done
	# shellcheck disable=SC2086 # words
	"$tools/tests/lib/fdo" $words >"$tmp/end$i" 2>&1 &
	set -- "$@" $!
done
for pid in "$@"; do wait "$pid"; done
expect_eq "600 ok" "$(cat "$tmp"/end* | words)" "120 appends to 4.9 MB end well"
{ cat "$tmp/data"; head -c 4096 /dev/zero | tr '\0' x; } >"$tmp/want"
bad=0
for i in $(seq 120); do store_cat f$i | cmp -s - "$tmp/want" || bad=$((bad + 1)); done
expect_eq 0 $bad "120 files are at the store byte for byte after appends"

# Of each hole, what lies there is fetched: two thousand need no more memory than their bytes.
set -- open w "$mnt/f1"
for i in $(seq 2000); do set -- "$@" pwrite 100 $((i * 2000)); done
expect_eq "2002 ok" "$(fdo "$@" close | words)" "a close after 2,000 small writes ends well"
expect_eq 4904096 "$(objects size f1)" "a file keeps its size after 2,000 small writes"

# The cap, and 48 MiB for connections, threads and the programs' requests.
peak=$(peak)
if sanitized; then skip "memory= holds for commits" "a sanitizer needs memory of its own"; else
	check "memory= holds for commits (from $before to $peak MiB)" test $((peak - before)) -lt 112
fi
umount_ckptfs

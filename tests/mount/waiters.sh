#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# waiters.sh: who waits for memory is told, by whatever frees it, and by ENOSPC only when nothing will.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 9
start_store
mkdir "$tmp/spill"
head -c 160000000 /dev/urandom >"$tmp/data"
head -c 6000000 "$tmp/data" >"$tmp/small"
head -c 10485760 "$tmp/data" >"$tmp/sent"

# One connection and sixty writers: parts are queued, sent and kept while all of them wait.
mount_ckptfs part_size=5M memory=64M connections=1 spill_dir="$tmp/spill" attr_ttl=60s
freeze "$store_pid"
set --
for i in $(seq 60); do
	"$tools/tests/lib/fdo" src "$tmp/small" open +ct "$mnt/w$i" write 6000000 close \
		>"$tmp/end$i" 2>&1 &
	set -- "$@" $!
done
sleep 2 # they wait before anything was sent, and so does the thread that gives memory back
thaw "$store_pid"
for pid in "$@"; do wait "$pid"; done
expect_eq "60 ok ok ok ok" "$(cat "$tmp"/end* | sort | uniq -c | sed 's/^ *//')" \
	"60 writers behind one connection all end"
bad=0
for i in $(seq 1 10 60); do store_cat w$i | cmp -s - "$tmp/small" || bad=$((bad + 1)); done
expect_eq 0 $bad "every tenth of the 60 writers' files is at the store byte for byte"
umount_ckptfs

# Memory and the spill are full of parts that each lack their first bytes, but for 10 MiB that are on
# their way.
holes() {
	for i in $(seq 0 $(($1 - 1))); do echo pwrite 5000000 $((i * 5242880 + 1000)); done
}
mount_ckptfs part_size=5M memory=64M spill=64M spill_dir="$tmp/spill" attr_ttl=0
fdo_begin src "$tmp/data" slot 1 open wct "$mnt/holes" slot 0 open wct "$mnt/sent" pause \
	write 10485760 slot 1 $(holes 22) close slot 0 close
freeze "$store_pid"
: >"$tmp/fdo/go"
# The spill is as long as it may be, and then the writer waits for what is sent.
spilled() { find "/proc/$mount_pid/fd" -lname '*/spill/*' -exec stat -Lc %s {} + 2>/dev/null; }
spill_is_full() { [ "$(spilled)" -ge 66000000 ] 2>/dev/null; }
check "the spill becomes full" wait_for 30 spill_is_full
sleep 1
check "the writer waits while an upload is under way" kill -0 "$fdo_pid"
thaw "$store_pid"
wait "$fdo_pid"
# promise: room.waits
expect_eq "33 ok" "$(words <"$tmp/fdo/out")" "a writer goes on when the upload has given memory back"
same "nothing of the upload is lost" "$tmp/sent" sent

# The same with nothing under way.
rm -f "$mnt/holes" "$mnt/sent"
case $(fdo src "$tmp/data" open wct "$mnt/refused" $(holes 28) close 2>&1) in
*ENOSPC*) ok "a full spill with no upload under way says ENOSPC" ;;
*) not_ok "a full spill with no upload under way says ENOSPC" ;;
esac
expect_log 'refused: a write is refused, since memory is full and the spill file takes nothing'
umount_ckptfs

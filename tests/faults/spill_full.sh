#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# spill_full.sh: the disk under the spill file is full before the spill is: the program is told, what
# it was told of is not published, and the mount goes on.
. "$srcdir/tests/lib/mount.sh"
need_fuse
mkdir "$tmp/disk"
mount -t tmpfs -o size=20m none "$tmp/disk" 2>/dev/null || skip_all "no small disk can be mounted"
at_exit 'umount -l "$tmp/disk"'
plan 8
start_store
head -c 200000000 /dev/urandom >"$tmp/data"
mount_ckptfs part_size=16M memory=64M spill=1G spill_dir="$tmp/disk" attr_ttl=0

# Every part has a hole: none is whole, so none can be sent before the close.
set -- src "$tmp/data" open wct "$mnt/full"
for i in 0 1 2 3 4 5 6 7 8 9 10 11; do set -- "$@" pwrite 15000000 $((i * 16777216 + 1000)); done
fdo=$tools/tests/lib/fdo
said=$(timeout 120 "$fdo" "$@" close 2>&1)
# promise: room.full
case $said in *ENOSPC*) ok "a full disk is told by ENOSPC" ;; *) not_ok "a full disk is told by ENOSPC" ;; esac
diag "$said"

# The same writes as far as they were taken; a write that was taken in part says how many bytes.
set -- src "$tmp/data" open wct "$tmp/taken"
i=0
for word in ${said#ok ok }; do
	case $word in
	ok) set -- "$@" pwrite 15000000 $((i * 16777216 + 1000)) ;;
	[0-9]*) set -- "$@" pwrite "$word" $((i * 16777216 + 1000)) ;;
	*) break ;;
	esac
	i=$((i + 1))
done
"$fdo" "$@" close >/dev/null
case $said in *ok) ok "close takes what the writes before it took" ;; *) not_ok "close takes what the writes before it took" ;; esac
same "what the writes took is published, and nothing else" "$tmp/taken" full
check "no upload is left" wait_for 20 sh -c '[ -z "$("$1" uploads)" ]' sh "$tools/tests/lib/objects"
cp "$tmp/data" "$mnt/next"
expect_eq 0 $? "the next file is written"
same "a file that is written after a full disk is at the store byte for byte" "$tmp/data" next
check "a file that is written after a full disk is read" cmp "$tmp/data" "$mnt/next"
expect_log 'full: (a write is refused, since memory is full and the spill file takes nothing|not published)'
umount_ckptfs

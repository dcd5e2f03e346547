#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# spill_readonly.sh: the directory of the spill file becomes read-only while the bucket is mounted, or its disk takes
# nothing more: what needs it is refused with a line that says why, all else goes on, and so does the spill when it can.
. "$srcdir/tests/lib/mount.sh"
need_fuse
command -v python3 >/dev/null || skip_all "python3 is not installed"
mkdir "$tmp/disk"
mount -t tmpfs -o size=600m none "$tmp/disk" 2>/dev/null || skip_all "no disk can be mounted"
at_exit 'umount -l "$tmp/disk"'
plan 16
start_store
head -c 200000000 /dev/urandom >"$tmp/data"
head -c 1000000 "$tmp/data" >"$tmp/small"
mount_ckptfs part_size=16M memory=64M spill=512M spill_dir="$tmp/disk" attr_ttl=0

# Every part has a hole: none is whole, so none can be sent before the close.
pieces='0 1 2 3 4 5 6 7 8 9 10 11'
for i in $pieces; do
	dd if="$tmp/data" of="$tmp/want" bs=1M iflag=skip_bytes,count_bytes oflag=seek_bytes conv=notrunc \
		skip=$((i * 16777216 + 1000)) seek=$((i * 16777216 + 1000)) count=15000000 status=none
done
with_holes() {
	set -- src "$tmp/data" open +ct "$1"
	for i in $pieces; do set -- "$@" pwrite 15000000 $((i * 16777216 + 1000)); done
	timeout 120 "$tools/tests/lib/fdo" "$@" close
}
times_said() { grep -c "$1" "$mount_log"; }

# refused WHEN TIMES: a file that needs the spill is refused, and others go on; so often was the cause said so far
refused() {
	said=$(with_holes "$mnt/refused")
	# promise: spill.readonly
	case $said in *ENOSPC*) ok "a write that needs a spill file which cannot be written says ENOSPC: $1" ;;
	*) not_ok "a write that needs a spill file which cannot be written says ENOSPC: $1"; diag "$said" ;; esac
	cp "$tmp/data" "$mnt/whole" && cp "$tmp/small" "$mnt/small"
	expect_eq 0 $? "files that need no spill are written: $1"
	same "a large file that needs no spill is published: $1" "$tmp/data" whole
	expect_eq "$2 $2" "$(times_said "error: spill_dir=$tmp/disk: .* make the directory writable") $(times_said 'refused: a write is refused')" \
		"the log says once why, and once of which file a write is refused: $1"
}
# recovered WHEN
recovered() {
	case $(with_holes "$mnt/holes") in *E[A-Z]*) not_ok "what needs the spill is written when the disk takes it: $1" ;;
	*) ok "what needs the spill is written when the disk takes it: $1" ;; esac
	# promise: spill.readonly
	same "what went through the spill file is at the store byte for byte: $1" "$tmp/want" holes
}

cp "$tmp/small" "$mnt/before"
mount -o remount,ro "$tmp/disk" || exit 1
refused "read-only directory" 1
# Who holds the file open and tries again goes on where it was refused.
cat >"$tmp/stubborn.py" <<'END'
import errno, os, sys, time
source, target, refused, pieces = sys.argv[1:]
data = os.open(source, os.O_RDONLY)
out = os.open(target, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
for i in pieces.split():
    at = int(i) * 16777216 + 1000
    end = at + 15000000
    while at < end:
        try:
            at += os.pwrite(out, os.pread(data, min(end - at, 1 << 20), at), at)
        except OSError as e:
            if e.errno != errno.ENOSPC:
                raise
            open(refused, "w").close()
            time.sleep(0.05)
os.close(out)
END
spawn python3 "$tmp/stubborn.py" "$tmp/data" "$mnt/again" "$tmp/was_refused" "$pieces"
wait_for 60 test -e "$tmp/was_refused"
mount -o remount,rw "$tmp/disk"
wait "$spawned"
# promise: spill.readonly
same "a program that was refused goes on without opening its file anew" "$tmp/want" again
recovered "after it was read-only"

# A disk that takes nothing into a file that is there: a limit of the size of files stands for it. The log is below it.
prlimit --pid "$mount_pid" --fsize=1000000:
refused "a file that takes nothing" 2
prlimit --pid "$mount_pid" --fsize=unlimited:
recovered "after it took nothing"
expect_eq 2 "$(times_said 'takes unsent data again')" "the log says that the disk works again"
check "what was closed before is whole" cmp "$tmp/small" "$mnt/before"
expect_log 'error: spill_dir='
expect_log '(refused|again): a write is refused'
umount_ckptfs

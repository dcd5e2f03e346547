#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# parts.sh: the parts of an upload that begins before its file is whole: which numbers they have, that they make the file,
# and what they cost. The store refuses numbers with a gap.
. "$srcdir/tests/lib/mount.sh"
need_fuse
if on_gs; then plan 18; else plan 21; fi
start_store
head -c 120000000 /dev/urandom >"$tmp/data"
head -c 120000000 /dev/urandom >"$tmp/other"

# want FROM OFFSET LENGTH TO: bytes of one file into another of what is wanted
want() { dd if="$1" of="$4" bs=1M iflag=skip_bytes,count_bytes oflag=seek_bytes conv=notrunc skip="$2" seek="$2" count="$3" status=none; }

# changed NAME BASE WORDS...: the system calls on an object of so many bytes of $tmp/data, which then has those of $tmp/want
changed() {
	changed_name=$1
	head -c "$2" "$tmp/data" | store_put object
	shift 2
	requests_mark
	said=$(fdo src "$tmp/other" open w "$mnt/object" "$@" close)
	case $said in
	*E[A-Z]*) not_ok "a change sends no more than it must: $changed_name"; diag "$said" ;;
	*) same "a change sends no more than it must: $changed_name" "$tmp/want" object ;;
	esac
}
grown() { # BASE FROM LENGTH: what an append of $tmp/other makes
	head -c "$1" "$tmp/data" >"$tmp/want"
	want "$tmp/other" "$2" "$3" "$tmp/want"
}

mount_ckptfs part_size=5M attr_ttl=0
grown 20000000 20000000 12000000
# promise: bytes.change
changed "an append of more than a part" 20000000 pwrite 12000000 20000000
grown 4096 4096 40000000
changed "an append to a base smaller than a part" 4096 pwrite 40000000 4096
grown 6000000 3000000 30000000
changed "a rewrite from the middle of the first part on" 6000000 pwrite 30000000 3000000
grown 20000000 30000000 12000000
changed "an append that leaves a hole" 20000000 pwrite 12000000 30000000
grown 60000000 60000000 12000000
want "$tmp/other" 1000 100 "$tmp/want"
want "$tmp/other" 30000000 6000000 "$tmp/want"
want "$tmp/other" 59999990 10 "$tmp/want"
changed "writes below parts that were sent" 60000000 pwrite 12000000 60000000 pwrite 100 1000 pwrite 6000000 30000000 \
	pwrite 10 59999990
grown 60000000 20000000 11000000
want "$tmp/other" 45000000 11000000 "$tmp/want"
want "$tmp/other" 5000000 11000000 "$tmp/want"
changed "three runs in one file" 60000000 pwrite 11000000 20000000 pwrite 11000000 45000000 pwrite 11000000 5000000
grown 30000000 30000000 10000000
want "$tmp/other" 40000000 40000000 "$tmp/want"
changed "parts that were cut away, and written again" 30000000 pwrite 40000000 30000000 ftruncate 40000000 \
	pwrite 40000000 40000000
grown 30000000 20000000 50000000
changed "parts that were cut away below the first of them" 30000000 pwrite 40000000 30000000 ftruncate 20000000 pwrite 50000000 20000000
head -c 30000000 "$tmp/data" >"$tmp/want"
changed "parts that were not cut away in the end" 30000000 pwrite 40000000 30000000 ftruncate 30000000
: >"$tmp/want"
truncate -s 70000000 "$tmp/want"
want "$tmp/other" 60000000 10000000 "$tmp/want"
want "$tmp/other" 20000000 6000000 "$tmp/want"
changed "a new file that is written from its end on" 1 ftruncate 0 pwrite 10000000 60000000 pwrite 6000000 20000000
umount_ckptfs

# 40 MiB to 4 KiB at the defaults
mount_ckptfs attr_ttl=0
grown 4096 4096 41943040
changed "an append to a small file with parts as large as ever" 4096 pwrite 41943040 4096
umount_ckptfs

# What is sent is what changed, and a few of the least parts for each change.
sent() {
	tail -n "+$(($(cat "$requests.mark") + 1))" "$requests" | awk -v put="$(echo PutObject | op_names)" '
		$2 == "UploadPart" || $2 == put { n += $7 } END { print n + 0 }'
}
if on_gs; then skip "fifty small writes and an append cost no more than they must" "nothing but the whole is copied there"; else
	mount_ckptfs attr_ttl=0
	truncate -s 1G "$tmp/large"
	objects put large <"$tmp/large"
	for when in before after; do
		set --
		for i in $(seq 50); do set -- "$@" pwrite 4096 $((i * 20971520 + 12345)); done
		[ $when = before ] && set -- "$@" pwrite 17825792 1073741824 || set -- pwrite 17825792 1073741824 "$@"
		requests_mark
		said=$(fdo open w "$mnt/large" "$@" close)
		n=$(sent)
		case $said in *E[A-Z]*) n="$n, $said" ;; esac
		truncate -s 1G "$tmp/large"
		check "fifty small writes $when an append send no more than they must ($n)" test "$n" -lt 300000000
	done
	peak=$(awk '/VmHWM/ { print int($2 / 1024) }' "/proc/$mount_pid/status")
	if sanitized; then skip "the daemon stays in little memory while it sends parts" "a sanitizer needs memory of its own"; else
		check "the daemon stays in little memory while it sends parts ($peak MiB)" test "$peak" -lt 160
	fi
	umount_ckptfs
fi

# Under pressure the last part of a file goes as short as it is. What the file is cut to, and what follows, is another matter.
mkdir "$tmp/spill"
requests_are_more() { [ "$(requests_of "$1")" -gt "$2" ]; }
mount_ckptfs part_size=16M memory=96M spill_dir="$tmp/spill" attr_ttl=0
files=$(seq 0 17)
set -- src "$tmp/data"
for i in $files; do set -- "$@" slot $i open wct "$mnt/short$i" write 5900000; done
set -- "$@" pause src "$tmp/other"
for i in $files; do
	from=$((4000000 + i * 100000))
	set -- "$@" slot $i ftruncate $from pwrite 14000000 $from close
done
requests_mark
fdo_begin "$@"
check "parts go though they are not full" wait_for 20 requests_are_more UploadPart 0
[ ! -e "$tmp/fdo/paused" ] || : >"$tmp/fdo/go"
wait "$fdo_pid"
expect_eq "129 ok" "$(words <"$tmp/fdo/out")" "files are cut into parts, and written on"
bad=
for i in $files; do
	from=$((4000000 + i * 100000))
	grown $from $from 14000000
	store_cat short$i | cmp -s - "$tmp/want" || bad="$bad $i"
done
expect_eq "" "$bad" "files that are cut into parts are what was written"
umount_ckptfs

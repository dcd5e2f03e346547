#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lost_base.sh: a change whose commit needs bytes of a version that another mount replaced. Nothing of it is published;
# it is kept with the bytes of the version that stands in their place.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 31
start_store
mount_ckptfs part_size=5M attr_ttl=0
head -c 12000000 /dev/urandom >"$tmp/data"
tr '\0-\377' '\1-\377\0' <"$tmp/data" >"$tmp/theirs"
xs() { head -c "$1" /dev/zero | tr '\0' x; }
ctl() { "$builddir/ckptctl" recover -o "endpoint=$CKPTFS_TEST_ENDPOINT" "$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET" "$@"; }
fields() { cut -f 1,3,5 | tr '\t' ' ' | sort; }
# is_kept NAME WHAT: the change of it lost, and $tmp/want is what ckptctl publishes
is_kept() {
	fdo_ends "$3" "$2: close says ESTALE"
	expect_eq 1 "$(grep -c "error: $1: its version .* is kept as" "$mount_log")" "$2: the log says once that it is kept"
	expect_eq "$(store_cat "$1" | sha256sum)" "$(sha256sum <"$mnt/$1")" "$2: the other's object stands"
	ctl --force >"$tmp/out"
	# promise: change.version
	expect_eq "0 published $(stat -c %s "$tmp/want") $1" "$? $(fields <"$tmp/out")" "$2: ckptctl publishes it"
	# promise: change.kept
	same "$2: the other's bytes are where none was written" "$tmp/want" "$1"
	expect_eq " " "$(store_ls .ckptfs/) $(store_uploads)" "$2: nothing is left over"
}

for size in 12000000 3000000; do
	head -c $size "$tmp/data" | store_put tail$size
	fdo_begin open wa "$mnt/tail$size" write 1000 pause close
	head -c $size "$tmp/theirs" | store_put tail$size
	{ head -c $size "$tmp/theirs"; xs 1000; } >"$tmp/want"
	is_kept tail$size "an append to $size bytes" "ok ok ok ESTALE"
	rm "$mnt/tail$size"
done

store_put middle <"$tmp/data"
fdo_begin open w "$mnt/middle" pwrite 3000000 5500000 pwrite 100 0 pause fsync close
store_put middle <"$tmp/theirs"
{ xs 100; head -c 5500000 "$tmp/theirs" | tail -c +101; xs 3000000; tail -c +8500001 "$tmp/theirs"; } >"$tmp/want"
is_kept middle "bytes in the middle, some of them sent" "ok ok ok ok ESTALE ESTALE"

store_put shorter <"$tmp/data"
fdo_begin open wa "$mnt/shorter" write 1000 pause close
printf theirs | store_put shorter
{ printf theirs; head -c 11999994 /dev/zero; xs 1000; } >"$tmp/want"
is_kept shorter "an append to what is shorter now" "ok ok ok ESTALE"

store_put deleted <"$tmp/data"
fdo_begin open wa "$mnt/deleted" write 1000 pause close
objects rm deleted
{ head -c 12000000 /dev/zero; xs 1000; } >"$tmp/want"
fdo_ends "ok ok ok ESTALE" "an append to what was deleted: close says ESTALE"
expect_eq "" "$(store_ls deleted)" "a file that was deleted stays deleted after an append"
ctl --force >"$tmp/out"
# promise: change.kept
same "ckptctl publishes an append with zeros in place of lost bytes" "$tmp/want" deleted

# What would be sent for it is bounded: zeros for what is gone are 70 MB here.
head -c 80000000 /dev/zero | store_put far
fdo_begin open wa "$mnt/far" write 1000 pause close
printf theirs | store_put far
fdo_ends "ok ok ok ESTALE" "an append far behind what stands: close says ESTALE"
check "nothing is kept of an append far behind what stands" grep -q 'far: not published.*Stale' "$mount_log"
# promise: change.large
expect_eq " theirs" "$(wait_for 10 sh -c '[ -z "$("$1" uploads)" ]' sh "$tools/tests/lib/objects"; store_uploads) $(store_cat far)" "nothing is left of an append far behind what stands"
expect_log '(tail[0-9]*|middle|shorter|deleted|far): '
umount_ckptfs

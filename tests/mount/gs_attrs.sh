#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gs_attrs.sh: two mounts change attributes of one file. Each believes what it saw of it before, and neither's change is
# lost.
CKPTFS_TEST_SCHEME=gs
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 39
start_store
mount_ckptfs attr_ttl=600
other=$tmp/other
mkdir "$other"
"$builddir/ckptfs" -f -o "$mount_options" "$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET" "$other" 2>"$tmp/other.log" &
second=$!
at_exit 'umount -l "$other" 2>/dev/null; kill -KILL $second 2>/dev/null'
check "two mounts of one bucket stand" wait_for 60 grep -q " $other fuse.ckptfs " /proc/self/mounts
mode() { objects meta "$1" | sed -n 's/^mode=//p'; }
names() { objects meta "$1" | sed -n 's/^xattr=//p' | grep -oE 'user\.[a-z]+' | xargs; }

# Both have looked at it.
printf bytes >"$mnt/f"
chmod 600 "$mnt/f"
expect_eq "600 600" "$(stat -c %a "$mnt/f") $(stat -c %a "$other/f")" "both mounts know the file"
requests_mark
chmod 640 "$mnt/f"
expect_requests "a change of attributes is one request" SetMeta=1 HeadObject=0
# promise: gs.attrs-both
expect_eq ok "$(fdo setxattr user.theirs "$other/f")" "another mount, which knows the old mode, sets an attribute"
expect_eq "33184 user.theirs" "$(mode f) $(names f)" "both the mode and the attribute are at the store"
expect_eq ok "$(fdo setxattr user.ours "$mnt/f")" "the first mount, which knows no attribute, sets another one"
expect_eq "user.ours user.theirs" "$(names f | tr ' ' '\n' | sort | xargs)" "both attributes are at the store"
requests_mark
chmod 600 "$mnt/f"
expect_requests "the next change is one request again" SetMeta=1 HeadObject=0

# A name that the file was moved to, and a version that was written.
mv "$mnt/f" "$mnt/g"
requests_mark
chmod 640 "$mnt/g"
expect_requests "the attributes of a moved file change by one request" SetMeta=1 HeadObject=0
printf longer >"$mnt/g"
requests_mark
chmod 604 "$mnt/g"
expect_requests "the attributes of a new version change by one request" SetMeta=1 HeadObject=0
head -c 12000000 /dev/zero >"$mnt/large"
requests_mark
chmod 604 "$mnt/large"
expect_requests "the attributes of a file of parts change by one request" SetMeta=1 HeadObject=0
expect_eq "33156 33156" "$(mode g) $(mode large)" "all modes are at the store"

# A directory.
mkdir "$mnt/d"
expect_eq "755 755" "$(stat -c %a "$mnt/d") $(stat -c %a "$other/d")" "both mounts know the directory"
chmod 750 "$mnt/d"
expect_eq ok "$(fdo setxattr user.theirs "$other/d")" "another mount, which knows the old mode, sets an attribute of the directory"
expect_eq "16872 user.theirs" "$(mode d/) $(names d/)" "both changes of the directory are at the store"
objects rm d/
expect_eq ok "$(fdo chmod 0700 "$other/d")" "a directory whose object is gone gets another mode"
expect_eq 16832 "$(mode d/)" "the object of the directory is there again"

# As a listing told them.
objects fill d/f 2
ls -l "$mnt/d" "$other/d" >"$tmp/listed"
chmod 640 "$mnt/d/f00000"
expect_eq ok "$(fdo setxattr user.theirs "$other/d/f00000")" "an attribute is set of a file that was listed before"
expect_eq "33184 user.theirs" "$(mode d/f00000) $(names d/f00000)" "what was changed since the listing stays"

# The reply is lost, and the change is sent again.
set_faults set_meta_lost
expect_eq ok "$(fdo chmod 0600 "$mnt/g")" "the reply to a change of attributes is lost"
set_faults
expect_eq 33152 "$(mode g)" "a change whose reply was lost is at the store"
# A publication has what was changed here, and what another host has changed since the file was opened.
all_kept() {
	[ "$(mode "$1") $(names "$1" | tr ' ' '\n' | sort | xargs)" = "33152 user.before user.ours user.theirs" ]
}
kept() { # NAME SAID CALLS...: another host changes NAME, which these calls write
	file=$1 said=$2
	shift 2
	chmod 644 "$mnt/$file"
	expect_eq "ok 100644" "$(fdo setxattr user.before "$mnt/$file") $(stat -c %f "$other/$file" | sed s/81a4/100644/)" \
		"$file: both mounts know it"
	fdo_begin "$@" pause close
	expect_eq "ok ok ok" "$(fdo chmod 0600 "$other/$file" setxattr user.theirs "$other/$file" setxattr user.ours "$mnt/$file")" \
		"$file: two mounts change attributes while it is written"
	fdo_ends "$said ok ok" "$file: it is published"
	# promise: gs.attrs-both
	check "$file: all changes are at the store" wait_for 20 all_kept "$file"
}
printf bytes >"$mnt/small"
requests_mark
kept small "ok ok" open wa "$mnt/small" write 5
expect_eq 10 "$(objects size small)" "a file whose attributes were changed elsewhere has all bytes"
expect_requests "a publication that meets other attributes is one request more, and a look" PutObject=2
head -c 12000000 /dev/urandom >"$tmp/data"
cp "$tmp/data" "$mnt/parts"
kept parts "ok ok ok" src "$tmp/data" open w "$mnt/parts" pwrite 12000000 0
same "a file of parts whose attributes were changed elsewhere has all bytes" "$tmp/data" parts
cp "$tmp/data" "$mnt/longer"
kept longer "ok ok" open wa "$mnt/longer" write 6000000
expect_eq 18000000 "$(objects size longer)" "a file that was appended to while its attributes were changed has all bytes"
umount "$other"
wait $second
expect_eq 0 $? "the other daemon ends well"
umount_ckptfs

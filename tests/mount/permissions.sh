#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# permissions.sh: with allow_other several users share a mount, and modes, owners and the sticky bit
# say who may do what. A user who is not root may let others in where /etc/fuse.conf says so.
. "${srcdir:?}/tests/lib/namespace.sh"
. "$srcdir/tests/lib/mount.sh"
need_fuse
let_users_mount || :
as() { user=$1; shift; setpriv --reuid "$user" --regid "$user" --clear-groups "$@"; }
as 1001 true 2>/dev/null || skip_all "setpriv cannot change the user"
plan 22
chmod 755 "$tmp"
start_store
mount_ckptfs allow_other
mkdir -m 1777 "$mnt/tmp"
mkdir -m 755 "$mnt/roots"
d=$mnt/tmp

as 1001 sh -c 'umask 022; echo one >"$1/one"; mkdir "$1/d"; ln -s one "$1/l"' sh "$d"
expect_eq "644 1001 1001 755 1001 1001" "$(cd "$d" && stat -c '%a %u %g' one d | xargs)" \
	"what a user makes is the user's"
# promise: attrs.rights
expect_eq one "$(as 1002 cat "$d/one")" "others read what the mode allows"
check_fails "others do not write what the mode denies" as 1002 sh -c 'echo x >>"$1"' sh "$d/one"
check_fails "others do not write into a directory that the mode denies" as 1002 touch "$d/d/x"
check_fails "others do not remove a file under the sticky bit" as 1002 rm -f "$d/one"
check_fails "others do not rename a file under the sticky bit" as 1002 mv "$d/one" "$d/two"
expect_eq one "$(cat "$d/one")" "all files are there after others were refused"
check_fails "chmod is refused to others than the owner" as 1002 chmod 666 "$d/one"
check "the owner may chmod a file" as 1001 chmod 600 "$d/one"
check_fails "others do not read after the owner's chmod" as 1002 cat "$d/one"
expect_eq one "$(cat "$d/one")" "root reads after the owner's chmod"
check_fails "only root gives a file away" as 1001 chown 1002 "$d/one"
check_fails "only root gives a file to a group that the owner is not in" as 1001 chgrp 1002 "$d/one"
check "a user may give it to a group of theirs" \
	setpriv --reuid 1001 --regid 1001 --groups 1001,1005 chgrp 1005 "$d/one"
expect_eq 1005 "$(stat -c %g "$d/one")" "a file shows the group it was given to"
check_fails "times are changed by the owner only" as 1002 touch -d @1 "$d/one"
check_fails "a user does not write where only root may" as 1001 touch "$mnt/roots/x"
chmod 4755 "$d/one"
chown 1001 "$d/one"
chmod 4755 "$d/one"
as 1001 sh -c 'echo more >"$1"' sh "$d/one"
expect_eq 755 "$(stat -c %a "$d/one")" "writing takes the set-user-id bit"
umount_ckptfs

# In a namespace with a fuse.conf of its own nobody, whose name fusermount3 finds, mounts, and user 1002 looks into it.
others_see() {
	printf '%s\n' "$1" >"$tmp/fuse.conf"
	mkdir -p "$tmp/users"
	chown 65534 "$tmp/users"
	unshare --mount --propagation private sh -c '
		as() { user=$1; shift; setpriv --reuid "$user" --regid "$user" --clear-groups "$@"; }
		mount --bind "$1/fuse.conf" /etc/fuse.conf || exit
		shift
		mnt=$1 log=$2 options=$3 ckptfs=$4 url=$5
		as 65534 "$ckptfs" -f -o "$options" "$url" "$mnt" >"$log" 2>&1 &
		for i in $(seq 600); do
			mountpoint -q "$mnt" && break
			kill -0 $! 2>/dev/null || break
			sleep 0.1
		done
		if mountpoint -q "$mnt"; then
			as 1002 ls "$mnt" 2>&1
			as 65534 fusermount3 -u "$mnt"
		else
			echo "no mount"
		fi
		wait $!' sh "$tmp" "$tmp/users" "$tmp/users.log" "endpoint=$CKPTFS_TEST_ENDPOINT,allow_other" "$builddir/ckptfs" \
		"$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET"
}
if [ -u "$(command -v fusermount3)" ] && as 65534 test -x "$builddir/ckptfs" && as 65534 test -w /dev/fuse; then
	expect_eq "no mount" "$(others_see "#user_allow_other")" "a user lets nobody in where fuse.conf does not allow it"
	check "the refusal names what to write into fuse.conf" grep -q user_allow_other "$tmp/users.log"
	expect_eq "roots tmp" "$(others_see user_allow_other | xargs)" "a user lets others in where fuse.conf allows it"
else
	for name in "a user lets nobody in where fuse.conf does not allow it" "the refusal names what to write into fuse.conf" \
		"a user lets others in where fuse.conf allows it"; do
		skip "$name" "users cannot mount here"
	done
fi

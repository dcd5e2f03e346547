#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# other_users.sh: root's ckptctl asks every user's mounts, and takes no user's word for another's mount.
. "${srcdir:?}/tests/lib/namespace.sh"
. "$srcdir/tests/lib/mount.sh"
need_fuse
[ -n "${CKPTFS_IN_NAMESPACE-}" ] || skip_all "no mount namespace can be made here"
plan 12
mount -t tmpfs tmpfs /run
theirs=/run/user/65534/ckptfs
mkdir -p "$theirs"
chown -R 65534 /run/user/65534
chmod 755 "$tmp"
mkdir -m 777 "$tmp/theirs"
start_store
url=$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET
ctl() { timeout 60 "$builddir/ckptctl" "$@"; }

# other_user_says MOUNTPOINT SILENT
other_user_says() {
	rm -f "$theirs"/* "$tmp/theirs/ready"
	spawn python3 "$srcdir/tests/ctl/other_users.py" "$theirs" "$1" "$url" "$CKPTFS_TEST_ENDPOINT" "$2" "$tmp/theirs/ready"
	user=$spawned
	wait_for 60 test -e "$tmp/theirs/ready"
}
other_user_ends() {
	kill "$user"
	wait "$user" 2>/dev/null
}

# Its own mount: root's credentials go to no endpoint that the user names.
mkdir "$tmp/their mount"
mount -i -t fuse.ckptfs -o fd=9,rootmode=40000,user_id=65534,group_id=65534 "$url" "$tmp/their mount" 9<>/dev/fuse
other_user_says "$tmp/their mount" 0
expect_eq "$tmp/their mount serving" "$(ctl list | grep -F "$tmp" | awk -F '\t' '{ print $1, $3 }')" "root sees another user's mount"
check "root asks another user's mount" ctl status "$tmp/their mount"
requests_mark
ctl doctor "$tmp/their mount" >"$tmp/out" 2>"$tmp/err"
expect_eq "1 0 1" "$? $(wc -l <"$tmp/out") $(grep -c 'is of user 65534, .*run this as that user' "$tmp/err")" \
	"root's doctor takes no options of another user's"
expect_requests "no endpoint of another user's is asked with root's credentials"
other_user_ends
umount "$tmp/their mount"

# What is root's mount.
mount_ckptfs part_size=5M
other_user_says "$mnt" 0
fdo_begin open wct "$mnt/written" write 100 pause close
expect_eq "$mnt$(printf '\t')$mount_pid" "$(ctl list | grep -F "$tmp" | cut -f 1,4)" "a mount of root's is shown once, whoever else claims it"
ctl drain --timeout 1s "$mnt" >"$tmp/out" 2>"$tmp/err"
expect_eq "2 1" "$? $(grep -c 'not drained yet' "$tmp/err")" "another user cannot say that root's mount is drained"
ctl drain --undo "$mnt"
fdo_ends "ok ok ok ok" "the file that was open is published"
other_user_ends

# Many that do not answer, beside one that does.
other_user_says "$tmp/none" 40
expect_eq "mount$(printf '\t')$url on $mnt" "$(ctl status "$mnt" | head -n 1)" "mounts that are silent do not hold up the others"
ctl list >"$tmp/out"
expect_eq "0 1" "$? $(grep -cF "$mnt" "$tmp/out")" "mounts are listed beside many that are silent"
other_user_ends

kill -KILL "$mount_pid"
wait "$mount_pid" 2>/dev/null
mount_pid=''
other_user_says "$mnt" 0
ctl status "$mnt" >"$tmp/out" 2>"$tmp/err"
expect_eq "1 0 1" "$? $(wc -l <"$tmp/out") $(grep -c 'its daemon does not reply' "$tmp/err")" "another user cannot stand in for a daemon that died"
expect_eq unreachable "$(ctl list | grep -F "$mnt" | cut -f 3)" "a daemon that died shows as unreachable, whoever claims its mount"
other_user_ends
umount -l "$mnt"
check "nothing of root's is left of it" sh -c '! grep -q " $1 " /proc/self/mounts' sh "$mnt"

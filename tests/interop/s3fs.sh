#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# s3fs.sh: modes, owners, times, links and user attributes mean the same to s3fs and to us.
. "$srcdir/tests/lib/mount.sh"
need_fuse
command -v s3fs >/dev/null || skip_all "s3fs is not installed"
plan 8
start_store
mount_ckptfs
other=$tmp/s3fs
mkdir "$other"
umask 077
printf '%s:%s' "$AWS_ACCESS_KEY_ID" "$AWS_SECRET_ACCESS_KEY" >"$tmp/passwd"
umask 022

mkdir -m 2750 "$mnt/ours"
echo a >"$mnt/ours/file"
chown 12:34 "$mnt/ours/file"
chmod 4751 "$mnt/ours/file"
ln -s file "$mnt/ours/link"
mkfifo "$mnt/ours/fifo"
touch -d @1000000000.25 "$mnt/ours/file"
umount_ckptfs

s3fs "$CKPTFS_TEST_BUCKET" "$other" -f -o passwd_file="$tmp/passwd" -o use_path_request_style \
	-o url="$CKPTFS_TEST_ENDPOINT" -o use_xattr >"$tmp/s3fs.log" 2>&1 &
s3fs_pid=$!
at_exit 'umount -l "$other" 2>/dev/null; kill "$s3fs_pid" 2>/dev/null'
their_mount() { grep -q " $other fuse.s3fs " /proc/self/mounts; }
wait_for 30 their_mount || { cat "$tmp/s3fs.log"; exit 1; }
# promise: attrs.metadata
expect_eq "drwxr-s--- -rwsr-x--x 12 34 2 1000000000" \
	"$(stat -c %A "$other/ours") $(stat -c '%A %u %g %s %Y' "$other/ours/file")" "s3fs reads our modes, owners and times"
expect_eq "file a fifo" "$(readlink "$other/ours/link") $(cat "$other/ours/link") $(stat -c %F "$other/ours/fifo")" \
	"s3fs reads our links and fifos"
mkdir "$other/theirs"
echo b >"$other/theirs/file"
chmod 640 "$other/theirs/file"
chown 56:78 "$other/theirs/file"
ln -s file "$other/theirs/link"
mkfifo "$other/theirs/fifo"
touch -d @1200000000 "$other/theirs/file"
chmod 700 "$other/theirs"
check "the mount of s3fs ends" umount "$other"
wait "$s3fs_pid"

mount_ckptfs
# promise: attrs.metadata
expect_eq "drwx------ -rw-r----- 56 78 2 1200000000" \
	"$(stat -c %A "$mnt/theirs") $(stat -c '%A %u %g %s %Y' "$mnt/theirs/file")" "we read the modes, owners and times of s3fs"
expect_eq "file b fifo" "$(readlink "$mnt/theirs/link") $(cat "$mnt/theirs/link") $(stat -c %F "$mnt/theirs/fifo")" \
	"we read the links and fifos of s3fs"
chmod 600 "$mnt/theirs/file"
expect_eq "600 1200000000 b" "$(stat -c '%a %Y' "$mnt/theirs/file") $(cat "$mnt/theirs/file")" "modes of s3fs's files are changed, and nothing else"
umount_ckptfs

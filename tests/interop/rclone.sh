#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rclone.sh: what rclone writes is read through a mount, and rclone reads what a mount wrote.
. "$srcdir/tests/lib/mount.sh"
need_fuse
command -v rclone >/dev/null || lacks interop "rclone is not installed"
if on_gs; then plan 12; else plan 13; fi
start_store
if on_gs; then
	remote=":gcs,anonymous=true,endpoint='$CKPTFS_TEST_ENDPOINT/storage/v1/':$CKPTFS_TEST_BUCKET"
else
	remote=":s3,provider=Other,env_auth=true,endpoint='$CKPTFS_TEST_ENDPOINT':$CKPTFS_TEST_BUCKET"
fi
rc() {
	timeout 600 rclone --config "" --retries 1 --low-level-retries 1 --s3-chunk-size 5M --s3-upload-cutoff 5M "$@" \
		>"$tmp/said" 2>&1 || { diag "$(cat "$tmp/said")"; return 1; }
}

mkdir -p "$tmp/theirs/below"
head -c 12000001 /dev/urandom >"$tmp/theirs/large"
echo small >"$tmp/theirs/below/small"
touch -d @1100000000 "$tmp/theirs/large"
chmod 751 "$tmp/theirs/large"
check "rclone copies a tree into the bucket" rc copy --metadata "$tmp/theirs" "$remote/theirs"
check "rclone copies an object" rc copyto "$remote/theirs/large" "$remote/theirs/copied"
check "rclone moves an object" rc moveto "$remote/theirs/copied" "$remote/theirs/moved"

mount_ckptfs part_size=5M
check "what rclone uploaded is read" cmp "$tmp/theirs/large" "$mnt/theirs/large"
check "what rclone copied and moved is read" cmp "$tmp/theirs/large" "$mnt/theirs/moved"
expect_eq "below large moved small" "$(ls "$mnt/theirs" "$mnt/theirs/below" | grep -v : | xargs)" "the names that rclone made are there"
if ! on_gs; then
	# promise: attrs.metadata
	expect_eq "751 1100000000" "$(stat -c '%a %Y' "$mnt/theirs/large")" "mode and time are those that rclone keeps"
fi

mkdir -p "$mnt/ours/below"
cp "$tmp/theirs/large" "$mnt/ours/first"
mv "$mnt/ours/first" "$mnt/ours/large"
echo ours >"$mnt/ours/below/small"
echo changed >>"$mnt/theirs/large"
printf x | dd of="$mnt/theirs/moved" bs=1 seek=7 conv=notrunc status=none
cp -r "$mnt/ours" "$tmp/ours"
cp -r "$mnt/theirs" "$tmp/changed"
umount_ckptfs

check "rclone finds our files to be the same" rc check --download "$tmp/ours" "$remote/ours"
check "rclone downloads our files" rc copy "$remote/ours" "$tmp/back"
check "our files are what rclone downloaded" diff -r "$tmp/ours" "$tmp/back"
# promise: attrs.outdated
check "rclone downloads its files that we changed" rc copy "$remote/theirs" "$tmp/again"
check "a file of rclone has what we wrote" diff -r "$tmp/changed" "$tmp/again"

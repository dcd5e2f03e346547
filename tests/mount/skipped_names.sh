#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# skipped_names.sh: objects whose names cannot be files are left out, and counted in one line.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 7
start_store
for key in 'good' 'a//b' 'slash/' 'dir/ok' 'dir/x//y' 'dir/./z' 'dir/../w' "$(printf '%0300d' 0)"; do
	printf bytes | store_put "$key"
done
mount_ckptfs
expect_eq "a dir good slash" "$(cd "$mnt" && echo *)" "what can be a file or directory is listed"
# promise: limits.keys
expect_eq 1 "$(grep -c '/: 1 objects have names' "$mount_log")" "one line counts the rest"
expect_eq "ok x" "$(cd "$mnt/dir" && echo *)" "a directory lists what can be a file or directory"
expect_eq 1 "$(grep -c 'dir/: 2 objects have names' "$mount_log")" "one line counts the rest of a directory"
expect_eq "" "$(ls -A "$mnt/slash")" "a marker with bytes is not a file in its directory"
expect_eq bytes "$(cat "$mnt/dir/ok")" "other files than the skipped ones are read"
expect_log 'objects? have names that no file can have'
umount_ckptfs

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# locks.sh: flock(2) and fcntl(2) locks hold between the processes of a mount.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 9
start_store
printf 0123456789 | store_put file
printf x | store_put other
mount_ckptfs
file=$mnt/file

fdo_begin open r "$file" flock e pause flock u pause close
expect_eq "ok EAGAIN EAGAIN ok" "$(fdo open r "$file" flock e flock s close)" \
	"nobody else gets a file that one process has locked"
# promise: locks.one-mount
expect_eq "ok ok" "$(fdo open r "$mnt/other" flock e)" "another file is free while one is locked"
fdo_next
expect_eq "ok ok" "$(fdo open r "$file" flock e)" "another process gets a file when it is unlocked"
fdo_ends "ok ok ok ok ok ok" "the first process was refused nothing"

fdo_begin open r "$file" lock s 0 5 flock s pause close
expect_eq "ok ok ok" "$(fdo open r "$file" lock s 0 10 flock s)" "shared locks are shared"
expect_eq "ok EAGAIN" "$(fdo open r "$file" flock e)" "a shared lock is not shared with an exclusive one"
kill -KILL "$fdo_pid"; wait "$fdo_pid" 2>/dev/null
expect_eq "ok ok" "$(fdo open r "$file" flock e)" "a process that dies leaves no lock"

fdo_begin open wct "$mnt/new" lock e 0 5 write 10 pause lock u 0 5 close
fdo_ends "ok ok ok ok ok ok" "a file that is written is locked and unlocked"
umount_ckptfs

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# refused.sh: what is not built yet is refused, and neither publishes nor changes anything.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 22
start_store
mount_ckptfs attr_ttl=0
printf 0123456789 >"$mnt/file"
mkdir "$mnt/dir"
requests_mark

expect_eq EPERM "$(fdo link "$mnt/file" "$mnt/other")" "link"
expect_eq EOPNOTSUPP "$(fdo truncate 5 "$mnt/file")" "truncate to less"
expect_eq EOPNOTSUPP "$(fdo truncate 50 "$mnt/file")" "truncate to more"
expect_eq "ok EOPNOTSUPP" "$(fdo open wa "$mnt/file" write 1)" "append to what exists"
expect_eq "ok EOPNOTSUPP" "$(fdo open w "$mnt/file" pwrite 1 0)" "overwrite of what exists"
expect_eq "ok EOPNOTSUPP" "$(fdo open + "$mnt/file" pwrite 1 10)" "write through a read-write descriptor"
expect_eq "ok EOPNOTSUPP" "$(fdo open w "$mnt/file" ftruncate 50)" "ftruncate"
expect_eq "ok EOPNOTSUPP" "$(fdo open w "$mnt/file" fallocate 0 50)" "fallocate"
case $(fdo open + "$mnt/file" mmapw 10) in
"ok ENODEV" | "ok EOPNOTSUPP" | "ok EINVAL" | "ok EACCES") ok "a shared writable mapping" ;;
*) not_ok "a shared writable mapping"; diag "$(fdo open + "$mnt/file" mmapw 10)" ;;
esac
expect_requests "nothing of this changes the store" PutObject=0 DeleteObject=0 CopyObject=0 \
	CreateMultipartUpload=0
expect_eq "0123456789 10" "$(store_cat file) $(stat -c %s "$mnt/file")" "and the file is what it was"

# while a file is written
for off in 0 2000; do
	expect_eq "ok ok EOPNOTSUPP" "$(fdo open wct "$mnt/new" write 1000 pwrite 1 $off)" \
		"a write at $off of a new file of 1000 bytes"
done
check "publishes nothing" wait_for 5 sh -c '[ ! -e "$1/new" ]' sh "$mnt"
expect_eq "ok ok EOPNOTSUPP EOPNOTSUPP EOPNOTSUPP" \
	"$(fdo open wct "$mnt/new" write 1000 pwrite 1 0 write 1 close)" \
	"a refused write makes every later one and close fail"
expect_eq "ok ok EOPNOTSUPP EOPNOTSUPP" "$(fdo open wt "$mnt/file" write 1000 pwrite 1 0 close)" \
	"also where a version stands"
expect_eq "0123456789 ENOENT" "$(store_cat file) $(fdo size "$mnt/new")" "which stays"
expect_eq "ok ok EOPNOTSUPP EOPNOTSUPP ok 1000" "$(fdo open wct "$mnt/cut" write 1000 ftruncate 500 \
	fallocate 0 2000 close size "$mnt/cut")" "a refused ftruncate changes nothing"
fdo_begin open wct "$mnt/new" write 1000 pause write 1 close
expect_eq "EOPNOTSUPP EOPNOTSUPP" "$(fdo open w "$mnt/new" open r "$mnt/new")" \
	"a file that is being written is not opened by another"
fdo_ends "ok ok ok ok ok" "whose writer goes on"
expect_eq 1001 "$(objects size new)" "and publishes"
expect_log '(new|file): not published, the version before it stands: Operation not supported'
umount_ckptfs

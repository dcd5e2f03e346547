#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# write_refused.sh: clocks and credentials are corrected once, then the errno reaches the program and
# the log says why; a store that copies no part says EACCES; what was there stands.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 29
start_store
mount_ckptfs part_size=5M attr_ttl=0
head -c 12000000 /dev/urandom >"$tmp/data"
head -c 1000 "$tmp/data" >"$tmp/small"
no_upload() { [ -z "$(store_uploads)" ]; }
lines() { grep -c "$1" "$mount_log"; }

# The last call fails so; a call before it may, too.
denied() {
	name=$1; shift
	said=$(fdo "$@")
	case $said in
	*EACCES) ok "a refused write says so: $name" ;;
	*) not_ok "a refused write says so: $name"; diag "$said" ;;
	esac
}

for fault in skewed expired; do
	set_faults $fault
	cp "$tmp/small" "$mnt/small.$fault"
	expect_eq 0 $? "$fault: a small file is written"
	cp "$tmp/data" "$mnt/large.$fault"
	expect_eq 0 $? "$fault: a large file is written"
	set_faults
	same "$fault: the small file is at the store byte for byte" "$tmp/small" small.$fault
	same "$fault: the large file is at the store byte for byte" "$tmp/data" large.$fault
	printf old | store_put $fault
	set_faults ${fault}_for_good
	denied "$fault for good: close says EACCES" src "$tmp/data" open wt "$mnt/$fault" write 12000000 close
	expect_eq old "$(store_cat $fault)" "the old version stands"
	check "no upload is left" wait_for 10 no_upload
	# promise: log.errors
	expect_eq 1 "$(lines "store: upload-part .*/$fault:")" "the log has one line of the store"
done
expect_log 'store: upload-part .*(RequestTimeTooSkewed|ExpiredToken)'
expect_log '(skewed|expired): not published, the version before it stands: Permission denied'

store_put appended <"$tmp/data"
set_faults copies_denied
denied "parts that the store does not copy: an append is EACCES" open wa "$mnt/appended" write 100 close
same "the old version stands" "$tmp/data" appended
check "no upload is left" wait_for 20 no_upload
expect_log 'store: upload-part-copy .*AccessDenied'
expect_log 'appended: not published, the version before it stands: Permission denied'

set_faults begin_unknown
requests_mark
expect_eq "ok ok EOPNOTSUPP" "$(fdo open wa "$mnt/appended" write 100 close | xargs)" "a server without uploads of parts: an append says so"
expect_requests "an upload that the server does not know is asked for once" CreateMultipartUpload=1
same "the version before an append that the server does not know stands" "$tmp/data" appended
expect_log 'store: upload-create .*NotImplemented'
expect_log 'appended: not published, the version before it stands: Operation not supported'
umount_ckptfs

# Credentials that may not even abort, for a while.
start_refusing() {
	mount_ckptfs part_size=5M attr_ttl=0
	set_faults aborts_denied
	denied "$1" src "$tmp/data" open wct "$mnt/left" write 12000000 close
	expect_log 'store: (upload-part|upload-abort) .*AccessDenied'
	expect_log 'left: not published'
	expect_log 'left: its unfinished upload could not be aborted: tried again'
}
start_refusing "an upload that can be neither sent nor aborted"
set_faults
expect_eq left "$(store_uploads)" "an upload stays that could not be aborted"
umount_ckptfs
expect_eq "" "$(store_uploads)" "the end aborts an upload that could not be aborted before"

start_refusing "an upload that cannot be aborted to the end"
expect_log 'left: its unfinished upload could not be aborted and stays at the store: .*ckptctl uploads'
umount_ckptfs "the log says which upload stays after the end"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# write_fails.sh: when a write cannot succeed, close fails with an errno and the old version stands.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 22
start_store
mount_ckptfs part_size=5M stall_timeout=1s deadline=2s attr_ttl=0
for key in large small denied gone; do printf old | store_put $key; done
no_upload() { [ -z "$(store_uploads)" ]; }

set_faults complete_200_with_error
expect_eq "ok ok ETIMEDOUT" "$(fdo open wt "$mnt/large" write 12000000 close)" \
	"Complete that always answers 200 with an error: close fails"
# promise: publish.old-stands
expect_eq "old old" "$(store_cat large) $(cat "$mnt/large")" "the old version stands"
check "no upload is left" wait_for 10 no_upload

set_faults parts_denied
# promise: publish.errors, errno.EACCES
expect_eq "ok ok EACCES" "$(fdo open wt "$mnt/large" write 6000000 close)" \
	"parts that are denied: close says EACCES"
expect_eq old "$(store_cat large)" "the old version stands"
check "no upload is left" wait_for 10 no_upload
fdo_begin open wt "$mnt/large" write 6000000 pause slot 1 open r "$mnt/large" fsync close \
	open w "$mnt/large" fsync close slot 0 write 1 close
has_failed() { [ "$(getfattr --only-values --absolute-names -n user.ckptfs.state "$mnt/large")" = failed ]; }
wait_for 10 has_failed
# promise: publish.errors
fdo_ends "ok ok ok ok ok EACCES ok ok EACCES ok ok EACCES EACCES" \
	"a write says so once it is known, and an fsync by whatever descriptor"

set_faults put_faults
expect_eq "ok ok EACCES EACCES" "$(fdo open wt "$mnt/denied" write 100 fsync close)" \
	"a small file that is denied: fsync and close fail"
expect_eq "old old" "$(store_cat denied) $(cat "$mnt/denied")" "the old version stands"


# Two descriptors of one file: what was published by the one is not what failed for the other.
set_faults
fdo_begin open w "$mnt/denied" write 5 fsync pause slot 1 open w "$mnt/denied" write 3 close pause \
	slot 0 write 5 fsync close
set_faults put_faults
fdo_next
set_faults
# promise: publish.errors
fdo_ends "ok ok ok ok ok ok ok EACCES ok ok ok ok ok" "who had no part in a version that failed goes on writing"
expect_eq xxxxxxxxxx "$(store_cat denied)" "what is written after another's version failed is published"

# The kernel writes the pages of all mappings by the descriptor that was mapped last.
head -c 8192 /dev/zero >"$mnt/denied"
set_faults put_faults
expect_eq "EACCES EACCES EACCES ok" "$(python3 - "$mnt/denied" <<-'END'
	import errno, mmap, os, sys
	def said(call, *args):
	    try:
	        call(*args)
	        return 'ok'
	    except OSError as e:
	        return errno.errorcode[e.errno]
	a, b = [os.open(sys.argv[1], os.O_RDWR) for _ in 'ab']
	one, other = [mmap.mmap(fd, 8192) for fd in (a, b)]
	one[:5] = b'first'
	other[4096:4102] = b'second'
	said_b = said(os.fsync, b)
	c = os.open(sys.argv[1], os.O_RDWR)
	msync = said(one.flush)
	one.close()
	print(said_b, msync, said(os.close, a), said(os.close, c))
	END
)" "what one mapping wrote and another's fsync failed to publish: msync and close say so"

set_faults parts_unavailable
said=$(fdo open wt "$mnt/large" write 12000000 close)
expect_eq "ok ok ETIMEDOUT" "$said" "parts that are refused until the deadline: close fails"
expect_eq old "$(store_cat large)" "the old version stands"
set_faults
check "no upload is left" wait_for 10 no_upload

# gone for good, while the file is written and its parts are on their way
fdo_begin open wt "$mnt/gone" write 12000000 pause write 12000000 close
kill -KILL "$store_pid"; wait "$store_pid" 2>/dev/null
fdo_next
# promise: errno.ETIMEDOUT
expect_eq ETIMEDOUT "$(cut -d' ' -f5- "$tmp/fdo/out")" "the store goes away for good: close says ETIMEDOUT"
expect_eq ETIMEDOUT "$(fdo open r "$mnt/small")" "an open of another name says ETIMEDOUT while the store is away"
store_port=${CKPTFS_TEST_ENDPOINT##*:}
start_store
expect_eq "old" "$(store_cat gone)" "the old version stands"
expect_eq "old old" "$(cat "$mnt/gone") $(cat "$mnt/small")" "the mount shows the old version when the store is back"
expect_eq "ok ok ok" "$(fdo open wt "$mnt/gone" write 12000000 close)" "files are written again when the store is back"
expect_eq 12000000 "$(objects size gone)" "files that are written again are published"
# The store may be back before the abort is given up, which comes behind the answer.
expect_log '(not published, the version before it stands|its unfinished upload could not be aborted)'
expect_log 'store: '
umount_ckptfs

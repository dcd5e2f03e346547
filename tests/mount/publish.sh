#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# publish.sh: a file is visible at the store when close or fsync returned, whole, and never before.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 47
start_store
mount_ckptfs part_size=5M attr_ttl=0
head -c 12000000 /dev/urandom >"$tmp/data"
printf old >"$tmp/old"
f=$mnt/file

fdo_begin src "$tmp/data" open wct "$f" write 11000000 pause write 1000000 close
# promise: publish.whole
expect_eq "" "$(store_ls)" "nothing is visible before close"
# promise: publish.local
expect_eq 11000000 "$(stat -c %s "$f")" "the mount shows the growing size before close"
fdo_ends "ok ok ok ok ok ok" "a large file is written and closed"
# promise: publish.durable
same "a large file is visible and whole after close" "$tmp/data" file

store_put file <"$tmp/old"
fdo_begin open wt "$f" write 9000000 pause close
# promise: publish.whole
expect_eq old "$(store_cat file)" "the old version stands until close"
fdo_ends "ok ok ok ok" "a close that replaces a file succeeds"
expect_eq 9000000 "$(objects size file)" "close has replaced the old version"

fdo_begin open wcy "$mnt/osync" write 3000000 pause close
# promise: sync.flags
expect_eq 3000000 "$(objects size osync)" "a write of O_SYNC is published when it returns"
fdo_ends "ok ok ok ok" "a file of O_SYNC is closed"

fdo_begin src "$tmp/data" open wct "$mnt/synced" write 4096 fsync pause write 100 close
head -c 4096 "$tmp/data" >"$tmp/head"
# promise: publish.durable
same "fsync publishes a small file while it stays open" "$tmp/head" synced
fdo_ends "ok ok ok ok ok ok ok" "a small file goes on after fsync"
head -c 4196 "$tmp/data" >"$tmp/head"
same "close publishes what was written after fsync" "$tmp/head" synced

fdo_begin src "$tmp/data" open wct "$mnt/synced2" write 12000000 fsync pause close
same "fsync publishes a large file while it stays open" "$tmp/data" synced2
fdo_ends "ok ok ok ok ok ok" "close has nothing left to do after fsync"
expect_eq "ok ok ok ok ok ok ok" "$(fdo src "$tmp/data" open wct "$mnt/synced3" \
	write 11000000 fsync write 1000000 fsync close)" "a large file goes on after fsync"
# promise: publish.goes-on
same "a large file that went on after fsync has all bytes" "$tmp/data" synced3
expect_eq "ok ok ok ok ok" "$(fdo open wct "$mnt/synced4" write 5 fsync pwrite 1 9 close)" \
	"a write elsewhere after fsync succeeds"
expect_eq "xxxxx....x" "$(store_cat synced4 | tr '\0' .)" "a write elsewhere after fsync leaves a hole"

requests_mark
echo redirected >"$mnt/redirected"
expect_requests "a shell's redirection publishes once, not an empty file first" PutObject=1
expect_eq redirected "$(store_cat redirected)" "a file of a shell's redirection is at the store byte for byte"

(echo one; sh -c 'echo two'; echo three) >"$mnt/children"
# promise: publish.copies
expect_eq "one two three" "$(store_cat children | xargs)" "children that write in turn share a file"

fdo_begin open wct "$mnt/forked" write 5 forkclose dupclose pause write 5 close
# promise: publish.copies
expect_eq "" "$(store_ls forked)" "closes by a child and of a duplicate publish nothing"
fdo_ends "ok ok 0 ok ok ok ok" "a file goes on after a child and a duplicate closed it"
expect_eq 10 "$(objects size forked)" "a file is whole after the last close"

fdo_begin threadopen wct "$mnt/threaded" write 5 forkclose pause write 5 close
expect_eq "" "$(store_ls threaded)" "a child's close publishes nothing when the opening thread is gone"
fdo_ends "ok ok 0 ok ok ok" "a file goes on when the thread that opened it is gone"
expect_eq 10 "$(objects size threaded)" "a file is whole though the thread that opened it is gone"

store_put twice <"$tmp/old"
fdo_begin slot 0 open + "$mnt/twice" slot 1 open wt "$mnt/twice" write 5 close pause slot 0 close
# promise: publish.close
expect_eq xxxxx "$(store_cat twice)" "a close publishes though the name is open in another descriptor"
fdo_ends "ok ok ok ok ok ok ok ok ok" "a second descriptor of a published name ends well"
expect_eq xxxxx "$(store_cat twice)" "a second descriptor of a published name changes nothing"

fdo_begin open wct "$mnt/half" write 1000 pause write 1000 close
touch "$mnt/half"
# promise: publish.close
expect_eq "" "$(store_ls half)" "touch publishes nothing of what another is writing"
# promise: publish.close
expect_eq "ok ok" "$(fdo open a+ "$mnt/half" close)" "an open to append publishes nothing of what another is writing"
expect_eq "" "$(store_ls half)" "an open to append appends nothing"
fdo_ends "ok ok ok ok ok" "a writer closes its file after a touch and an open"
expect_eq 2000 "$(objects size half)" "the writer's close publishes its file"

fdo_begin open wct "$mnt/synced" write 1000 pause write 1000 pause write 1 close
check "sync of a file by its name succeeds" sync "$mnt/synced"
# promise: publish.fsync
expect_eq 1000 "$(objects size synced)" "sync of a file by its name publishes what another wrote"
fdo_next
expect_eq "ok ok ok" "$(fdo open r "$mnt/synced" fsync close)" "fsync of a descriptor that reads succeeds"
# promise: publish.fsync
expect_eq 2000 "$(objects size synced)" "fsync of a descriptor that reads publishes what another wrote"
fdo_ends "ok ok ok ok ok ok ok" "a writer goes on after another's fsync"
expect_eq 2001 "$(objects size synced)" "a writer publishes the rest after another's fsync"

touch "$mnt/touched"
expect_eq 0 "$(objects size touched)" "touch publishes an empty file"
expect_eq "ok ok ok" "$(fdo open wcx "$mnt/excl" write 3 close)" "O_EXCL creates a file"
expect_eq EEXIST "$(fdo open wcx "$mnt/excl")" "O_EXCL refuses a name that exists"
fdo_begin open wcx "$mnt/late" write 3 pause close
store_put late <"$tmp/old"
# promise: create.excl
fdo_ends "ok ok ok EEXIST" "O_EXCL refuses a name that came into being elsewhere meanwhile"
expect_eq old "$(store_cat late)" "a file that O_EXCL found stands"
expect_log 'late: .*(PreconditionFailed|not published)'
umount_ckptfs

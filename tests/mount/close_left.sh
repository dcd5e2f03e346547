#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# close_left.sh: what a close leaves to somebody else is published when that one lets go of it, and not
# when the last of all opens ends.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 9
start_store
mount_ckptfs attr_ttl=60s # the store is stopped for a while

# The writer has the file open once more, and keeps that.
fdo_begin open wct "$mnt/inherited" write 5 forkhold slot 1 open + "$mnt/inherited" slot 0 close pause \
	forkend pause slot 1 close
expect_eq "" "$(store_ls inherited)" "a close publishes nothing while a child holds the file"
fdo_next
expect_eq 5 "$(objects size inherited)" "the end of a child publishes whatever else the writer has open"
fdo_ends "ok ok ok ok ok ok ok ok 0 ok ok ok" "all processes end well after the child's end"

# A write that was under way when its descriptor was closed is followed by no close.
fdo_begin slot 1 open +ct "$mnt/late" slot 0 open w "$mnt/late" write 5 pause latewrite 7 close pause \
	slot 1 close
freeze "$store_pid"
sync "$mnt/late" & # the next write waits for it
syncs=$!
state_is() { [ "$(getfattr --only-values -n user.ckptfs.state "$1" 2>/dev/null)" = "$2" ]; }
check "a file is being synced" wait_for 30 state_is "$mnt/late" uploading
: >"$tmp/fdo/go"
has_begun() { [ "$(wc -w <"$tmp/fdo/out")" -ge 7 ]; }
check "a write waits for the sync of its file" wait_for 30 has_begun
sleep 0.3 # so does the close
thaw "$store_pid"
wait $syncs
has_size() { [ "$(objects size "$1" 2>/dev/null)" = "$2" ]; }
check "a synced write is published though the file is open elsewhere" wait_for 30 has_size late 12
fdo_ends "ok ok ok ok ok ok ok ok ok ok ok" "all processes end well after the sync"

# The end of the mount: what was closed is published, what its writer has open is not.
fdo_begin open wct "$mnt/closed" write 5 slot 1 open wct "$mnt/open" write 5 forkhold slot 0 close pause
kill -TERM "$mount_pid"
expect_log ' open: not published'
mount_ended "SIGTERM ends the daemon"
expect_eq "5 " "$(objects size closed) $(store_ls open)" \
	"what was closed while a child had inherited it is published, what is open is not"
fdo_next

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# unseen.sh: a program that makes a file and lets nobody see its memory, which the mount reads to learn what its open is
# about, holds up no other program and no end.
. "$srcdir/tests/lib/mount.sh"
need_fuse
"$builddir/tests/mount/unseen" || skip_all "userfaultfd() is refused here"
plan 6

# makes NAME: such a program makes it in a directory, and the mount looks at its memory.
makes() {
	for vain in 1 2 3; do ! stat "$mnt/dir/none$1$vain" >/dev/null 2>&1 || return 1; done
	rm -f "$tmp/taken" "$tmp/asked"
	set_rules "$(held_once HeadObject "late$1")" # a step of the path
	"$builddir/tests/mount/unseen" "$mnt/late$1/../dir/$1" "$tmp/taken" "$tmp/asked" 2>"$tmp/unseen.err" &
	unseen_pid=$!
	at_exit "kill -KILL $unseen_pid 2>/dev/null"
	wait_for 60 test -e "$tmp/taken"
	set_faults
	wait_for 60 asked_or_ended
}
looked_at() { [ -e "/proc/$mount_pid/task/$(cat "$tmp/asked")" ]; }
asked_or_ended() { [ -s "$tmp/asked" ] || ! kill -0 "$unseen_pid" 2>/dev/null; }
gone() { ! kill -0 "$unseen_pid" 2>/dev/null; }

start_store
for key in dir/here other/here late1/here late2/here; do printf bytes | store_put "$key"; done
mount_ckptfs attr_ttl=600s stall_timeout=120s
makes 1
check "the mount looks at the memory of a program that lets nobody see it" looked_at
check "others make files meanwhile" timeout 60 sh -c 'echo right >"$1/other/new" && grep -q right "$1/other/new"' sh "$mnt"
kill -KILL "$unseen_pid"
check "a program that lets nobody see its memory can be killed" wait_for 60 gone
check "the directory is free then" timeout 60 sh -c 'echo right >"$1/dir/new" && grep -q right "$1/dir/new"' sh "$mnt"
makes 2
check "the next one is looked at, too" looked_at
kill -TERM "$mount_pid"
mount_ended "the daemon ends while such a program lives"

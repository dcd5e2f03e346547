#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hard_links.sh: hard_links=copy serves programs that take a name by a link and then remove the first one.
. "$srcdir/tests/lib/mount.sh"
need_fuse
if on_gs; then plan 27; else plan 30; fi
start_store
mount_ckptfs
echo x >"$mnt/f"
expect_eq "EPERM EPERM" "$(fdo link "$mnt/f" "$mnt/g" link "$mnt/f" "$mnt/h")" "a link is refused"
expect_eq 1 "$(grep -c 'hard_links=copy' "$mount_log")" "the log names the option once"
umount_ckptfs

# What the mount has seen is not asked for again.
mount_ckptfs hard_links=copy,attr_ttl=60s,part_size=5M
cd "$mnt" || exit 1
echo one >f
chmod 640 f
touch -d @1600000000 f
fdo link f first >/dev/null # the store is asked whether copies mind conditions
requests_mark
expect_eq ok "$(fdo link f g)" "a file is linked"
# promise: links.copy
expect_requests "the store copies a file that is linked" CopyObject=1 PutObject=0
# promise: links.copy
expect_eq "one 640 1600000000 1" "$(cat g) $(stat -c '%a %Y %h' g)" "what is linked has the bytes and attributes"
echo two >>g
# promise: links.copy
expect_eq "one one two" "$(cat f) $(xargs <g)" "what was linked are two files"
expect_eq "EEXIST one two" "$(fdo link f g) $(xargs <g)" "a link does not take a name that is taken"
expect_eq ENOENT "$(fdo open r late)" "a name is free"
echo theirs | store_put late
# promise: links.copy
expect_eq "EEXIST theirs" "$(fdo link f late) $(store_cat late)" "a link does not take a name that another host took"
echo newer | store_put f
expect_eq "ok newer" "$(fdo link f newer) $(cat newer)" "a link of what another host has replaced is of the new version"
rm f
expect_eq newer "$(cat newer)" "a file stays when the first name is removed"

fdo_begin open wct w write 5 pause write 5 close
# promise: links.copy
expect_eq "ok 5" "$(fdo link w w2) $(store_cat w2 | wc -c)" "what is being written is published to be linked"
rm w
fdo_ends "ok ok ok ok ok" "the writer of a file that is linked goes on"
expect_eq "5 " "$(store_cat w2 | wc -c) $(store_ls w | grep -v w2)" "what is written after a link is in no other file"
# As the object_store of Rust copies: Icechunk, Lance, Delta Lake.
echo before >onto
expect_eq "ok ok newer" "$(fdo link newer 'onto#1' rename 'onto#1' onto) $(cat onto)" "a link is renamed over another file"
# As a checkpoint of RocksDB.
mkdir part
fdo link newer part/1 link w2 part/2 >/dev/null
expect_eq "ok newer 5 newer" "$(fdo rename part whole) $(cat whole/1) $(wc -c <whole/2) $(store_cat whole/1)" \
	"a directory of links is renamed"
ln -s newer s
mkfifo p
expect_eq "EPERM EPERM" "$(fdo link s s2 link p p2)" "other than files are refused"

dd if=/dev/urandom of="$tmp/large" bs=1M count=12 status=none
cp "$tmp/large" large
expect_eq ok "$(fdo link large large2)" "a file of several parts is linked"
rm large
same "what is linked from several parts has their bytes" "$tmp/large" large2

for i in 1 2 3 4 5 6; do echo $i >r$i; done
for i in 1 2 3 4 5 6; do fdo link r$i won >"$tmp/won$i" & pids="${pids-} $!"; done
# shellcheck disable=SC2086
wait $pids
expect_eq "5 EEXIST 1 ok" "$(cat "$tmp"/won? | words)" "of links to one name one succeeds"

sh -c 'exec 3>killed; sleep 1000 & echo $! >"$1"; echo x >&3; kill -KILL $$' sh "$tmp/sleeper" 2>"$tmp/killed"
at_exit "kill $(cat "$tmp/sleeper") 2>/dev/null"
expect_eq EIO "$(fdo link killed killed2)" "what a killed writer left is not published to be linked"
kill "$(cat "$tmp/sleeper")"
expect_log 'killed: not published'
wait_for 60 grep -q 'killed: not published' "$mount_log"

set_faults copies_denied
expect_eq "EACCES ENOENT" "$(fdo link newer refused open r refused)" "a copy that is refused makes no name"
set_faults
expect_log 'refused'
printf '[{"op": "%s", "key": "made", "do": "status", "status": 403, "code": "AccessDenied"}]\n' \
	"$(on_gs && echo objects.get || echo HeadObject)" >"$tmp/made.json"
fdo open r made >/dev/null # it is known to be absent
set_faults "$tmp/made.json"
expect_eq ok "$(fdo link newer made)" "a link is made though the store does not tell what it is like"
set_faults
expect_log 'head .*/made'
expect_eq newer "$(cat made)" "a link that the store told nothing about can be read"

# On S3 a file that is renamed after parts of it were sent comes to be by its first name.
if ! on_gs; then
	fdo_begin open wct sent write 12000000 pause close
	fdo rename sent sent.1 >/dev/null
	echo other | store_put sent
	fdo size sent >/dev/null # another file has the first name by now
	cat >"$tmp/sent.json" <<-END
		[{"op": "CopyObject", "key": "sent2", "times": 1, "do": "hold", "until": "reload"},
		{"op": "CopyObject", "key": "sent.1", "times": 1, "do": "delay", "until": "reload"}]
	END
	set_faults "$tmp/sent.json"
	fdo link sent sent2 >"$tmp/linked" &
	linker=$!
	wait_held CopyObject
	objects rm sent
	waited=$(figure lock_waits)
	: >"$tmp/fdo/go"
	comes_or_waits() { is_held CopyObject 2 || [ "$(figure lock_waits)" -gt "$waited" ]; }
	wait_for 20 comes_or_waits
	printf '[{"op": "CopyObject", "key": "sent.1", "times": 1, "do": "delay", "until": "reload"}]\n' >"$tmp/moved.json"
	set_faults "$tmp/moved.json"
	wait $linker
	wait_held CopyObject
	set_faults
	fdo_ends "ok ok ok ok" "a file is published by way of a name that is linked"
	expect_eq "ENOENT ENOENT" "$(cat "$tmp/linked") $(fdo size sent2)" "a link is of no file that passes the name"
	expect_eq 12000000 "$(stat -c %s sent.1)" "a file that passed a name that is linked has its own"
fi
cd /
umount_ckptfs
expect_eq "" "$(store_uploads)$(store_ls .ckptfs/ | grep -v '^\.ckptfs/root$')" "nothing is left at the store"

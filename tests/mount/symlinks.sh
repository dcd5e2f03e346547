#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# symlinks.sh: symbolic links and special files are objects that say what they are, in listings too.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 27
start_store
mount_ckptfs
cd "$mnt" || exit 1
echo content >file
mkdir dir
ln -s file link
ln -s dir to-dir
ln -s nowhere dangling
# promise: attrs.kept
expect_eq "content file symbolic link" "$(cat link) $(readlink link) $(stat -c %F link)" "a link leads to its file"
expect_eq "777 4" "$(stat -c '%a %s' link)" "the size of a link is its target's length"
echo x >to-dir/below
expect_eq x "$(cat dir/below)" "a link to a directory is walked through"
expect_eq "ENOENT nowhere" "$(fdo open r dangling) $(readlink dangling)" "a link to nothing is there all the same"
expect_eq EEXIST "$(fdo symlink x link)" "a link does not take a name that is taken"
# promise: attrs.special
expect_eq "file mode=41471" "$(store_cat link) $(objects meta link | grep ^mode)" \
	"the object holds the target, and the metadata say what it is"
long=$(printf '%04000d' 7)
ln -s "$long" long
expect_eq "$long" "$(readlink long)" "the target of a link may be long"
ln -sfn other link
expect_eq other "$(readlink link)" "a link is replaced by a rename"
rm dangling
expect_eq ENOENT "$(fdo open r dangling)" "a link is removed"

mkfifo fifo
mknod node c 5 1
mknod plain p
python=$(command -v python3)
if [ -n "$python" ]; then
	$python -c 'import socket; socket.socket(socket.AF_UNIX).bind("sock")'
else
	mkfifo sock
fi
# promise: attrs.special
expect_eq "fifo 0" "$(stat -c '%F %s' fifo)" "a fifo is made as a fifo"
(echo through >fifo) & cat fifo >"$tmp/through"
wait $!
expect_eq through "$(cat "$tmp/through")" "a fifo passes bytes"
# promise: attrs.special
expect_eq "character special file 5 1" "$(stat -c '%F %t %T' node)" "a device node has its number"
check "a socket is made as a socket" test -S sock -o -z "$python"
rm plain
types() { (cd "$1" && find . -mindepth 1 -printf '%y %M %p\n' | LC_ALL=C sort -k3); }
types "$mnt" >"$tmp/before"
ls -l "$mnt" >"$tmp/ls-before"
cd /
umount_ckptfs

mount_ckptfs
ls -l "$mnt" >"$tmp/ls-after"
check "another mount shows the same with ls -l" diff "$tmp/ls-before" "$tmp/ls-after"
types "$mnt" >"$tmp/after"
check "another mount shows the same with find" diff "$tmp/before" "$tmp/after"
expect_eq "5 1" "$(stat -c '%t %T' "$mnt/node")" "another mount shows the same with numbers"
umount_ckptfs

# names alone cost no request for each
objects fill many/f 1500
mount_ckptfs attr_ttl=60s # on a slow machine, too, nothing is asked twice
requests_mark
expect_eq 1500 "$(ls "$mnt/many" | wc -l)" "a plain ls lists names"
check "a plain ls asks for few of the files" test "$(requests_of HeadObject)" -le 100
requests_mark
expect_eq 1500 "$(ls -l "$mnt/many" | grep -c '^-rw-r--r--')" "ls -l shows types and modes"
# promise: list.attributes
check "ls -l asks once for each file" test "$(requests_of HeadObject)" -le 1510
umount_ckptfs
mount_ckptfs listed_attrs=assume stall_timeout=120s
requests_mark
expect_eq 1500 "$(ls -l "$mnt/many" | grep -c '^-rw-r--r--')" "listed_attrs=assume lists names"
# promise: list.assume
check "listed_attrs=assume asks for none of the files" test "$(requests_of HeadObject)" -le 5

# The name goes from the store before it goes here.
ln -s aim "$mnt/late"
if [ -z "$python" ]; then skip "a link is read while it gets another name" "python3 reads it"; else
	on_gs && goes=objects.move || goes=DeleteObject
	set_rules "$(held_once $goes late)"
	$python -c 'import os, sys, time
fd = os.open(sys.argv[1], os.O_PATH | os.O_NOFOLLOW)
open(sys.argv[2], "w").close()
end = time.time() + 60
while not os.path.exists(sys.argv[3]) and time.time() < end:
    time.sleep(0.01)
open(sys.argv[4], "w").close()
print(os.readlink("", dir_fd=fd))' "$mnt/late" "$tmp/held" "$tmp/gone" "$tmp/reads" >"$tmp/target" &
	reading=$!
	wait_for 20 test -e "$tmp/held"
	mv "$mnt/late" "$mnt/later" &
	moving=$!
	wait_held $goes
	: >"$tmp/gone"
	wait_for 20 test -e "$tmp/reads"
	wait_begun $reading
	set_faults
	wait $reading $moving
	expect_eq aim "$(cat "$tmp/target")" "a link is read while it gets another name"
fi
umount_ckptfs

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
expect_eq "content file symbolic link" "$(cat link) $(readlink link) $(stat -c %F link)" "a link leads to its file"
expect_eq "777 4" "$(stat -c '%a %s' link)" "its size is its target's"
echo x >to-dir/below
expect_eq x "$(cat dir/below)" "one to a directory is walked through"
expect_eq "ENOENT nowhere" "$(fdo open r dangling) $(readlink dangling)" "one to nothing is there all the same"
expect_eq EEXIST "$(fdo symlink x link)" "a name is taken once"
expect_eq "file mode=41471" "$(store_cat link) $(objects meta link | grep ^mode)" \
	"the object holds the target, and the metadata say what it is"
long=$(printf '%04000d' 7)
ln -s "$long" long
expect_eq "$long" "$(readlink long)" "a target may be long"
ln -sfn other link
expect_eq other "$(readlink link)" "a link is replaced"
rm dangling
expect_eq ENOENT "$(fdo open r dangling)" "and removed"

mkfifo fifo
mknod node c 5 1
mknod plain p
python=$(command -v python3)
if [ -n "$python" ]; then
	$python -c 'import socket; socket.socket(socket.AF_UNIX).bind("sock")'
else
	mkfifo sock
fi
expect_eq "fifo 0" "$(stat -c '%F %s' fifo)" "a fifo is a fifo"
(echo through >fifo) & cat fifo >"$tmp/through"
wait $!
expect_eq through "$(cat "$tmp/through")" "which works"
expect_eq "character special file 5 1" "$(stat -c '%F %t %T' node)" "a node has its number"
check "a socket is one" test -S sock -o -z "$python"
rm plain
types() { (cd "$1" && find . -mindepth 1 -printf '%y %M %p\n' | LC_ALL=C sort -k3); }
types "$mnt" >"$tmp/before"
ls -l "$mnt" >"$tmp/ls-before"
cd /
umount_ckptfs

mount_ckptfs
ls -l "$mnt" >"$tmp/ls-after"
check "ls -l shows the same on another mount" diff "$tmp/ls-before" "$tmp/ls-after"
types "$mnt" >"$tmp/after"
check "and find" diff "$tmp/before" "$tmp/after"
expect_eq "5 1" "$(stat -c '%t %T' "$mnt/node")" "with numbers"
umount_ckptfs

# names alone cost no request for each
objects fill many/f 1500
mount_ckptfs attr_ttl=60s # on a slow machine, too, nothing is asked twice
requests_mark
expect_eq 1500 "$(ls "$mnt/many" | wc -l)" "a plain ls"
check "asks for few of the files" test "$(requests_of HeadObject)" -le 100
requests_mark
expect_eq 1500 "$(ls -l "$mnt/many" | grep -c '^-rw-r--r--')" "ls -l shows types and modes"
check "asking once for each" test "$(requests_of HeadObject)" -le 1510
umount_ckptfs
mount_ckptfs listed_attrs=assume
requests_mark
expect_eq 1500 "$(ls -l "$mnt/many" | grep -c '^-rw-r--r--')" "listed_attrs=assume"
check "asks for none" test "$(requests_of HeadObject)" -le 5

# The name goes from the store before it goes here.
ln -s aim "$mnt/late"
if [ -z "$python" ]; then skip "a link is read while it gets another name" "python3 reads it"; else
	set_faults link_late
	$python -c 'import os, sys, time
fd = os.open(sys.argv[1], os.O_PATH | os.O_NOFOLLOW)
open(sys.argv[2], "w").close()
end = time.time() + 60
while not os.path.exists(sys.argv[3]) and time.time() < end:
    time.sleep(0.01)
print(os.readlink("", dir_fd=fd))' "$mnt/late" "$tmp/held" "$tmp/gone" >"$tmp/target" &
	reading=$!
	wait_for 20 test -e "$tmp/held"
	mv "$mnt/late" "$mnt/later" &
	moving=$!
	left() { [ -z "$(store_ls late | grep -x late)" ]; }
	wait_for 20 left
	: >"$tmp/gone"
	wait $reading $moving
	expect_eq aim "$(cat "$tmp/target")" "a link is read while it gets another name"
fi
umount_ckptfs

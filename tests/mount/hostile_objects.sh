#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hostile_objects.sh: what somebody else put into the bucket gives them no rights here, and forges no line of ours.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 29
chmod 755 "$tmp"
start_store
as_nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
# What is shown of text that must not be taken for ours.
plain() { tr '\033\n' '!|'; }
# In XML names may have no other control character than these.
evil=$(printf 'x\n2030-01-01T00:00:00.000Z ckptfs[1] error: forged\n\302\2332Jy')
shown='x\0122030-01-01T00:00:00.000Z ckptfs\[1\] error: forged\012\302\2332Jy'

# --- keys
for key in '../up' '/root' '.' '..' 'dir/../../up' './here' 'fine'; do printf bytes | store_put "$key"; done
mount_ckptfs allow_other
printf old >"$tmp/up"
expect_eq "dir fine" "$(cd "$mnt" && echo *)" "keys that lead out of the tree are no names in it"
expect_eq "" "$(ls -A "$mnt/dir")" "keys that lead up are no names in a directory"
expect_eq "dir fine" "$(cd "$mnt" && find . -mindepth 1 | sed 's/^..//' | LC_ALL=C sort | xargs)" "a walk of the tree ends"
expect_log 'objects have names that no file can have'
expect_eq old "$(cat "$mnt/../up")" "what is above the mount is the machine's"
expect_eq ENOTEMPTY "$(fdo rmdir "$mnt/dir")" "a directory that has only keys that lead up is not empty"
printf bytes | store_put full/
mkdir "$mnt/moved"
# promise: dir.not-empty
expect_eq "ENOTEMPTY ENOTEMPTY bytes" "$(fdo rmdir "$mnt/full" rename "$mnt/moved" "$mnt/full") $(store_cat full/)" \
	"an object with bytes that is called like a directory stays"

# --- modes, as whoever writes into the bucket sets them
cp "$(command -v id)" "$mnt/id"
chmod 6755 "$mnt/id"
mknod "$mnt/null" c 1 3
mknod "$mnt/disk" b 1 0
chmod 666 "$mnt/null" "$mnt/disk"
ln -s "$tmp/up" "$mnt/link"
umount_ckptfs
objects mark odd mode=zzz uid=-5 gid=99999999999 mtime=never ctime=1e9
objects mark type mode=16877 uid=1001
objects mark high mode=4294967295
mount_ckptfs allow_other
check "the kernel takes neither set-user-ID nor devices from a mount" grep -qE " $mnt fuse.ckptfs [^ ]*\bnosuid,nodev\b" /proc/self/mounts
expect_eq "6755 0" "$(stat -c '%a %u' "$mnt/id")" "a set-user-ID program of root shows its mode"
if as_nobody true 2>/dev/null; then
	expect_eq "65534 65534" "$(as_nobody "$mnt/id" -u) $(as_nobody "$mnt/id" -g)" "a set-user-ID program runs as whoever runs it"
else
	skip "a set-user-ID program runs as whoever runs it" "setpriv cannot change the user"
fi
expect_eq "EACCES EACCES" "$(fdo open r "$mnt/null") $(fdo open r "$mnt/disk")" "nobody opens a device by a node in the mount, not even root"
expect_eq "$tmp/up old" "$(readlink "$mnt/link") $(cat "$mnt/link")" "a symbolic link leads where it says, as on any disk"
expect_eq "regular empty file 644 0" "$(stat -c '%F %a %u' "$mnt/odd")" "attributes that are no numbers are those of a file without any"
expect_eq "regular empty file 755 1001" "$(stat -c '%F %a %u' "$mnt/type")" "a file that says that it is a directory is a file"
expect_eq "regular empty file 644" "$(stat -c '%F %a' "$mnt/high")" "a mode that no file can have is none"
umount_ckptfs

# --- the log
printf bytes | store_put "$evil"
mount_ckptfs part_size=5M "control_dir=$tmp/control"
set_faults read_denied
check_fails "a read is refused" cat "$mnt/$evil"
set_faults
expect_log 'forged'
check "the log names the file" grep -q 'x.2030-01-01.*forged' "$mount_log"
expect_eq 0 "$(grep -c '^2030' "$mount_log")" "a name begins no line of the log"
expect_eq 0 "$(LC_ALL=C grep -c "$(printf '\302\233')" "$mount_log")" "a name sends no escape codes by the log"

# --- ckptctl
ctl() { timeout 60 "$builddir/ckptctl" -o "control_dir=$tmp/control,endpoint=$CKPTFS_TEST_ENDPOINT" "$@" 2>&1; }
url=$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET
# one_line NAME: what is in $tmp/out has the name in one line, escaped
one_line() {
	expect_eq "1 0 0" "$(grep -c -F "$(printf %s "$shown" | sed 's/\\\[/[/; s/\\\]/]/')" "$tmp/out") $(grep -c '^2030' "$tmp/out") $(LC_ALL=C grep -c "$(printf '\302\233')" "$tmp/out")" "$1"
}
fdo_begin open wct "$mnt/$evil" write 100 pause close
ctl files "$mnt" >"$tmp/out"
one_line "ckptctl files shows a name in one line"
fdo_ends "ok ok ok ok" "the file is closed"
ctl status "$mnt" >"$tmp/out"
expect_eq "0 0" "$(grep -c '^2030' "$tmp/out") $(LC_ALL=C grep -c "$(printf '\302\233')" "$tmp/out")" "ckptctl status shows errors in a line each"
umount_ckptfs
head -c 6000000 /dev/zero | objects begin "$evil"
ctl uploads list "$url" >"$tmp/out"
one_line "ckptctl uploads list shows a name in one line"
cat >"$tmp/denied.json" <<'END'
[{"op": "AbortMultipartUpload", "do": "status", "status": 403, "code": "AccessDenied"}]
END
set_faults "$tmp/denied.json"
ctl uploads abort --yes "$url" >"$tmp/out"
one_line "ckptctl uploads abort says in one line what it could not do"
set_faults
head -c 6000000 /dev/zero | objects keep "$evil"
ctl recover "$url" >"$tmp/out"
one_line "ckptctl recover shows a name in one line"
printf bytes | store_put ".ckptfs/unlinked/$evil"
ctl recover --older 0 --discard "$url" >"$tmp/out"
expect_eq "0 0" "$(grep -c '^2030' "$tmp/out") $(LC_ALL=C grep -c "$(printf '\302\233')" "$tmp/out")" "ckptctl recover removes what a name of others lost, in a line"
printf '{"garbage' | store_put ".ckptfs/conflicts/$evil"
ctl recover "$url" >"$tmp/out"
expect_eq "0 0" "$(grep -c '^2030' "$tmp/out") $(LC_ALL=C grep -c "$(printf '\302\233')" "$tmp/out")" "a record that is none is named in a line"

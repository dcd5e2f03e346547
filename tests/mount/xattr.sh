#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# xattr.sh: user attributes of files and directories, and those that tell of an object.
. "$srcdir/tests/lib/mount.sh"
need_fuse
command -v setfattr >/dev/null || skip_all "setfattr is not installed"
plan 35
start_store
mount_ckptfs attr_ttl=60s # the store is stopped for a while: looking at a name must not ask it then
f=$mnt/f
get() { getfattr --only-values -n "$@" 2>/dev/null; }
fails_with() { text=$1; shift; LC_ALL=C "$@" 2>&1 | grep -q "$text"; }

printf 12345 >"$f"
mkdir "$mnt/d"
requests_mark
setfattr -n user.a -v one "$f"
# promise: attrs.request
expect_requests "an attribute is one request, in which no byte moves" SetMeta=1 PutObject=0
setfattr -n user.b -v 0x000102fF "$f"
setfattr -n user.a -v two "$f"
setfattr -n user.d -v dir "$mnt/d"
expect_eq "two dir" "$(get user.a "$f") $(get user.d "$mnt/d")" "attributes are set and replaced"
expect_eq 000102ff "$(get user.b "$f" | od -An -tx1 | tr -d ' \n')" "an attribute may have any bytes"
expect_eq 12345 "$(cat "$f")" "a file stays when its attributes change"
# promise: xattr.state
expect_eq "user.a user.b" "$(getfattr -m - "$f" 2>/dev/null | grep ^user | LC_ALL=C sort | xargs)" \
	"attributes are listed by name, without those that ckptfs tells"
mkdir "$mnt/copies"
ln -s f "$mnt/link"
if command -v rsync >/dev/null; then
	check "rsync copies attributes within the mount, also beside links" rsync -aX "$f" "$mnt/link" "$mnt/copies/"
else
	skip "rsync copies attributes within the mount, also beside links" "rsync is not installed"
fi
mv "$f" "$tmp/moved"
expect_eq "" "$(LC_ALL=C mv "$tmp/moved" "$f" 2>&1)" "mv brings a file back that it took out of the mount"
setfattr -x user.b "$f"
check "an attribute that is removed is gone" fails_with "No such attribute" getfattr -n user.b "$f"
check "a second removal of an attribute fails" fails_with "No such attribute" setfattr -x user.b "$f"
head -c 2100 /dev/zero | tr '\0' v >"$tmp/big"
# promise: xattr.size
check "an attribute that is more than an object can carry is refused" fails_with "No space left" \
	setfattr -n user.big -v "$(cat "$tmp/big")" "$f"
expect_eq two "$(get user.a "$f")" "a refused attribute changes nothing"
requests_mark
for name in trusted.a security.other; do
	# promise: xattr.size
	check "$name is not supported" fails_with "not supported" setfattr -n $name -v x "$f"
done
check "security.capability is not supported by reads either" fails_with "not supported" getfattr -n security.capability "$f"
check "a namespace alone is no name" fails_with "Invalid argument" setfattr -n user. -v x "$f"
check "a namespace alone is no name to read" fails_with "Invalid argument" getfattr -n user. "$f"
expect_requests "an attribute that is not supported asks the store for nothing" HeadObject=0 CopyObject=0
check "what ckptfs tells cannot be set" fails_with "not permitted" \
	setfattr -n user.ckptfs.state -v x "$f"
expect_eq "durable 1" "$(get user.ckptfs.state "$f") $(get user.ckptfs.parts "$f")" "the state of a file is told"
expect_eq "$(objects etag f)" "$(get user.ckptfs.etag "$f")" "the etag of a file is told"
expect_eq "crc32c:$(objects crc f)" "$(get user.ckptfs.checksum "$f")" "the checksum of a file is told"
fdo_begin open wct "$mnt/w" write 5 pause close
setfattr -n user.w -v early "$mnt/w"
expect_eq "dirty early" "$(get user.ckptfs.state "$mnt/w") $(get user.w "$mnt/w")" \
	"a file being written is dirty and takes attributes"
# promise: attrs.writing
fdo_ends "ok ok ok ok" "the publication of a file carries its attributes"
fdo_begin open wct "$mnt/slow" write 5 pause close
state_is() { [ "$(get user.ckptfs.state "$1" 2>/dev/null)" = "$2" ]; }
wait_for 60 state_is "$mnt/slow" dirty # and no request is under way
freeze "$store_pid"
: >"$tmp/fdo/go"
check "a file whose publication is under way is uploading" wait_for 30 state_is "$mnt/slow" uploading
thaw "$store_pid"
fdo_ends "ok ok ok ok" "an upload that was under way ends"
# promise: xattr.state
expect_eq durable "$(get user.ckptfs.state "$mnt/slow")" "a file is durable when its upload has ended"
set_faults put_faults
fdo_begin open wct "$mnt/denied" write 5 fsync pause write 5 close
# promise: xattr.state
expect_eq failed "$(get user.ckptfs.state "$mnt/denied")" "a file whose publication was refused has failed"
fdo_ends "ok ok EACCES ok EACCES EACCES" "the writer of a failed publication knows of it"
set_faults
expect_log 'denied'
ln -s f "$mnt/l"
check "a link carries no attributes" fails_with "not permitted" setfattr -h -n user.a -v x "$mnt/l"
bytes() { get user.ckptfs.stats "$mnt${1:-}" | tr ' ' '\n' | sed -n 's/^written_bytes=//p'; }
before=$(bytes)
printf 1234567 >"$mnt/counted"
# promise: xattr.stats
expect_eq 7 "$(($(bytes /d) - before))" "any directory tells what the mount has counted"
check "a file does not tell what the mount has counted" fails_with "No such attribute" getfattr -n user.ckptfs.stats "$f"
expect_eq user.d "$(getfattr -m - "$mnt/d" 2>/dev/null | grep '^user\.\(d$\|.*stats\)')" "no list names what the mount has counted"
umount_ckptfs

mount_ckptfs
# promise: attrs.kept
expect_eq "two early dir" "$(get user.a "$f") $(get user.w "$mnt/w") $(get user.d "$mnt/d")" \
	"another mount has the attributes"
umount_ckptfs

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# chmod_readers.sh: attributes of a file change while others read it, though the store makes another
# version of it each time; and the object is never brought back by a change that ends late.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 15
start_store --ttfb 20ms
head -c 40000000 /dev/urandom >"$tmp/data"
mount_ckptfs part_size=5M read_size=1M stall_timeout=120s
dd if="$tmp/data" of="$mnt/file" bs=1M status=none
was=$(objects etag file)
forget_pages "$mnt/file"

(dd if="$mnt/file" bs=64k status=none; echo $? >"$tmp/rc") | cksum >"$tmp/sum" &
reader=$!
for mode in 600 640 644 660 664 666; do chmod $mode "$mnt/file"; done
wait $reader
expect_eq "0 $(cksum <"$tmp/data")" "$(cat "$tmp/rc") $(cat "$tmp/sum")" \
	"a file is read whole while its mode changes"
changed=yes
! on_gs || changed=no # there metadata change without the bytes
expect_eq $changed "$([ "$was" = "$(objects etag file)" ] && echo no || echo yes)" "a reader is not disturbed whether or not the version changes"
expect_eq 666 "$(stat -c %a "$mnt/file")" "the file has the last mode that was set"
same "the file has the same bytes after its mode changed" "$tmp/data" file

exec 9<"$mnt/file"
head -c 1000 <&9 >"$tmp/head"
chmod 600 "$mnt/file"
cat <&9 >>"$tmp/head"
exec 9<&-
check "a reader that pauses goes on" cmp "$tmp/data" "$tmp/head"

requests_mark
pids=
for mode in 610 611 612 613 614 620 621 622 623 624; do chmod $mode "$mnt/file" & pids="$pids $!"; done
wait $pids
expect_requests "each of ten changes at once is sent once" SetMeta=10
check "the object has the last of the changes" sh -c 'test "$(stat -c %a "$1")" = "$2"' sh "$mnt/file" \
	"$(objects meta file | sed -n 's/^mode=//p' | awk '{ printf "%o", $1 % 4096 }')"

chmod 611 "$mnt/file" & rm "$mnt/file"
wait $!
expect_eq "" "$(store_ls file)" "a file that is deleted during a change of mode stays away"
printf short >"$mnt/short"
chmod 611 "$mnt/short" & printf longer >"$mnt/short"
wait $!
expect_eq longer "$(store_cat short)" "a file that is rewritten during a change of mode has its new bytes"
mkdir "$mnt/d"
chmod 700 "$mnt/short" & mv "$mnt/short" "$mnt/d/moved"
wait $!
expect_eq "d/ d/moved" "$(store_ls | xargs)" "a file that is renamed during a change of mode has one name"

# Who has the file open to write reads what was published by a reader of its own.
# Where each change makes another version, that which it reads is not there any more.
found_none() { tail -n "+$fault_from" "$requests" | grep -q ' GetObject [^ ]* held .* 412 '; }
cp "$tmp/data" "$mnt/held"
forget_pages "$mnt/held"
exec 9<>"$mnt/held"
set_faults attributes_answered_late
chmod 600 "$mnt/held" &
changing=$!
wait_held SetMeta
cksum <&9 >"$tmp/sum" &
reader=$!
on_gs || wait_for 20 found_none
wait_begun $reader
set_faults
wait $reader
expect_eq "$(cksum <"$tmp/data")" "$(cat "$tmp/sum")" "a file that may be written is read whole while its mode changes"
wait $changing
printf more >&9
chmod 640 "$mnt/held"
exec 9<&-
(cat "$tmp/data"; printf more) >"$tmp/longer"
same "what is written to it then is published" "$tmp/longer" held

printf 1 >"$mnt/elsewhere"
stat "$mnt/elsewhere" >/dev/null
printf 'by another' | store_put elsewhere
chmod 640 "$mnt/elsewhere"
expect_eq "by another mode=33184" "$(store_cat elsewhere) $(objects meta elsewhere | grep ^mode)" \
	"a file that was replaced elsewhere keeps the other's bytes"
objects rm elsewhere
expect_eq ENOENT "$(fdo chmod 0600 "$mnt/elsewhere")" "a file that was deleted elsewhere is not there"
umount_ckptfs

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# unlink.sh: a name that is deleted does not come back, whatever is still being written to it.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 30
start_store
mount_ckptfs part_size=5M attr_ttl=0
head -c 12000000 /dev/urandom >"$tmp/data"
no_upload() { [ -z "$(store_uploads)" ]; }
asked() { [ "$(requests_of "$1")" -gt 0 ]; }

for n in 1000 12000000; do
	fdo_begin open wct "$mnt/f" write $n unlink "$mnt/f" pause write 100 fsync close
	expect_eq ENOENT "$(fdo size "$mnt/f")" "a file unlinked after $n bytes is gone at once"
	# promise: unlink.usable
	fdo_ends "ok ok ok ok ok ok ok" "a writer sees no error when its file is unlinked"
	expect_eq "" "$(store_ls)" "nothing comes back at close"
	check "no upload is left" wait_for 10 no_upload
done

printf old >"$mnt/f"
fdo_begin open wt "$mnt/f" write 12000000 pause close
rm "$mnt/f"
expect_eq "" "$(store_ls)" "unlinking a file that is being replaced deletes the old version too"
echo another >"$mnt/f"
expect_eq "another" "$(store_cat f)" "a new file of an unlinked name is its own"
fdo_ends "ok ok ok ok" "the old writer ends well"
expect_eq "another another" "$(store_cat f) $(cat "$mnt/f")" "an old writer does not touch the new file"

for how in wct/cut w/empty +/full; do
	f=${how#*/}
	: | store_put empty
	printf old | store_put full
	expect_eq "ok ok ok ok ok" "$(fdo open "${how%/*}" "$mnt/$f" unlink "$mnt/$f" ftruncate 0 \
		pwrite 5 0 close)" "$f is unlinked, cut and written"
	expect_eq "" "$(store_ls "$f")" "$f does not come back after it was unlinked"
done
objects rm empty
objects rm full

# What /proc leads to may be opened to be read when the name has gone.
open_file() { for f in "/proc/$fdo_pid/fd"/*; do case $(readlink "$f") in "$mnt/f"*) echo "$f" ;; esac; done; }
fdo_begin src "$tmp/data" open wct "$mnt/f" unlink "$mnt/f" write 5000 pause write 700 close
# promise: unlink.usable
expect_eq "$(head -c 5000 "$tmp/data" | cksum)" "$(cksum <"$(open_file)")" "a file that was only written is read by /proc"
fdo_ends "ok ok ok ok ok ok ok" "a file that was only written ends well"
store_put f <"$tmp/data"
fdo_begin src "$tmp/data" open w "$mnt/f" unlink "$mnt/f" ftruncate 80 pwrite 20 30 pause close
expect_eq "$(head -c 80 "$tmp/data" | cksum)" "$(cksum <"$(open_file)")" "a file that was changed is read by /proc"
fdo_ends "ok ok ok ok ok ok ok" "a file that was changed ends well"
# More of it than is kept of a file that is sent is not kept.
expect_eq "ok ok ok ok ok 100 EBUSY ok" "$(fdo open wct "$mnt/f" unlink "$mnt/f" pwrite 100 0 pwrite 100 40000000 \
	reopen r pread 100 0 pread 100 40000000 close)" "bytes that were not kept are not read as others"
store_put f <"$tmp/data"
fdo_begin open r "$mnt/f" pread 1000 0 pause pread 1000 0 close
expect_eq ok "$(fdo unlink "$mnt/f")" "a file that is read is unlinked"
# promise: unlink.open
fdo_ends "ok 1000 ok 1000 ok" "a reader has its file after it was unlinked"
expect_eq "" "$(store_ls)$(ls -A "$mnt")" "nothing is left of an unlinked file"
umount_ckptfs

mount_ckptfs part_size=5M attr_ttl=60s # so that an open does not look up the name
printf old >"$mnt/raced"
stat "$mnt/raced" >/dev/null
set_faults unlink_late
requests_mark
rm "$mnt/raced" &
removing=$!
wait_for 20 asked DeleteObject
expect_eq ENOENT "$(fdo open w "$mnt/raced")" "what is being deleted is not opened to be written"
wait $removing
expect_eq "0 " "$? $(store_ls)" "a file that is being deleted does not come back"
umount_ckptfs

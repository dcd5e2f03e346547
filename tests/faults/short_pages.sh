#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# short_pages.sh: a store may list fewer keys than were asked for, or none, and go on. Nobody takes such a page for all
# there is, and what is no page of the listing that was asked for is an error.
. "$srcdir/tests/lib/mount.sh"
need_fuse
if on_gs; then plan 11; else plan 15; fi
start_store
mount_ckptfs attr_ttl=0

echo data | store_put implied/below/file
set_faults empty_pages
expect_eq "below" "$(ls "$mnt/implied")" "a directory without an object of its own is found behind empty pages"
set_faults empty_pages
expect_eq "file" "$(ls "$mnt/implied/below")" "a directory is listed behind empty pages"

mkdir "$mnt/full"
echo data | store_put full/file
set_faults short_pages
# promise: dir.not-empty
expect_eq "ENOTEMPTY" "$(fdo rmdir "$mnt/full")" "a directory with its object alone in the first page is not empty"
check "the object of the directory stays" store_cat full/
mkdir "$mnt/taken"
set_faults
echo data | store_put taken/file
set_faults short_pages
expect_eq "ENOTEMPTY" "$(fdo rename "$mnt/implied" "$mnt/taken")" "a rename replaces no directory with a file in the second page"

objects fill many/f 40
set_faults short_pages
expect_eq 40 "$(ls "$mnt/many" | wc -l)" "pages of one entry each are listed to the end"
set_faults
objects fill moving/f 5
set_faults short_pages
requests_mark
expect_eq "ok" "$(fdo rename "$mnt/moving" "$mnt/moved")" "a directory whose pages are short is renamed"
# promise: rename.dir-record
check "the rename of a directory whose pages are short has a record" grep -q 'intent/' "$requests"
expect_eq "5 0" "$(store_ls moved/ | wc -l) $(store_ls moving/ | wc -l)" "all files of a directory whose pages are short are moved"
rm -r "$mnt/many"
expect_eq "" "$(store_ls many/)" "rm -r deletes what short pages list"
set_faults

if ! on_gs; then
	set_faults pages_for_ever
	expect_eq "EIO" "$(fdo rmdir "$mnt/full")" "a page that names itself as the next one ends in an error"
	expect_log 'names itself as the next one'
	set_faults pages_of_others
	expect_eq "EIO" "$(fdo rmdir "$mnt/full")" "keys that were not asked for are an error"
	expect_log 'keys without the prefix'
	set_faults
	check "the object of the directory stays after pages that are none" store_cat full/
	check "the file of the directory stays after pages that are none" store_cat full/file
fi
umount_ckptfs

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# listing_changes.sh: directories that change while they are listed.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 15
start_store --fill big/f=3000
mount_ckptfs

# Lists $mnt/big, says so after the first entries, and goes on when told.
slow_ls() {
	python3 - "$mnt/big" "$tmp/began" "$tmp/on" <<-'END'
		import os, sys, time
		names = []
		for i, e in enumerate(os.scandir(sys.argv[1])):
		    if i == 10:
		        open(sys.argv[2], "w").close()
		        end = time.time() + 60
		        while not os.path.exists(sys.argv[3]) and time.time() < end:
		            time.sleep(0.01)
		    names.append(e.name)
		print("\n".join(names))
	END
}
command -v python3 >/dev/null || skip_all "python3 lists slowly here"
begin() { rm -f "$tmp/began" "$tmp/on"; slow_ls >"$tmp/names" & lister=$!; wait_for 60 test -e "$tmp/began"; }
finish() { : >"$tmp/on"; wait $lister; }

begin
rm "$mnt/big/f00002990" "$mnt/big/f00000500"
echo new >"$mnt/big/g-new"
echo new | store_put big/h-new
mv "$mnt/big/f00002991" "$mnt/big/f00002991-moved"
finish
expect_eq "2997 2997" "$(grep -c '^f0[0-9]*$' "$tmp/names" | sed 's/299[7-9]/2997/') $(grep '^f0[0-9]*$' "$tmp/names" |
	grep -v -e f00002990 -e f00000500 -e f00002991 | sort -u | wc -l)" "what stays is listed once"
expect_eq "ENOENT ENOENT ENOENT" "$(fdo size "$mnt/big/f00002990" size "$mnt/big/f00000500" size "$mnt/big/f00002991")" \
	"what was deleted stays deleted, though it was read ahead"
expect_eq "new 3000" "$(cat "$mnt/big/g-new") $(ls "$mnt/big" | wc -l)" "a listing after deletions has what is left, and no more"

# Everything goes while it is listed.
begin
rm -r "$mnt/big"
finish
expect_eq "ENOENT :" "$(fdo size "$mnt/big") $(ls "$mnt"):$(store_ls)" "a directory is removed while it is listed"

umount_ckptfs
store_stop
start_store --fill big/f=3000
mount_ckptfs
begin
seq 0 9 | while read -r n; do echo again >"$mnt/big/f0000290$n"; done
finish
# promise: list.once
expect_eq "3000 3000" "$(wc -l <"$tmp/names") $(sort -u "$tmp/names" | wc -l)" "what is rewritten is listed once"
expect_eq "6 again" "$(stat -c %s "$mnt/big/f00002905") $(cat "$mnt/big/f00002905")" "a file that is rewritten is listed with its new size"

# A file that is written when the listing begins comes at its end.
fdo_begin open wct "$mnt/big/f-late" write 10 pause close slot 1 open p "$mnt/big/f-late" pause reopen r
begin
fdo_next
printf theirs | store_put big/f-late
fdo_ends "ok ok ok ok ok ok ok ESTALE" "the mount loses a file that is published while its directory is listed"
finish
# promise: list.once
expect_eq 1 "$(grep -c f-late "$tmp/names")" "a file that was published while the directory was listed is listed"
rm "$mnt/big/f-late"
fdo_begin open wct "$mnt/unpublished" write 10 pause close
begin
fdo rename "$mnt/unpublished" "$mnt/big/f00000003" >/dev/null
finish
# promise: list.once
expect_eq "3000 3000" "$(wc -l <"$tmp/names") $(sort -u "$tmp/names" | wc -l)" \
	"a name that an unpublished file takes while it is listed is listed once"
fdo_ends "ok ok ok ok" "a file that took a listed name is published"

# Pages end with a directory, which is not to be listed twice.
for name in f00000999 f00001999; do
	rm "$mnt/big/$name"
	printf x | store_put "big/$name/below"
done
begin
mv "$mnt/big" "$mnt/moved"
finish
expect_eq "3000 3000" "$(wc -l <"$tmp/names") $(sort -u "$tmp/names" | wc -l)" "a listing goes on over a file that gets another name"

printf x | store_put imp/only
rm "$mnt/imp/only"
expect_eq "0 imp" "$(ls -A "$mnt/imp" | wc -l) $(ls "$mnt" | grep imp)" "a directory outlasts its last file"
mkdir "$mnt/up" "$mnt/up/down"
expect_eq "$(stat -c '%i' "$mnt/up" "$mnt" | xargs)" "$(ls -ai "$mnt/up" | awk '$2 == "." || $2 == ".." { print $1 }' | xargs)" \
	"dots have the numbers of their directories"
umount_ckptfs

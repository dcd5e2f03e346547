#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# listing.sh: a directory of many pages is listed whole, also while files come and go.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 17
start_store --fill many/f=9900
mount_ckptfs attr_ttl=60s,listed_attrs=assume
objects fill many/h 100
requests_mark
{ seq -f 'f%08g' 0 9899; seq -f 'h%05g' 0 99; } >"$tmp/want"
ls "$mnt/many" >"$tmp/got"
check "10,000 entries are listed, each once" cmp "$tmp/want" "$tmp/got"
check "a listing asks for a page of 1,000 a request" test "$(requests_of ListObjectsV2)" -le 12
requests_mark
expect_eq "10000 190" "$(find "$mnt/many" -type f -printf '%s\n' | awk '{ n += $1 } END { print NR, n }')" \
	"a listing tells sizes"
expect_eq 0 "$(requests_of HeadObject)" "sizes after a listing ask for nothing"
expect_eq "99 0 " "$(cat "$mnt/many/h00099") $(cat "$mnt/many/h00000") $(cat "$mnt/many/f00009899")" "listed files are read"

for i in $(seq 200); do echo "$i" >"$mnt/many/g$i"; done &
for i in 1 2 3; do ls "$mnt/many" | grep -c '^[fh]'; done | sort -u >"$tmp/counts"
wait $!
expect_eq 10000 "$(cat "$tmp/counts")" "no entry is lost while files are created"
expect_eq 10200 "$(ls "$mnt/many" | wc -l)" "new files are listed"

fdo_begin open wct "$mnt/growing" write 1000 pause write 234 pause close
expect_eq "1000 growing" "$(cd "$mnt" && stat -c '%s %n' g*)" "an unpublished file is listed"
fdo_next
expect_eq "1234 growing" "$(cd "$mnt" && stat -c '%s %n' g*)" "an unpublished file is listed with its growing size"
fdo_ends "ok ok ok ok ok ok" "an unpublished file that was listed is published"

printf object | store_put both
printf below | store_put both/below
printf between | store_put both-
# promise: names.both
expect_eq "both both- growing many:object" \
	"$(cd "$mnt" && echo *):$(cat "$mnt/both")" "object and prefix of one name show the file"
umount_ckptfs

# The last entry of a page is one that is shown later, and the next page is not here yet.
store_stop
start_store --ttfb 200ms --fill turn/f=4500
objects rm turn/f00000999
mount_ckptfs attr_ttl=0
fdo_begin open wct "$mnt/turn/f00000999" write 1 pause close
printf elsewhere | store_put turn/f00000999
expect_eq 4500 "$(ls "$mnt/turn" | sort -u | wc -l)" "a listing does not end where a file is being written"
fdo_ends "ok ok ok ok" "a file that is being written goes on after a listing"

first_page_came() { [ "$(requests_of ListObjectsV2)" -ge 2 ]; } # after that of the lookup
fdo_begin open wct "$mnt/turn/a" write 1 pause close pause
requests_mark
ls "$mnt/turn" >"$tmp/got" &
listing=$!
wait_for 10 first_page_came
fdo_next
wait $listing
expect_eq a "$(grep a "$tmp/got")" "a file that is published while its directory is listed is there"
fdo_ends "ok ok ok ok ok" "a file that is closed while its directory is listed is published"
umount_ckptfs

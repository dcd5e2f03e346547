#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gs_refused.sh: on Google Cloud Storage, tokens that run out while a file is sent are renewed once; a
# composition or a move that is refused says EACCES; and what was there stands, by its name.
CKPTFS_TEST_SCHEME=gs
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 18
start_store
mount_ckptfs part_size=5M attr_ttl=0
head -c 12000000 /dev/urandom >"$tmp/data"
head -c 1000 "$tmp/data" >"$tmp/small"
no_upload() { [ -z "$(store_uploads)" ]; }

set_faults gs_expired
cp "$tmp/small" "$mnt/small"
expect_eq 0 $? "a token that runs out: a small file is written"
cp "$tmp/data" "$mnt/large"
expect_eq 0 $? "a token that runs out: a large file is written"
expect_eq "ok ok ok" "$(fdo open wa "$mnt/large" write 10 close)" "a token that runs out: a file is appended to"
set_faults
{ cat "$tmp/data"; printf xxxxxxxxxx; } >"$tmp/longer"
same "the small file is at the store byte for byte after its token was renewed" "$tmp/small" small
same "the large file is at the store byte for byte after its token was renewed" "$tmp/longer" large
printf old | store_put standing
set_faults gs_expired_for_good
case $(fdo src "$tmp/data" open wt "$mnt/standing" write 12000000 close) in
*EACCES) ok "a token that is not renewed: close says EACCES" ;;
*) not_ok "a token that is not renewed: close says EACCES" ;;
esac
expect_eq old "$(store_cat standing)" "the old version stands"
check "no upload is left" wait_for 10 no_upload
expect_eq 1 "$(grep -c 'store: upload-part .*/standing' "$mount_log")" "the log has one line of the store"
expect_log 'store: upload-part .* 401'
expect_log 'standing: not published, the version before it stands: Permission denied'

set_faults gs_moves_denied
expect_eq "ok ok EACCES" "$(fdo open wa "$mnt/large" write 10 close)" "a composition that is refused: an append is EACCES"
same "the old version stands" "$tmp/longer" large
expect_eq "EACCES EACCES" "$(fdo rename "$mnt/small" "$mnt/large" rename "$mnt/small" "$mnt/new")" "a rename fails when the store refuses the move"
expect_eq "large small standing" "$(store_ls | xargs)" "all names are what they were after a refused move"
same "all files have their bytes after a refused move" "$tmp/longer" large
expect_eq "ok ok ok EACCES" "$(fdo src "$tmp/data" open wct "$mnt/sent" write 12000000 close)" \
	"an upload that cannot get its name: close says EACCES"
names_are() { [ "$(store_ls | xargs)" = "$1" ]; }
wait_for 30 names_are "large small standing"
expect_eq "large small standing" "$(store_ls | xargs)" "nothing is published of an upload that cannot get its name"
check "no upload is left of a file that cannot get its name" wait_for 10 no_upload
expect_log 'large: not published, the version before it stands: Permission denied'
expect_log 'sent: not published, .*Permission denied'
expect_log 'store: (rename|upload-complete) .* 403 forbidden'
umount_ckptfs

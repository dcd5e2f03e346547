#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rename_dir.sh: a rename of a directory that fails or is cut off loses nothing, and can be finished.
. "$srcdir/tests/lib/mount.sh"
need_fuse
if on_gs; then plan 22; else plan 27; fi
start_store
mount_ckptfs attr_ttl=0
objects fill d/f 100
url=$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET
recover() { "$builddir/ckptctl" recover "$url" -o endpoint="$CKPTFS_TEST_ENDPOINT"; }
# Whether all 100 are below $1 and hold what they should.
all_in() { [ "$(store_ls "$1/" | grep -c /f)" -eq 100 ] && [ "$(store_cat "$1/f00042")" = 42 ]; }

if on_gs; then set_faults gs_move_hiccups; else set_faults rename_hiccups; fi
expect_eq "ok" "$(fdo rename "$mnt/d" "$mnt/e")" "replies that fail or are lost are tried again"
check "everything is there" all_in e
set_faults
fdo rename "$mnt/e" "$mnt/d" >/dev/null

set_faults rename_some_denied
expect_eq "EACCES" "$(fdo rename "$mnt/d" "$mnt/e")" "a copy that is refused"
check "all is where it was" all_in d
expect_eq "" "$(store_ls e)$(store_ls .ckptfs)" "and nothing else"
expect_eq "d" "$(ls "$mnt")" "in the mount too"
expect_log 'store: (copy|rename) .* 403 AccessDenied'

if on_gs; then
	set_faults rename_rest_denied
	expect_eq "EACCES" "$(fdo rename "$mnt/d" "$mnt/e")" "what is refused from here on, the way back, too"
	set_faults
	expect_eq 100 "$({ store_ls d/; store_ls e/; } | wc -l)" "nothing is lost"
	expect_eq "1 d e" "$(store_ls .ckptfs/intent/ | wc -l) $(ls "$mnt" | xargs)" "a record is left, and the mount shows it so"
	expect_log 'rename d/ to e/: not finished .* ckptctl recover'
	umount_ckptfs
	check "ckptctl finishes it" recover
	check "all is at the new name" all_in e
	expect_eq "" "$(store_ls d)$(store_ls .ckptfs)" "and nothing else"
else # where it is copied, and deleted then
	set_faults rename_batch_denied
	expect_eq "EACCES" "$(fdo rename "$mnt/d" "$mnt/e")" "a batch that is not deleted"
	set_faults
	check "all is at the new name" all_in e
	check "and at the old one" all_in d
	expect_eq 1 "$(store_ls .ckptfs/intent/ | wc -l)" "a record is left"
	expect_eq "d e 42 42" "$(ls "$mnt" | xargs) $(cat "$mnt/e/f00042") $(cat "$mnt/d/f00042")" "the mount shows it so"
	expect_log 'store: delete-many .* AccessDenied'
	expect_log 'rename d/ to e/: not finished .* ckptctl recover'
	umount_ckptfs
	mount_ckptfs attr_ttl=0
	printf new | store_put d/f00007
	printf added | store_put d/added
	check "ckptctl finishes it" recover
	expect_eq "d/added d/f00007" "$(store_ls d/ | xargs)" "but for what came after it"
	check "all is at the new name" all_in e
	expect_eq "" "$(store_ls .ckptfs)" "no record is left"
	expect_log "directory's rename was not finished.* ckptctl recover $url"
	umount_ckptfs
	objects rm d/added
	objects rm d/f00007
fi

# The daemon dies in the middle.
mount_ckptfs attr_ttl=0
set_faults rename_slow
fdo rename "$mnt/e" "$mnt/k" >"$tmp/said" 2>&1 &
mover=$!
some_copied() { [ "$(store_ls k/ | wc -l)" -ge 10 ]; }
check "a rename is under way" wait_for 60 some_copied
kill -KILL "$mount_pid"
wait "$mount_pid" 2>/dev/null
umount -l "$mnt"
wait $mover
set_faults
on_gs || check "all is where it was" all_in e
expect_eq 1 "$(store_ls .ckptfs/intent/ | wc -l)" "a record is left"
printf mine | store_put k/f00001
: >"$mount_log"
check "ckptctl finishes it" recover
expect_eq 100 "$(store_ls k/ | wc -l)" "all is at the new name"
expect_eq "42 mine" "$(store_cat k/f00042) $(store_cat k/f00001)" "with what was written there since"
expect_eq "" "$(store_ls e/)$(store_ls .ckptfs)" "and nothing else"
mount_ckptfs
expect_eq "k 100" "$(ls "$mnt") $(ls "$mnt/k" | wc -l)" "the mount shows it so"
umount_ckptfs
printf 'no record' | store_put .ckptfs/intent/0123456789abcdef
check "what is no record is refused" sh -c "! $builddir/ckptctl recover $url -o endpoint=$CKPTFS_TEST_ENDPOINT 2>&1"

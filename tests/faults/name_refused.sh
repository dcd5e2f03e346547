#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# name_refused.sh: where a store refuses to unlink or to rename, who writes and who reads by
# these names is not harmed.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 20
start_store
mount_ckptfs attr_ttl=0 part_size=5M
none_aside() { [ -z "$(store_ls .ckptfs)" ]; }
head -c 26000000 /dev/urandom >"$tmp/data"

# refused NAME FAULTS WANT COMMAND...: while an append to `file`, a new file and a file that is sent in parts are
# open, and `file` is read. Then all is closed.
refused() {
	name=$1 faults=$2 want=$3
	shift 3
	fdo src "$tmp/data" open wct "$mnt/file" write 1000 close open wct "$mnt/read" write 9000 close >"$tmp/made"
	for name_of in file new sent read; do store_put source.$name_of </dev/null; done
	fdo_begin src "$tmp/data" open wa "$mnt/file" write 1000 slot 1 open wct "$mnt/new" write 500 \
		slot 2 open wct "$mnt/sent" write 20000000 pause slot 0 write 100 fsync close slot 1 write 1 close slot 2 write 1 close
	exec 3<"$mnt/read"
	set_faults $faults
	expect_eq "$want $want $want $want" "$("$@" | xargs)" "a refused rename says so: $name"
	set_faults
	fdo_ends "ok ok ok ok ok ok ok ok ok ok ok ok ok ok ok ok ok ok ok ok" "writers go on after a refused rename"
	expect_eq "2100 501 20000001" "$(objects size file) $(objects size new) $(objects size sent)" \
		"writers publish at their own names after a refused rename"
	store_cat sent | cmp -n 20000000 - "$tmp/data" >"$tmp/same" 2>&1
	expect_eq "0 " "$? $(cat "$tmp/same")" "published files have their bytes after a refused rename"
	forget_pages "$mnt/read"
	cmp -n 9000 /dev/fd/3 "$tmp/data" >"$tmp/same" 2>&1
	expect_eq "0 " "$? $(cat "$tmp/same")" "readers read on after a refused rename"
	exec 3<&-
	check "nothing is left beside the names of a refused rename" wait_for 20 none_aside
	rm -f "$mnt"/*
}
unlink_all() { for victim in file new sent read; do fdo unlink "$mnt/$victim"; done; }
rename_all() { for victim in file new sent read; do fdo rename "$mnt/source.$victim" "$mnt/$victim"; done; }
gone_all() {
	ls "$mnt" >/dev/null
	for victim in file new sent read; do objects rm source.$victim; done
	rename_all
}
if on_gs; then refuses_renames=name_moves_denied; else refuses_renames=name_copies_denied; fi
refused "an unlink that is refused" name_deletes_denied EACCES unlink_all
refused "a rename over them that is refused" $refuses_renames EACCES rename_all
refused "a rename over them of what was deleted elsewhere" '' ENOENT gone_all
expect_eq "" "$(store_ls)" "all files can be deleted after a refused rename"
expect_log 'store: (delete|copy|rename) .* 403 AccessDenied'
umount_ckptfs "the daemon warns of nothing else"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# odd_names.sh: names with characters that XML does not have, in which S3 speaks: "The XML you provided was not
# well-formed" (MalformedXML) is what it replies to a DeleteObjects with one of them, and others it writes as "&#x1;".
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 14
start_store
mount_ckptfs part_size=5M attr_ttl=0
head -c 12000000 /dev/urandom >"$tmp/data"

for odd in U+0001 U+FFFE; do
	[ $odd = U+0001 ] && n=$(printf 'a\001b') || n=$(printf 'a\357\277\276b')
	mkdir "$mnt/d"
	printf small >"$mnt/d/s$n"
	cp "$tmp/data" "$mnt/d/l$n"
	expect_eq 0 $? "a large file with $odd in its name is closed"
	same "a large file with $odd in its name is there" "$tmp/data" "d/l$n"
	printf other >"$mnt/d/other"
	expect_eq ok "$(fdo rename "$mnt/d" "$mnt/e")" "a directory with $odd in names is renamed"
	expect_eq "l$n other s$n" "$(ls "$mnt/e" | xargs)" "a renamed directory has all names with $odd"
	expect_eq "small" "$(store_cat "e/s$n")" "a renamed file with $odd in its name has its bytes"
	rm -r "$mnt/e"
	expect_eq "" "$(store_ls)$(store_uploads)" "nothing is left of $odd"
done
umount_ckptfs
expect_eq 0 "$(grep -c 'does not honor' "$mount_log.old")" "such names change nothing for other directories"

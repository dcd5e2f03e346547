#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# names.sh: any name a file can have is listed, written, read and deleted.
. "$srcdir/tests/lib/mount.sh"
need_fuse
long=$(printf '%0255d' 0)
lines='new
line'
# "Object names cannot contain Carriage Return or Line Feed characters" (Cloud Storage, Object name requirements).
! on_gs || lines=$(printf 'new\tline')
set -- 'a space' ' leading' 'trailing ' 'grüße-日本-🙂' '100%' '%41' 'a+b' 'a&b=c?d#e' "$lines" "it's \"quoted\"" '<tag>' 'back\slash' '$(echo no)' '-rf' '~' ';' '*' '[x]' '...' "$long"
plan $(($# * 6 + 13))
start_store
mount_ckptfs attr_ttl=0

for n; do
	shown=$(printf %s "$n" | tr '\n' '_' | cut -c 1-30)
	printf %s "$n" >"$mnt/$n"
	expect_eq 0 $? "'$shown' is written"
	expect_eq "$n" "$(store_cat "$n")" "'$shown' is at the store by that name"
	expect_eq "$n" "$(cat "$mnt/$n")" "'$shown' can be read"
	expect_eq "$n" "$(find "$mnt" -mindepth 1 -printf %P)" \
		"'$shown' is listed"
	rm -- "$mnt/$n"
	expect_eq 0 $? "'$shown' is deleted"
	check "'$shown' is gone after its end" sh -c '[ ! -e "$1" ]' sh "$mnt/$n"
done
expect_eq "" "$(store_ls)$(ls -A "$mnt")" "nothing is left"
# promise: names.limits
expect_eq ENAMETOOLONG "$(fdo open wct "$mnt/0$long")" "256 bytes are too many"
expect_eq ENAMETOOLONG "$(fdo size "$mnt/0$long")" "256 bytes are too many to be asked for, too"
# promise: gs.names
if on_gs; then want=EILSEQ; else want=ok; fi
expect_eq "$want $want" "$(fdo open wct "$mnt/$(printf 'a\rb')") $(fdo mkdir "$mnt/$(printf 'a\nb')")" "a name of two lines is what the store has"
mkdir -p "$mnt/$long/$long/$long/$long"
expect_eq 0 $? "directories may be deep"
expect_eq ENAMETOOLONG "$(fdo open wct "$mnt/$long/$long/$long/$long/$long")" \
	"directories may be as deep as a key reaches"

# A file that is not published has no key yet. It would have 1,024 bytes.
cd "$mnt/$long/$long/$long" && mkdir d
fdo_begin open wct "d/$(printf '%0250d' 1)" write 10 pause close
# promise: names.limits
expect_eq "ENAMETOOLONG ok" "$(fdo rename d 12345 rename d 1234)" "a directory gets no name by which a file in it has too long a one"
fdo_ends "ok ok ok ok" "a file is published by the longest name that it can have"
cd /
umount_ckptfs

# The prefix of the URL counts.
use_mount below
start_store
whole=$CKPTFS_TEST_BUCKET
CKPTFS_TEST_BUCKET=$whole/$long/$long/$long mount_ckptfs
CKPTFS_TEST_BUCKET=$whole
name=$(printf '%0255d' 1)
cd "$mnt" && mkdir "$name" d && echo x >short && echo x >"d/${name#??}"
# promise: names.limits
expect_eq "ENAMETOOLONG ENAMETOOLONG ENAMETOOLONG" \
	"$(fdo open wct "$name/1" mkdir "$name/1" symlink x "$name/1")" "what is made below a prefix has no key that is too long"
expect_eq "ENAMETOOLONG ENAMETOOLONG" "$(fdo rename short "$name/1" rename d "$name")" \
	"what is renamed below a prefix gets no key that is too long"
expect_eq "ENAMETOOLONG x x" "$(fdo size "$name/1") $(cat short "d/${name#??}" | xargs)" "a key that is too long below a prefix is not asked for"
cd /
umount_ckptfs

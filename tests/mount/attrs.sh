#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# attrs.sh: mode and owner are set when files and directories are made, travel with their objects,
# and are the same on every mount.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 39
start_store
mount_ckptfs
all() { (cd "$mnt" && find . -mindepth 1 -printf '%M %U %G %s %y %p\n' | LC_ALL=C sort -k6); }

(umask 027 && echo x >"$mnt/file" && mkdir "$mnt/dir")
expect_eq "640 750" "$(cd "$mnt" && stat -c %a file dir | xargs)" "the umask is applied"
expect_eq "mode=33184 uid=0 gid=0" "$(objects meta file | grep -E '^(mode|[ug]id)=' | xargs)" \
	"an object carries mode and owner"
expect_eq "mode=16872" "$(objects meta dir/ | grep '^mode=')" "a marker carries its directory's mode and owner"

requests_mark
chmod 4711 "$mnt/file"
expect_requests "chmod is one request, in which no byte moves" SetMeta=1 PutObject=0 GetObject=0
chown 12:34 "$mnt/file" "$mnt/dir"
chmod 3775 "$mnt/dir"
expect_eq "711 12 34 3775 12 34" "$(cd "$mnt" && stat -c '%a %u %g' file dir | xargs)" \
	"chmod and chown show; chown takes set-id bits"
requests_mark
chmod 711 "$mnt/file"
expect_requests "a change to what is there is no request" CopyObject=0
echo below >"$mnt/dir/file"
mkdir "$mnt/dir/sub"
expect_eq "644 34 2755 34" "$(cd "$mnt/dir" && stat -c '%a %g' file sub | xargs)" \
	"a set-group-id directory hands its group on"

head -c 12000000 /dev/zero >"$mnt/large"
chmod 600 "$mnt/large"
requests_mark
fdo_begin open wct "$mnt/dirty" write 5 pause close
chmod 604 "$mnt/dirty"
touch -d @1000000000 "$mnt/dirty"
# promise: attrs.writing
expect_eq "604 1000000000" "$(stat -c '%a %Y' "$mnt/dirty")" "a file being written shows changes"
fdo_ends "ok ok ok ok" "a file whose attributes changed is published"
expect_requests "a changed file is published with its attributes in one request" PutObject=1 CopyObject=0
# promise: attrs.metadata
expect_eq "mode=33156" "$(objects meta dirty | grep '^mode=')" "the published object has the attributes as its metadata say"

printf old >"$mnt/rewritten"
chmod 751 "$mnt/rewritten"
printf new >"$mnt/rewritten"
expect_eq "751 mode=33257" "$(stat -c %a "$mnt/rewritten") $(objects meta rewritten | grep '^mode=')" \
	"a file that is rewritten keeps its mode"

# A listing tells the time at which a rename made the object, and no attributes.
printf before >"$mnt/renamed_from"
chmod 640 "$mnt/renamed_from"
fdo_begin open + "$mnt/renamed_from" pause pwrite 3 0 close
sleep 1.1
mv "$mnt/renamed_from" "$mnt/renamed_to"
ls "$mnt" >"$tmp/listed"
fdo_ends "ok ok ok ok" "a file that was renamed and listed is written"
expect_eq "640 mode=33184" "$(stat -c %a "$mnt/renamed_to") $(objects meta renamed_to | grep '^mode=')" \
	"a file that was listed while it was open is published with its mode"

# A checksum that others left, of bytes that are no more.
objects mark summed mode=33188 color=blue md5chksum=1B2M2Y8AsgTpgAmY7PhCfg== goog-reserved-file-mtime=1
chmod 600 "$mnt/summed"
expect_eq "color md5chksum" "$(objects meta summed | grep -oE '^(color|md5chksum)' | xargs)" \
	"a checksum of others stays while the bytes do"
echo more >>"$mnt/summed"
# promise: attrs.outdated
expect_eq "color" "$(objects meta summed | grep -oE '^(color|md5chksum|goog-reserved-file-mtime)' | xargs)" \
	"a checksum and a time of others go with the bytes"
chmod 644 "$mnt/summed"
expect_eq "color" "$(objects meta summed | grep -oE '^(color|md5chksum|goog-reserved-file-mtime)' | xargs)" \
	"a checksum of bytes that are no more does not come back"

printf plain | store_put plain
# Objects of Google Cloud Storage have no time at which they expire.
expires=":expires=Thu, 01 Dec 2044 16:00:00 GMT"
redirect=":x-amz-website-redirect-location=/elsewhere"
! on_gs || expires= redirect=
objects mark foreign mode=33188 color=blue :content-type=text/x-odd ${expires:+"$expires" "$redirect"}
others() { objects meta "$1" | grep -E 'color|content-type|expires|redirect' | xargs; }
others="color=blue :content-type=text/x-odd${expires:+ $expires $redirect}"
# Only a head tells of the last, which no copy has by itself.
mkdir "$mnt/others"
printf x | store_put others/foreign
objects mark others/foreign color=blue ${redirect:+"$redirect"}
mv "$mnt/others" "$mnt/moved"
# promise: attrs.metadata
expect_eq "color=blue${redirect:+ $redirect}" "$(others moved/foreign)" \
	"a rename of a directory leaves other metadata of its files alone"
printf below | store_put implicit/below
expect_eq "644 0 755" "$(cd "$mnt" && stat -c '%a' plain) $(stat -c %u "$mnt/plain") $(stat -c %a "$mnt/implicit")" \
	"an object that carries no attributes has the defaults"
chmod 600 "$mnt/plain" "$mnt/foreign"
chmod 700 "$mnt/implicit"
expect_eq "600 600 700" "$(cd "$mnt" && stat -c %a plain foreign implicit | xargs)" "a file shows the defaults until it is changed"
# promise: attrs.request
expect_eq "plain below" "$(store_cat plain) $(store_cat implicit/below)" "a change of attributes leaves the bytes alone"
expect_eq "$others" "$(others foreign)" "a change of attributes leaves other metadata alone"
mv "$mnt/foreign" "$mnt/renamed"
expect_eq "$others" "$(others renamed)" "a rename leaves other metadata alone"
mv "$mnt/renamed" "$mnt/foreign"
echo more >>"$mnt/foreign"
expect_eq "$others" "$(others foreign)" "a change of the bytes leaves other metadata alone"
expect_eq "mode=16832" "$(objects meta implicit/ | grep '^mode=')" "an implicit directory gets a marker"

chmod 1777 "$mnt"
chown 5 "$mnt"
expect_eq "1777 5" "$(stat -c '%a %u' "$mnt")" "the root of the mount has attributes"

set_faults copies_denied
expect_eq "EACCES 711" "$(fdo chmod 0700 "$mnt/file") $(stat -c %a "$mnt/file")" \
	"a change that the store refuses is an error and changes nothing"
expect_log 'store: set-metadata .*file: 403'
set_faults
all >"$tmp/before"
umount_ckptfs

mount_ckptfs
all >"$tmp/after"
check "another mount shows the same attributes" diff "$tmp/before" "$tmp/after"
# promise: attrs.root
expect_eq "1777 5 0" "$(stat -c '%a %u %g' "$mnt")" "another mount shows the root's attributes"
expect_eq 12000000 "$(wc -c <"$mnt/large")" "another mount reads every file"
umount_ckptfs

mount_ckptfs file_mode=0600,dir_mode=0700,uid=99,gid=98
printf fresh | store_put fresh
# promise: attrs.defaults
expect_eq "600 99 98" "$(stat -c '%a %u %g' "$mnt/fresh")" "options say what objects without attributes show"
expect_eq "EPERM" "$(fdo link "$mnt/file" "$mnt/other")" "a hard link is refused"
umount_ckptfs

# What was written never comes, and what others changed meanwhile stays changed.
mount_ckptfs attr_ttl=0
printf old >"$mnt/killed"
printf old >"$mnt/ended"
carried() { objects meta "$1" | sed -n '/^mode=/p; s/^xattr=.*/xattr/p' | xargs; }
carries() { [ "$(carried "$1")" = "mode=33152 xattr" ]; }
mtime_before=$(objects meta killed | grep '^mtime=')
fdo_begin open w "$mnt/killed" write 100 pause
chmod 600 "$mnt/killed"
setfattr -n user.a -v b "$mnt/killed"
kill -KILL "$fdo_pid"; wait "$fdo_pid" 2>/dev/null
# promise: attrs.writing
check "attributes changed beside a writer who is killed reach the object" wait_for 10 carries killed
expect_eq "$mtime_before" "$(objects meta killed | grep '^mtime=')" "what a killed writer wrote moves no mtime"
expect_log 'killed: not published, .* canceled'

fdo_begin open w "$mnt/ended" write 100 pause
chmod 600 "$mnt/ended"
setfattr -n user.a -v b "$mnt/ended"
kill -TERM "$mount_pid"
expect_log 'ended: not published, '
mount_ended
expect_eq "mode=33152 xattr" "$(carried ended)" "attributes changed beside a writer outlast the end of the mount"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# cli.sh: what is wrong is one line with cause and remedy, a failing status, and nothing mounted.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 143
start_store --region eu-west-3
cd "$tmp" || exit 1
mkdir "$mnt"
endpoint=endpoint=$CKPTFS_TEST_ENDPOINT
url=s3://$CKPTFS_TEST_BUCKET
ckptfs() { timeout 60 "$builddir/ckptfs" "$@"; }

# refused NAME PATTERN argument...: fails, one line on stderr that matches, nothing is mounted
refused() {
	what=$1 pattern=$2; shift 2
	ckptfs "$@" >out 2>err
	rc=$?
	if [ $rc -eq 0 ] || [ $rc -ge 124 ]; then not_ok "$what is refused"; diag "exit status $rc"; else
		check "$what is refused" grep -qE -- "$pattern" err
		[ -s check.out ] || grep -qE -- "$pattern" err || diag "$(cat err)"
	fi
	if [ "$(cat out err | wc -l)" -eq 1 ] && ! mounted; then
		# promise: exit.line
		ok "the refusal of $what is one line, and nothing is mounted"
	else
		not_ok "the refusal of $what is one line, and nothing is mounted"; diag "$(cat out err)"
	fi
	while mounted; do umount "$mnt"; done
}
quick=$endpoint,deadline=1s

refused "a bucket that does not exist" 'no-such-bucket.*: ' -o "$quick" s3://no-such-bucket "$mnt"
AWS_SECRET_ACCESS_KEY=wrong refused "a wrong secret" '(key|credential|secret)' -o "$quick" "$url" "$mnt"
AWS_ACCESS_KEY_ID=unknown refused "an unknown key" '(key|credential)' -o "$quick" "$url" "$mnt"
(
	unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
	HOME=/nonexistent refused "a lack of credentials" '(AWS_ACCESS_KEY_ID|credentials)' \
		-o "$quick" "$url" "$mnt"
	echo "$tap_failed" >failed
)
tap_n=$((tap_n + 2)) tap_failed=$(cat failed)
refused "an endpoint that is down" '(refused|reached|answer)' \
	-o endpoint=http://127.0.0.1:1,deadline=1s "$url" "$mnt"
refused "an endpoint that is no URL" 'endpoint' -o endpoint=nonsense "$url" "$mnt"
refused "a profile that does not exist" 'profile' -o "$quick,profile=nobody" "$url" "$mnt"
refused "an endpoint that speaks no TLS" 'give http://' \
	-o "endpoint=https://${CKPTFS_TEST_ENDPOINT#*://},deadline=1s" "$url" "$mnt"
refused "a certificate file that does not exist" 'ca_bundle|nonexistent' \
	-o "endpoint=https://127.0.0.1:1,deadline=1s,ca_bundle=/nonexistent" "$url" "$mnt"
refused "a URL of another kind" 's3://' -o "$quick" ftp://x "$mnt"
refused "a URL without bucket" 's3://' -o "$quick" s3:// "$mnt"

refused "a mountpoint that is missing" 'nowhere.*mkdir' -o "$quick" "$url" "$tmp/nowhere"
: >file
refused "a mountpoint that is a file" 'not a directory' -o "$quick" "$url" "$tmp/file"
mkdir full; : >full/x
refused "a mountpoint that is not empty" 'not empty' -o "$quick" "$url" "$tmp/full"

refused "a flag that is none" '^ckptfs: -q is not a flag: see' -q "$url" "$mnt"
refused "a flag without its value" '^ckptfs: -o lacks its value: see' "$url" "$mnt" -o
refused "a mountpoint in the place of the URL" 'URL first' -o "$quick" "$mnt" "$url"

refused "a directory for spilling in the mount itself" 'spill_dir=.* lies in the mount itself' -o "$quick,spill_dir=$mnt" "$url" "$mnt"
ln -s "$mnt" "$tmp/link"
for inside in spill_dir log control_dir metrics=unix: ca_bundle; do
	case $inside in *=*) ;; *) inside=$inside= ;; esac
	refused "$inside by a link into the mount" "${inside%%=*}=.* lies in the mount itself" -o "$quick,$inside$tmp/link/x" "$url" "$mnt"
done
mkdir "$tmp/other"
"$builddir/ckptfs" -o "$endpoint" "$url" "$tmp/other"
refused "a directory for spilling in another mount" 'spill_dir=.* lies in a mount of ckptfs' -o "$quick,spill_dir=$tmp/other" "$url" "$mnt"
umount "$tmp/other"
mkdir "$tmp/confined"
at_exit 'umount "$tmp/confined" 2>/dev/null'
mount -t tmpfs -o ro confined "$tmp/confined"
for option in spill_dir log; do
	value=$tmp/confined; [ $option = spill_dir ] || value=$value/log
	INVOCATION_ID=unit refused "$option where the unit may not write" "$option=.* ReadWritePaths=" -f -o "$quick,$option=$value" "$url" "$mnt"
done
umount "$tmp/confined"
refused "a directory for spilling that is not there" 'spill_dir=/nonexistent' \
	-o "$quick,spill_dir=/nonexistent" "$url" "$mnt"
refused "an unknown option" "part_sise.*part_size" -o "$quick,part_sise=5M" "$url" "$mnt"
refused "a value out of bounds" 'part_size.*5M' -o "$quick,part_size=1M" "$url" "$mnt"
refused "a value that is none" 'memory' -o "$quick,memory=lots" "$url" "$mnt"
refused "a word that is none of the choices" 'abort' -o "$quick,on_kill=maybe" "$url" "$mnt"
refused "a log that cannot be written" 'log=/nonexistent' -o "$quick,log=/nonexistent/log" "$url" "$mnt"
refused "a directory of sockets that cannot be made" 'control_dir=' -o "$quick,control_dir=/nonexistent/x" "$url" "$mnt"
refused "umask" 'file_mode= and dir_mode=' -o "$quick,umask=022" "$url" "$mnt"
refused "remount" 'see mount.ckptfs' -o "$quick,remount" "$url" "$mnt"
refused "sync" 'leave it out' -o "$quick,sync" "$url" "$mnt"
refused "lazytime" 'leave it out' -o "$quick,lazytime" "$url" "$mnt"
refused "default_permissions" 'always checked' -o "$quick,default_permissions" "$url" "$mnt"
refused "nonempty" 'empty directory' -o "$quick,nonempty" "$url" "$mnt"
refused "auto_unmount" 'umount -l' -o "$quick,auto_unmount" "$url" "$mnt"
refused "an option of the FUSE library" 'give attr_ttl=' -o "$quick,entry_timeout=5" "$url" "$mnt"
refused "fsname" 'the URL' -o "$quick,fsname=x" "$url" "$mnt"
refused "a name far from any option" "unknown option 'users2': ckptfs -o help" -o "$quick,users2=x" "$url" "$mnt"
refused "a user who is not there" 'no user here' -o "$quick,uid=nobody-there" "$url" "$mnt"
refused "a group that is not there" 'no group here' -o "$quick,gid=nobody-there" "$url" "$mnt"
refused "an id of more than 32 bits" 'no user here' -o "$quick,uid=4294967296" "$url" "$mnt"
refused "an unknown flag" '-z' -z "$url" "$mnt"
refused "an unknown long flag" '--verbose' --verbose "$url" "$mnt"
refused "a flag without its value" '-c' "$url" "$mnt" -c
refused "a missing argument" 'argument' -o "$quick" "$url"
refused "no argument" 'argument'
refused "too many arguments" 'argument' -o "$quick" "$url" "$mnt" more
refused "a missing YAML file" 'missing.yaml' -c missing.yaml "$url" "$mnt"
printf 'part_size: [5M\n' >broken.yaml
refused "broken YAML" 'broken.yaml.*[0-9]' -c broken.yaml "$url" "$mnt"
printf 'part_sise: 5M\n' >unknown.yaml
refused "an unknown key in YAML" "part_sise.*part_size" -c unknown.yaml "$url" "$mnt"
printf 'part_size: 1M\n' >bounds.yaml
refused "a value out of bounds in YAML" 'part_size' -c bounds.yaml "$url" "$mnt"

# by fusermount3, which speaks for itself; with a /dev/fuse that everybody may open
chmod 755 "$tmp"
mknod -m 666 fuse c 10 229 2>/dev/null
as_nobody() {
	unshare -m sh -c 'mount --make-rprivate / && mount --bind fuse /dev/fuse &&
		exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"' sh "$@"
}
if as_nobody "$builddir/ckptfs" -V >out 2>&1 && as_nobody sh -c ': <>/dev/fuse' 2>/dev/null; then
	ckptfs() { as_nobody timeout 60 "$builddir/ckptfs" "$@"; }
	refused "a user on a directory of another" 'write access.*: mend that' -o "$quick" "$url" "$mnt"
	ckptfs() { timeout 60 "$builddir/ckptfs" "$@"; }
else
	skip "a user is refused on a directory of another" "another user may not run it"
	skip "the user's refusal is one line, and nothing is mounted" "another user may not run it"
fi

# a private /dev without the device
refuse_without_fuse() {
	what="no /dev/fuse"
	unshare -m sh -c 'mount --make-rprivate / && mkdir empty && mount -t tmpfs none empty &&
		mount --bind empty /dev && exec "$@"' sh "$builddir/ckptfs" -o "$quick" "$url" "$mnt" \
		>out 2>err
	rc=$?
}
if unshare -m true 2>/dev/null; then
	refuse_without_fuse
	expect_eq "1 1" "$rc $(cat out err | wc -l)" "no /dev/fuse is refused in one line"
	check "the line about /dev/fuse says what to do" grep -q '/dev/fuse.*modprobe' err
else
	skip "no /dev/fuse is refused in one line" "unshare -m is not allowed"
	skip "the line about /dev/fuse says what to do" "unshare -m is not allowed"
fi

# the region of the bucket is found out: storesim refuses any other than its own
ckptfs -o "$endpoint,region=us-west-2,log=$tmp/bg.log" "$url" "$mnt" >out 2>err
expect_eq "0 " "$? $(cat err out)" "the background start returns 0, and says nothing"
check "the background start returns when the mount answers" sh -c 'echo right >"$1/f" && grep -q right "$1/f"' sh "$mnt"
# promise: mount.ready
check "the background start takes another region than the store's" mounted
refused_mounted=$(ckptfs -o "$quick" "$url" "$mnt" 2>&1)
expect_eq "1 1" "$? $(echo "$refused_mounted" | grep -c 'has a mount (fuse.ckptfs) on it already: umount it')" "a second mount there is refused"
expect_eq right "$(cat "$mnt/f")" "the first mount goes on after a second was refused"
umount "$mnt"
check "umount ends the daemon" wait_for 20 grep -q "statistics of" "$tmp/bg.log"
check "the daemon warns of nothing but the region" sh -c '! grep -E " (warning|error): " "$1" | grep -v region' \
	sh "$tmp/bg.log"
printf 'endpoint: %s\nregion: eu-west-3\nattr_ttl: 0\n' "$CKPTFS_TEST_ENDPOINT" >good.yaml
ckptfs -c good.yaml -o log=here.log "$url/prefix" "$mnt"
expect_eq 0 $? "options come from a YAML file"
check "a log is where the command was started, and tells of the mount" wait_for 20 grep -q " info: $url/prefix is mounted on $mnt " here.log
echo below >"$mnt/f"
expect_eq "below" "$(AWS_REGION=eu-west-3 store_cat prefix/f)" "a prefix holds what is written below it"
umount "$mnt"
# The more descriptors it may have, the further the start comes.
few_files() {
	for n in $(seq 12 48); do
		(ulimit -n "$n" && ckptfs -o "$endpoint,region=eu-west-3,control_dir=$tmp/few" "$url" "$mnt") 2>err && break
		! grep -q 'socket of ckptctl' err || return 0
	done
	umount "$mnt"
	return 1
}
check "too few descriptors for the socket of ckptctl are met" few_files
check "the remedy is more descriptors" grep -q 'Too many open files: raise the limit' err
check "-h prints the options" sh -c '"$1" -h | grep -q part_size=' sh "$builddir/ckptfs"
expect_eq "$(ckptfs -h)" "$(ckptfs --help)" "--help prints the options, too"
expect_eq "ckptfs libcurl" "$(ckptfs -V | cut -d' ' -f1 | xargs)" "-V prints the version, and those of the libraries"
check "-V names the library of TLS and libfuse" sh -c '"$1" -V | grep -q "SSL.*libfuse [0-9]"' sh "$builddir/ckptfs"
mount_ckptfs region=eu-west-3
check "-f stays in the foreground" kill -0 "$mount_pid"
umount_ckptfs

# Standard streams: a disk that is full, and numbers that are free.
for text in "ckptfs -h" "ckptfs -V" "ckptfs -o help" "ckptctl --help" "ckptctl --version" "storesim --help"; do
	timeout 60 "$builddir/${text%% *}" ${text#* } >/dev/full 2>err
	expect_eq "1 ${text%% *}: standard output cannot be written: free space there" "$? $(cat err)" \
		"text that is lost is told, and is no success: $text"
done
ckptfs -o "$endpoint,region=eu-west-3,log=closed.log" "$url" "$mnt" <&- >&- 2>&-
expect_eq "0 right" "$? $(timeout 20 cat "$mnt/f")" "a mount answers that was started with its standard streams closed"
umount "$mnt"
"$builddir/ckptfs" -f -o "$endpoint,region=eu-west-3,log_level=debug" "$url" "$mnt" <&- >&- 2>&- &
wait_for 60 mounted
cp "$mnt/f" "$mnt/g"
expect_eq "/dev/null /dev/null /dev/null" "$(cd /proc/$!/fd && readlink 0 1 2 | xargs)" "no file of a mount gets the text of its log"
umount "$mnt"
wait $!
expect_eq 0 $? "a mount ends well that was started with its standard streams closed"

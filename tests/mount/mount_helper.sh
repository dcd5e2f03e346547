#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mount_helper.sh: mount(8), umount(8), findmnt(8) and fstab(5), in a namespace whose /etc/fstab and /usr/sbin are ours.
. "${srcdir:?}/tests/lib/namespace.sh"
. "$srcdir/tests/lib/mount.sh"
need_fuse
[ -n "${CKPTFS_IN_NAMESPACE-}" ] || skip_all "no mount namespace can be made"
[ "$(readlink -f /sbin)" = /usr/sbin ] || skip_all "/sbin is not /usr/sbin"
plan 29

helper=$builddir/fs/mount/daemon/mount.ckptfs
mkdir "$tmp/sbin" "$tmp/orig" "$tmp/home" "$tmp/bin"
mount --bind /usr/sbin "$tmp/orig"
at_exit 'umount -l /usr/sbin "$tmp/orig"'
ln -s "$tmp"/orig/* "$tmp/sbin"
bindir=$("$helper" 2>/dev/null; sed -n 's,.* \(/.*\)/ckptfs .*,\1,p' "$helper")
sed "s,$bindir/,$tmp/bin/," "$helper" >"$tmp/sbin/mount.ckptfs"
chmod 755 "$tmp/sbin/mount.ckptfs"
ln -s mount.ckptfs "$tmp/sbin/mount.fuse.ckptfs"
mount --bind "$tmp/sbin" /usr/sbin
ln -s "$builddir/ckptctl" "$tmp/bin/ckptctl"
# What is mounted tells the test its environment.
printf '#!/bin/sh\nprintf "%%s" "${HOME-none}" >"%s/home.is"\nexec "%s/ckptfs" "$@"\n' "$tmp" "$builddir" >"$tmp/bin/ckptfs"
chmod 755 "$tmp/bin/ckptfs"
cp /etc/fstab "$tmp/fstab" 2>/dev/null || : >"$tmp/fstab"
[ -e /etc/fstab ] || skip_all "there is no /etc/fstab to put another over"
mount --bind "$tmp/fstab" /etc/fstab

# mount(8) starts daemons in the background: each is ended by its umount.
at_exit 'while mounted; do umount -l "$mnt"; done'
start_store
mkdir -p "$mnt"
dir=$tmp/control
mkdir "$dir"
url=$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET
common=endpoint=$CKPTFS_TEST_ENDPOINT,control_dir=$dir,log=file:$mount_log
echo "$url/runs $mnt ckptfs _netdev,nofail,noauto,x-systemd.automount,x-systemd.idle-timeout=60,uid=daemon,$common 0 0" >"$tmp/fstab"
ends() { wait_for 60 daemon_is_gone; }
daemon_is_gone() { [ -z "$(ls "$dir")" ]; }

check "mount takes what fstab names" env -u PATH /usr/bin/mount "$mnt"
expect_eq none "$(cat "$tmp/home.is")" "mount(8) hands on no HOME, as the page says"
expect_eq "$url/runs fuse.ckptfs" "$(findmnt -n -o SOURCE,FSTYPE "$mnt" | tr -s ' ')" "findmnt shows URL and type"
printf x | store_put runs/file
expect_eq daemon "$(stat -c %U "$mnt/file")" "fstab's options are those of the mount"
level() { "$builddir/ckptctl" -o "control_dir=$dir" status "$mnt" | sed -n 's/^daemon.*, log_level=//p'; }
check "remount changes the log level" mount -o remount,log_level=debug "$mnt"
expect_eq debug "$(level)" "the mount that runs has it"
refused() {
	mount -o "remount,$1" "$mnt" >"$tmp/out" 2>&1
	expect_eq "no 1 debug" "$([ $? -eq 0 ] && echo yes || echo no) $(grep -c "nothing is changed.*$2" "$tmp/out") $(level)" \
		"remount refuses $1 by name, and changes nothing"
}
refused memory=4G,part_size=8M,log_level=info 'since part_size= needs another mount'
refused ro,log_level=info 'since ro= needs'
refused region=x,threads=4 'since region=, threads= needs'
refused noexec 'noexec='
refused umask=022,log_level=info 'umask is no option of ckptfs: give file_mode='
option() { "$builddir/ckptctl" -o "control_dir=$dir" "$@" | sed -n "s/^memory.* of \\([^,]*\\),.*/\\1/p; s/^transfers_most\t\\([0-9]*\\).*/\\1/p"; }
check "remount takes all options that a reload takes" mount -o remount,memory=4G,connections=4,attr_ttl=5s "$mnt"
connections_are() { [ "$(option stats "$mnt")" = "$1" ]; }
wait_for 30 connections_are 4
expect_eq "4.0 GiB debug" "$(option status "$mnt") $(level)" "the mount that runs has all options of a remount, and what was changed before"
"$builddir/ckptctl" -o "control_dir=$dir" reload "$mnt" >"$tmp/out"
expect_eq "1 4.0 GiB 4" "$(grep -c '^the log is opened anew' "$tmp/out") $(option status "$mnt") $(option stats "$mnt")" \
	"what a remount changed holds over a reload"
"$builddir/ckptctl" -o "control_dir=$dir" set log_level=debug "$mnt" >"$tmp/out"
expect_eq "0 1" "$? $(grep -c '^the log is opened anew' "$tmp/out")" "ckptctl set changes the log level"
"$builddir/ckptctl" -o "control_dir=$dir" set "log_level=debug,$(printf '%5000s' | tr ' ' x)" "$mnt" >"$tmp/out" 2>&1
expect_eq "1 debug" "$? $(level)" "a list of options that is too long changes nothing"
check_fails "a remount of what is not mounted is refused" "$tmp/sbin/mount.ckptfs" "$url" "$tmp/home" -o remount,log_level=info
printf y >"$mnt/written"
check "umount ends a mount that the helper made" umount "$mnt"
ends
expect_eq "y" "$(store_cat runs/written)" "what was written is at the store"

sed 's/,noauto,/,/; s/ ckptfs / fuse.ckptfs /' "$tmp/fstab" >"$tmp/fstab2"
cat "$tmp/fstab2" >"$tmp/fstab" # the same file is mounted over /etc/fstab
check "mount -a mounts what fstab names, by the other type too" mount -a -t fuse.ckptfs
check "mount -a mounts what is mounted no second time" sh -c 'mount -a -t fuse.ckptfs && [ "$(grep -c " $1 " /proc/self/mounts)" = 1 ]' \
	sh "$mnt"
umount "$mnt"
ends
check "mount -f mounts nothing" sh -c 'mount -f "$1" && ! grep " $1 " /proc/self/mounts' sh "$mnt"
check "mount -t ckptfs takes URL and options" mount -t ckptfs "$url" "$mnt" -o "$common,allow_other,file_mode=0640"
expect_eq 640 "$(stat -c %a "$mnt/runs/file")" "the options take effect"
cp "$tmp/fstab" "$tmp/fstab2"
: >"$tmp/fstab"
"$tmp/sbin/mount.ckptfs" "$url" "$mnt" -o "remount,ro,$common,log_level=info" >"$tmp/out" 2>&1
expect_eq "1 1" "$? $(grep -c 'since ro= needs another mount' "$tmp/out")" "remount refuses what cannot be changed without fstab, too"
cat "$tmp/fstab2" >"$tmp/fstab"
umount "$mnt"
ends
mount -t ckptfs "$url" "$mnt" -o "$common,umask=022" >"$tmp/out" 2>&1
expect_eq "1 1" "$? $(grep -c 'umask is no option of ckptfs: give file_mode=' "$tmp/out")" "a refusal says what to give in its place"
check_fails "a mount that is refused leaves nothing mounted" mounted
# Keys are found by the home of the user, where no variable names it.
mkdir "$tmp/home/.aws"
printf '[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n' "$AWS_ACCESS_KEY_ID" "$AWS_SECRET_ACCESS_KEY" \
	>"$tmp/home/.aws/credentials"
mount --bind "$tmp/home" "$(getent passwd 0 | cut -d : -f 6)"
check "keys of root's files are found without any variable" env -i /usr/bin/mount -t ckptfs "$url" "$mnt" -o "$common"
check "the mount answers" ls "$mnt"
umount "$mnt"
ends

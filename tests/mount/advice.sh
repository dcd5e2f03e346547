#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# advice.sh: what is odd about options is said when the mount stands; and what mount(8) at boot, which gives
# neither PATH nor HOME, mounts.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 11
start_store
printf bytes | store_put file
says() { wait_for 10 grep -qE "$1" "$mount_log"; }

mount_ckptfs memory=1T,spill=100T
check "a spill file above the free space of its disk is said to be" says 'info: spill= is 104857600 MiB, and .* MiB free'
expect_log 'warning: memory= is 1048576 MiB, .* and this (machine|container or service) has [0-9]+ MiB'
umount_ckptfs "memory above that of the machine is warned of"

if on_gs; then key_option=csek_file; else key_option=sse_c_key_file; fi
head -c 32 /dev/urandom >"$tmp/key"
chmod 644 "$tmp/key"
mount_ckptfs "$key_option=$tmp/key"
expect_log "warning: $key_option=.*/key: every user of this machine may read it: chmod 600"
umount_ckptfs "a file of a key that everybody may read is warned of"
chmod 600 "$tmp/key"
mount_ckptfs "$key_option=$tmp/key"
umount_ckptfs "a file of a key that its owner alone may read is nothing to warn of"

# Keys of the credentials, in a file.
keys=$tmp/keys
if on_gs; then
	printf '{"kind": "storage#hmacKey", "secret": "%s", "metadata": {"accessId": "%s"}}' "$AWS_SECRET_ACCESS_KEY" "$AWS_ACCESS_KEY_ID" >"$keys"
	keys_option=credentials=$keys
else
	printf '[lent]\naws_access_key_id = %s\naws_secret_access_key = %s\n' "$AWS_ACCESS_KEY_ID" "$AWS_SECRET_ACCESS_KEY" >"$keys"
	export AWS_SHARED_CREDENTIALS_FILE="$keys"
	keys_option=profile=lent
fi
chmod 644 "$keys"
mount_ckptfs "$keys_option"
expect_log 'warning: the credentials are in .*/keys, which every user of this machine may read: chmod 600'
umount_ckptfs "credentials in a file that everybody may read are warned of"
chmod 600 "$keys"
mount_ckptfs "$keys_option"
umount_ckptfs "credentials in a file that its owner alone may read are nothing to warn of"

mount_below() { # PREFIX: the log of a mount of that goes to $tmp/below
	rm -f "$tmp/below"
	"$builddir/ckptfs" -o "endpoint=$CKPTFS_TEST_ENDPOINT,control_dir=none,log=file:$tmp/below" "$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET/$1" "$mnt"
	at_exit 'umount -l "$mnt" 2>/dev/null'
	wait_for 30 grep -q 'is mounted on' "$tmp/below"
	umount "$mnt"
	wait_for 30 grep -q 'statistics of' "$tmp/below"
}
mount_below nwe/run
expect_eq 1 "$(grep -c 'info: .*/nwe/run has no objects yet: .* correct the URL' "$tmp/below")" "a prefix without objects is said to be"
printf bytes | store_put new/run/file
mount_below new/run
check_fails "a prefix with objects is nothing to speak of" grep -q 'no objects' "$tmp/below"

# As at boot: no variable but what mount(8) sets, credentials in root's files.
boot() {
	unshare -m sh -c 'mount --make-rprivate / && mount -t tmpfs none /usr/local/bin && mount -t tmpfs none /root &&
		ln -s "$1/ckptfs" /usr/local/bin/ckptfs && mkdir /root/.aws && cp "$2/credentials" /root/.aws/credentials &&
		env -i /bin/mount -a -T "$2/fstab" && cat "$3/file" && umount "$3"' sh "$builddir" "$tmp" "$mnt"
}
cat >"$tmp/credentials" <<END
[default]
aws_access_key_id = $AWS_ACCESS_KEY_ID
aws_secret_access_key = $AWS_SECRET_ACCESS_KEY
END
echo "$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET $mnt fuse.ckptfs _netdev,nofail,user,noauto,uid=daemon,control_dir=none,log=$tmp/boot.log,endpoint=$CKPTFS_TEST_ENDPOINT 0 0" |
	sed 's/,noauto//' >"$tmp/fstab"
if on_gs || ! unshare -m true 2>/dev/null || [ ! -x /sbin/mount.fuse ] || [ "$(id -u)" != 0 ]; then
	for name in 'mount -a mounts without PATH and HOME' 'mount -a says nothing' 'the mount of fstab is logged'; do
		skip "$name" "no mount.fuse or no namespaces, or another store"
	done
else
	boot >"$tmp/out" 2>"$tmp/err"
	expect_eq "0 bytes" "$? $(cat "$tmp/out")" "mount -a mounts without PATH and HOME"
	expect_eq "" "$(cat "$tmp/err")" "mount -a says nothing"
	check "the mount of fstab is logged" grep -q 'is mounted on' "$tmp/boot.log"
fi

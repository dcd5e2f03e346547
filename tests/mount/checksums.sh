#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# checksums.sh: what a mount writes to servers that know all checksums, some or none, or insist on one.
. "$srcdir/tests/lib/mount.sh"
. "$srcdir/tests/lib/sim.sh"
need_fuse
plan 30
export CKPTFS_TEST_ENDPOINT CKPTFS_TEST_BUCKET=bkt
head -c 12000000 /dev/urandom >"$tmp/data"

# begin SERVER_OPTION... -- MOUNT_OPTION...
begin() {
	server=''
	while [ "$1" != -- ]; do
		server="$server $1"
		shift
	done
	shift
	# shellcheck disable=SC2086 # words
	sim_start --data "$tmp/objects" $server
	CKPTFS_TEST_ENDPOINT=$url
	mount_ckptfs part_size=5M "$@"
}
end() {
	umount_ckptfs
	sim_stop
}
# The algorithms of the checksums that an object has at the store.
sums() {
	req HEAD "/bkt/$1" -H 'x-amz-checksum-mode: ENABLED' >/dev/null
	sed -n 's/^x-amz-checksum-\(crc[0-9a-z]*\):.*/\1/Ip' "$tmp/head" | tr -d '\r'
}
write_all() {
	echo small >"$mnt/small"
	cp "$tmp/data" "$mnt/large"
	cp "$mnt/large" "$mnt/longer"
	echo tail >>"$mnt/longer"
	{ cat "$tmp/data" && echo tail; } >"$tmp/longer"
}
check_all() {
	same "a file of one part is at the store$1" "$tmp/small" small
	same "a file of several parts is at the store$1" "$tmp/data" large
	same "a file that was appended to is at the store$1" "$tmp/longer" longer
}
echo small >"$tmp/small"

begin -- checksums=crc64nvme
write_all
expect_eq "crc64nvme crc64nvme crc64nvme" "$(sums small) $(sums large) $(sums longer)" "all that is written has the CRC64NVME that was asked for"
check_all " with CRC64NVME"
end

begin --checksums crc64nvme -- checksums=auto
write_all
expect_eq "crc32c crc64nvme" "$(sums small) $(sums large)" "a server with CRC64NVME alone of whole uploads gets that"
check_all " that sums uploads in CRC64NVME"
expect_eq 1 "$(grep -c 'CRC64NVME from now on' "$mount_log")" "the other checksum is said once"
end

begin --checksums none --
write_all
check_all " that knows no checksums"
end

begin --object-lock -- checksums=when_required
write_all
check_all " that asks for digests"
expect_eq 1 "$(grep -c 'MD5 from now on' "$mount_log")" "the digest that was asked for is told of once"
end

begin --object-lock -- checksums=auto
write_all
check_all " that asks for digests of parts beside copies"
expect_eq "crc32c crc32c" "$(sums small) $(sums large)" "what can have a checksum has that where a digest is asked for"
end

lines() { grep -c "$1" "$mount_log"; }
begin --object-lock --checksums none -- checksums=auto
before=$(lines 'MD5 from now on')
write_all
check_all " that knows no checksums and asks for digests"
expect_eq "1" "$(($(lines 'MD5 from now on') - before))" "a server that knows no checksums and asks for digests is told of once"
end

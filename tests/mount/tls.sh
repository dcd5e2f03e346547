#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tls.sh: a mount whose store speaks TLS: versions, bursts of odd records, resumption, and certificates.
. "$srcdir/tests/lib/mount.sh"
need_fuse
command -v python3 >/dev/null || skip_all "python3 is not installed"
command -v openssl >/dev/null || skip_all "openssl is not installed"
plan 17
make_certificate
start_store
. "$srcdir/tests/lib/tls.sh"

head -c 100000 /dev/urandom >"$tmp/burst"
head -c 23456789 /dev/urandom >"$tmp/large"
for version in TLSv1_2 TLSv1_3; do
	relayed $version
	mount_ckptfs part_size=5M ca_bundle="$tmp/tls.pem" read_cache=never
	cp "$tmp/large" "$tmp/burst" "$mnt"
	past same "a file in parts is the object: $version" "$tmp/large" large
	past same "a file that is sent at once is the object: $version" "$tmp/burst" burst
	umount_ckptfs
	mount_ckptfs part_size=5M ca_bundle="$tmp/tls.pem"
	check "bytes that arrive together come back, though nothing follows them: $version" cmp "$tmp/burst" "$mnt/burst"
	check "bytes of many records and bursts come back: $version" cmp "$tmp/large" "$mnt/large"
	umount_ckptfs
	sort "$hands" | uniq -c | sed "s/^/# $version /"
	check "connections after the first resume its session: $version" grep -qx resumed "$hands"
done

# refused NAME CERTIFICATE KEY AUTHORITY
refused() {
	cp "$2" "$tmp/tls.pem"
	cp "$3" "$tmp/tls.key"
	relayed TLSv1_3
	timeout 60 "$builddir/ckptfs" -f -o "endpoint=$CKPTFS_TEST_ENDPOINT,ca_bundle=$4" "s3://$CKPTFS_TEST_BUCKET" "$mnt" \
		>"$tmp/out" 2>&1
	expect_eq "1 1" "$? $(grep -c 'cannot be trusted over TLS' "$tmp/out")" "$1 is refused"
}
certificate good IP:127.0.0.1 20200101000000Z 20991231000000Z
certificate late IP:127.0.0.1 20200101000000Z 20200102000000Z
certificate other IP:127.0.0.2 20200101000000Z 20991231000000Z
refused "a certificate that has expired" "$tmp/late.pem" "$tmp/late.key" "$tmp/late.pem"
refused "a certificate of another address" "$tmp/other.pem" "$tmp/other.key" "$tmp/other.pem"
refused "a certificate of an unknown authority" "$tmp/good.pem" "$tmp/good.key" "$tmp/late.pem"

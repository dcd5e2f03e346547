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
plain=$CKPTFS_TEST_ENDPOINT

# relayed VERSION: the store with TLS at $CKPTFS_TEST_ENDPOINT; its handshakes are in $hands
hands=$tmp/hands relay_pid=''
relay_end() { [ -z "$relay_pid" ] || { kill "$relay_pid" && wait "$relay_pid"; } 2>/dev/null; }
at_exit relay_end
relayed() {
	relay_end
	: >"$hands"
	: >"$tmp/relay.out"
	python3 "$srcdir/tests/lib/tls_relay.py" "${plain#http://}" "$tmp/tls.pem" "$tmp/tls.key" "$1" "$hands" \
		>"$tmp/relay.out" 2>"$tmp/relay.err" &
	relay_pid=$!
	wait_for 30 grep -q '^listening on ' "$tmp/relay.out"
	CKPTFS_TEST_ENDPOINT=https://$(sed -n 's/^listening on //p' "$tmp/relay.out")
}
# past: what stands beside the mount speaks to the store itself
past() {
	relay=$CKPTFS_TEST_ENDPOINT
	CKPTFS_TEST_ENDPOINT=$plain
	"$@"
	CKPTFS_TEST_ENDPOINT=$relay
}

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
# certificate NAME ALTERNATIVE-NAME BEGIN END
certificate() {
	mkdir -p "$tmp/ca"
	: >"$tmp/ca/index"
	printf '%s\n' '[ca]' default_ca=c '[c]' "database=$tmp/ca/index" "new_certs_dir=$tmp/ca" rand_serial=yes \
		default_md=sha256 policy=p copy_extensions=copy '[p]' commonName=supplied >"$tmp/ca/config"
	openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$1" \
		-addext "subjectAltName=$2" -keyout "$tmp/$1.key" -out "$tmp/$1.csr" 2>/dev/null
	openssl ca -batch -notext -selfsign -config "$tmp/ca/config" -keyfile "$tmp/$1.key" -in "$tmp/$1.csr" \
		-startdate "$3" -enddate "$4" -out "$tmp/$1.pem" 2>/dev/null
}
certificate good IP:127.0.0.1 20200101000000Z 20991231000000Z
certificate late IP:127.0.0.1 20200101000000Z 20200102000000Z
certificate other IP:127.0.0.2 20200101000000Z 20991231000000Z
refused "a certificate that has expired" "$tmp/late.pem" "$tmp/late.key" "$tmp/late.pem"
refused "a certificate of another address" "$tmp/other.pem" "$tmp/other.key" "$tmp/other.pem"
refused "a certificate of an unknown authority" "$tmp/good.pem" "$tmp/good.key" "$tmp/late.pem"

# SPDX-License-Identifier: Apache-2.0
# tls.sh: the store with TLS; source it after mount.sh, and start the store before.
#
#   certificate NAME ALTERNATIVE-NAME BEGIN END
#                      $tmp/NAME.pem, which signs itself, and $tmp/NAME.key; times as 20200101000000Z
#   relayed VERSION [PORT]
#                      the store by way of tests/lib/tls_relay.py with $tmp/tls.pem and $tmp/tls.key is
#                      CKPTFS_TEST_ENDPOINT; its handshakes are in $hands. A relay of before ends
#   past COMMAND...    what stands beside the mount speaks to the store itself
plain=$CKPTFS_TEST_ENDPOINT
hands=$tmp/hands relay_pid=''

relay_end() { [ -z "$relay_pid" ] || { kill "$relay_pid" && wait "$relay_pid"; } 2>/dev/null; }
at_exit relay_end
relayed() {
	relay_end
	: >"$hands"
	: >"$tmp/relay.out"
	python3 "$srcdir/tests/lib/tls_relay.py" "${plain#http://}" "$tmp/tls.pem" "$tmp/tls.key" "$1" "$hands" ${2:+"$2"} \
		>"$tmp/relay.out" 2>"$tmp/relay.err" &
	relay_pid=$!
	wait_for 30 grep -q '^listening on ' "$tmp/relay.out"
	CKPTFS_TEST_ENDPOINT=https://$(sed -n 's/^listening on //p' "$tmp/relay.out")
}

past() {
	relay=$CKPTFS_TEST_ENDPOINT
	CKPTFS_TEST_ENDPOINT=$plain
	"$@"
	CKPTFS_TEST_ENDPOINT=$relay
}

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

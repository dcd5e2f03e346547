#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The simulator verifies signatures, and serves HTTPS.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/sim.sh"
curl --help all | grep -q aws-sigv4 || skip_all "curl cannot sign"
plan 13

sim_start --data "$tmp/data" --access-key AK --secret-key SK --region eu-west-1
signed() {
	who=$1 region=$2
	shift 2
	req "$@" --user "$who" --aws-sigv4 "aws:amz:$region:s3"
}
any='x-amz-content-sha256: UNSIGNED-PAYLOAD'
printf 'hello world' >"$tmp/small"
expect_eq 200 "$(signed AK:SK eu-west-1 PUT '/bkt/a%20b%2Bc/%C3%BC' -T "$tmp/small" -H "$any")" "a signed put is taken"
expect_eq 200 "$(signed AK:SK eu-west-1 GET '/bkt?list-type=2&prefix=a%20b' -H "$any")" "a signed list is taken"
expect_eq 403 "$(req GET /bkt/a)" "a request without a signature is refused"
expect_eq AccessDenied "$(element Code)" "an unsigned request is AccessDenied"
expect_eq 403 "$(signed AK:XX eu-west-1 GET /bkt/a -H "$any")" "a request with another secret is refused"
expect_eq SignatureDoesNotMatch "$(element Code)" "a wrong secret is SignatureDoesNotMatch"
signed XX:SK eu-west-1 GET /bkt/a -H "$any" >/dev/null
expect_eq InvalidAccessKeyId "$(element Code)" "an unknown key is named"
expect_eq 400 "$(signed AK:SK us-east-1 GET /bkt/a -H "$any")" "another region is refused"
expect_eq "AuthorizationHeaderMalformed eu-west-1 eu-west-1" \
	"$(element Code) $(element Region) $(field x-amz-bucket-region)" "the right region is said"
signed AK:SK eu-west-1 GET /bkt/a -H "$any" -H 'x-amz-date: 20130524T000000Z' >/dev/null
expect_eq RequestTimeTooSkewed "$(element Code)" "a clock that is far off is refused"
signed AK:SK eu-west-1 PUT /bkt/a -T "$tmp/small" \
	-H 'x-amz-content-sha256: b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde8' >/dev/null
expect_eq XAmzContentSHA256Mismatch "$(element Code)" "a body that is not the signed one is refused"
sim_stop

if ! command -v openssl >/dev/null; then
	skip "an object comes back over HTTPS" "openssl is not installed"
	skip "another authority is not trusted" "openssl is not installed"
	exit 0
fi
openssl req -x509 -newkey rsa:2048 -nodes -keyout "$tmp/key" -out "$tmp/cert" -subj /CN=storesim \
	-addext subjectAltName=IP:127.0.0.1 -days 2 2>/dev/null
sim_start --null --tls-cert "$tmp/cert" --tls-key "$tmp/key"
head -c 20000000 /dev/zero >"$tmp/big"
req PUT /bkt/big -T "$tmp/big" --cacert "$tmp/cert" >/dev/null
req GET /bkt/big --cacert "$tmp/cert" >"$tmp/status"
expect_eq "200 20000000" "$(cat "$tmp/status") $(wc -c <"$tmp/body")" "an object comes back over HTTPS"
expect_eq 000 "$(req GET /bkt/big)" "another authority is not trusted"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Which hosts are asked, and through which proxy: a proxy leads all of them to storesim.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/creds.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
command -v openssl >/dev/null || skip_all "openssl is not installed"
plan 45
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=ckptfs-test \
	-addext subjectAltName=IP:127.0.0.1,DNS:store.test -keyout "$tmp/tls.key" -out "$tmp/tls.pem" 2>/dev/null

# proxied: a proxy before the server that runs: $proxy; what it was asked for is in $asked
proxied() {
	[ -z "${proxy_pid:-}" ] || { kill "$proxy_pid" && wait "$proxy_pid"; } 2>/dev/null
	: >"$tmp/proxy.out"
	python3 "$srcdir/tests/lib/proxy.py" "$host" "$asked" >"$tmp/proxy.out" 2>"$tmp/proxy.err" &
	proxy_pid=$!
	wait_for 30 grep -q '^listening on ' "$tmp/proxy.out"
	proxy=http://$(sed -n 's/^listening on //p' "$tmp/proxy.out")
}
at_exit 'kill $proxy_pid 2>/dev/null'
asked=$tmp/asked
keys='AWS_ACCESS_KEY_ID=unused AWS_SECRET_ACCESS_KEY=unused AWS_EC2_METADATA_DISABLED=true'

identity '{"keys": {}}'
proxied
opens "a store is reached through a proxy" "http_proxy=$proxy" $keys -oendpoint=http://store.test
check "the proxy is asked for the store" grep -q '^GET http://store.test/bkt' "$asked"
opens "a store is reached through a proxy for all protocols" "all_proxy=$proxy" $keys -oendpoint=http://store.test
: >"$asked"
refused "a proxy is not used for a host that is excepted" 'host unknown|does not answer' "http_proxy=$proxy" NO_PROXY=store.test \
	$keys -oendpoint=http://store.test
refused "a proxy is not used for a host of an excepted domain" 'host unknown|does not answer' "http_proxy=$proxy" no_proxy=.test \
	$keys -oendpoint=http://store.test
opens "a proxy is not used for this machine" "http_proxy=$proxy" $keys
expect_eq "" "$(cat "$asked")" "a proxy that is not used is asked nothing"
refused "a proxy that is not there is told" 'or the proxy in http_proxy$' http_proxy=http://127.0.0.1:1 \
	$keys -oendpoint=http://store.test

# asks NAME HOST VAR=VALUE...: this host is the last that was asked
asks() {
	name=$1 want=$2; shift 2
	: >"$asked"
	try "https_proxy=$proxy" -oendpoint= "$@"
	expect_eq "CONNECT $want:443" "$(tail -n 1 "$asked")" "$name"
}
bucket_url=gs://bkt
identity '{"gce.universe": {"universe": "apis.machine.example"}}'
proxied
asks "a machine in another universe tells it" storage.apis.machine.example "GCE_METADATA_HOST=$host"
identity '{"gce.universe": {"answer": "refuse", "status": 404}}'
proxied
asks "a machine that tells no universe is in Google's own" storage.googleapis.com "GCE_METADATA_HOST=$host"
bucket_url=s3://bkt

sim_options="--tls-cert $tmp/tls.pem --tls-key $tmp/tls.key"
identity '{"issue": {"only": true}, "keys": {}, "imds.region": {"region": "eu-north-1"}, "imds.credentials": {}}'
proxied
# Authorities of the machine are those in a folder which only this command sees.
mkdir "$tmp/certs"
cp "$tmp/tls.pem" "$tmp/certs/$(openssl x509 -hash -noout -in "$tmp/tls.pem").0"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=other \
	-keyout /dev/null -out "$tmp/other.pem" 2>/dev/null
cp "$tmp/other.pem" "$tmp/certs/ca-certificates.crt"
of_machine="unshare -rm sh -c 'mount --bind \"\$0\" /etc/ssl/certs && exec \"\$@\"' $tmp/certs"
if eval "$of_machine true" 2>/dev/null; then
	as_who=$of_machine
	opens "an authority of the machine is trusted" $keys
	refused "no authority of the machine is trusted beside those of a bundle" 'cannot be trusted' $keys -oca_bundle="$tmp/other.pem"
	as_who=''
else
	skip "an authority of the machine is trusted" "unshare cannot mount"
	skip "no authority of the machine is trusted beside those of a bundle" "unshare cannot mount"
fi
opens "a store with TLS is reached through a tunnel" "HTTPS_PROXY=$proxy" $keys -oendpoint=https://store.test -oca_bundle="$tmp/tls.pem"
check "the tunnel leads to the host" grep -qx 'CONNECT store.test:443' "$asked"
refused "the name of the host behind a tunnel is checked" 'cannot be trusted.*give the name' "https_proxy=$proxy" $keys -oendpoint=https://other.test \
	-oca_bundle="$tmp/tls.pem"

asks "a bucket is in its region" bkt.s3.eu-west-1.amazonaws.com AWS_REGION=eu-west-1 $keys
asks "the region of the option goes first" bkt.s3.eu-west-2.amazonaws.com AWS_REGION=eu-west-1 -oregion=eu-west-2 $keys
asks "the region is us-east-1 where none is given" bkt.s3.us-east-1.amazonaws.com $keys
asks "the region is the machine's where one is told" bkt.s3.eu-north-1.amazonaws.com AWS_ACCESS_KEY_ID=unused AWS_SECRET_ACCESS_KEY=unused \
	"AWS_EC2_METADATA_SERVICE_ENDPOINT=$url" "AWS_CA_BUNDLE=$tmp/tls.pem"
asks "a region in China has another domain" bkt.s3.cn-north-1.amazonaws.com.cn AWS_REGION=cn-north-1 $keys
asks "a region of the European sovereign cloud has another domain" bkt.s3.eusc-de-east-1.amazonaws.eu AWS_REGION=eusc-de-east-1 $keys
asks "an isolated region of us-iso has another domain" bkt.s3.us-iso-east-1.c2s.ic.gov AWS_REGION=us-iso-east-1 $keys
asks "an isolated region of us-isob has another domain" bkt.s3.us-isob-east-1.sc2s.sgov.gov AWS_REGION=us-isob-east-1 $keys
asks "an isolated region of eu-isoe has another domain" bkt.s3.eu-isoe-west-1.cloud.adc-e.uk AWS_REGION=eu-isoe-west-1 $keys
asks "an isolated region of us-isof has another domain" bkt.s3.us-isof-south-1.csp.hci.ic.gov AWS_REGION=us-isof-south-1 $keys
refused "S3 in China has no names for FIPS" 'no servers for FIPS' AWS_REGION=cn-north-1 AWS_USE_FIPS_ENDPOINT=true $keys -oendpoint=
asks "a bucket has a name for FIPS" bkt.s3-fips.us-west-2.amazonaws.com AWS_REGION=us-west-2 AWS_USE_FIPS_ENDPOINT=true $keys
asks "a bucket has a name for dual-stack" bkt.s3.dualstack.us-west-2.amazonaws.com AWS_REGION=us-west-2 AWS_USE_DUALSTACK_ENDPOINT=true $keys
printf '[default]\nuse_fips_endpoint = true\nuse_dualstack_endpoint = true\nregion = us-west-2\n' >"$home/.aws/config"
asks "the profile asks for FIPS and dual-stack" bkt.s3-fips.dualstack.us-west-2.amazonaws.com $keys
rm "$home/.aws/config"
bucket_url=s3://a.b
asks "a name with dots is in the path" s3.eu-west-1.amazonaws.com AWS_REGION=eu-west-1 $keys
bucket_url=s3://ckpt--usw2-az1--x-s3
asks "a directory bucket is in its zone" ckpt--usw2-az1--x-s3.s3express-usw2-az1.us-west-2.amazonaws.com \
	AWS_REGION=us-west-2 $keys
bucket_url=gs://bkt
asks "a bucket of Google's is at one name" storage.googleapis.com -oanonymous
asks "a bucket of Google's is at another name in another universe" storage.apis.example -oanonymous GOOGLE_CLOUD_UNIVERSE_DOMAIN=apis.example
openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out "$tmp/key.pem" 2>/dev/null
cat >"$tmp/sa.json" <<END
{"type": "service_account", "client_email": "a@b", "universe_domain": "apis.file.example",
 "private_key": "$(awk '{ printf "%s\\n", $0 }' "$tmp/key.pem")"}
END
asks "a credential file tells the universe, and its claim is the token" storage.apis.file.example \
	"GOOGLE_APPLICATION_CREDENTIALS=$tmp/sa.json"
expect_eq 1 "$(grep -c . "$asked")" "no token server is asked"
bucket_url=s3://bkt
cat >"$home/.aws/config" <<END
[profile role]
role_arn = arn:aws:iam::111122223333:role/r
credential_source = Environment
region = eu-central-1
END
asks "a role is asked for in the region" sts.eu-central-1.amazonaws.com -oprofile=role $keys
asks "a role is asked for in the region's partition" sts.us-iso-east-1.c2s.ic.gov -oprofile=role AWS_REGION=us-iso-east-1 $keys
asks "a role is asked for by FIPS" sts-fips.us-west-2.amazonaws.com -oprofile=role AWS_REGION=us-west-2 AWS_USE_FIPS_ENDPOINT=true $keys
asks "a role is asked for at GovCloud's server, which is FIPS's" sts.us-gov-west-1.amazonaws.com -oprofile=role AWS_REGION=us-gov-west-1 \
	AWS_USE_FIPS_ENDPOINT=true $keys
asks "a role is asked for by dual-stack" sts.us-west-2.api.aws -oprofile=role AWS_REGION=us-west-2 AWS_USE_DUALSTACK_ENDPOINT=true $keys
cat >"$home/.aws/config" <<END
[default]
sso_session = corp
sso_account_id = 1
sso_role_name = r
region = us-west-2
[sso-session corp]
sso_region = us-east-2
sso_start_url = https://corp.example/start
END
login() {
	printf '{"accessToken": "t", "expiresAt": "%s", "clientId": "i", "clientSecret": "c", "refreshToken": "r"}' "$1" \
		>"$home/.aws/sso/cache/$(printf corp | sha1sum | cut -d ' ' -f 1).json"
}
login 2099-01-01T00:00:00Z
asks "single sign-on gives a role" portal.sso.us-east-2.amazonaws.com AWS_EC2_METADATA_DISABLED=true
asks "single sign-on gives a role by FIPS" portal.sso-fips.us-east-2.amazonaws.com AWS_USE_FIPS_ENDPOINT=true AWS_EC2_METADATA_DISABLED=true
login 2020-01-01T00:00:00Z
asks "a login is renewed by FIPS" oidc-fips.us-east-2.amazonaws.com AWS_USE_FIPS_ENDPOINT=true AWS_EC2_METADATA_DISABLED=true
bucket_url=gs://bkt
: >"$asked"
try "http_proxy=$proxy" -oendpoint=http://127.example.test:1 -oanonymous
check "a proxy is used for a host that has a name like this machine's number" grep -q 127.example.test "$asked"
no_secrets

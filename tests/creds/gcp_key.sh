#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Google: the key file of a service account.
scheme=gs
. "$srcdir/tests/lib/creds.sh"
command -v openssl >/dev/null || skip_all "openssl is not installed"
plan 33
openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out "$tmp/key.pem" 2>/dev/null
openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out "$tmp/other.pem" 2>/dev/null
openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$tmp/ec.pem" 2>/dev/null
openssl pkey -in "$tmp/key.pem" -pubout -out "$tmp/pub.pem" 2>/dev/null
openssl rsa -in "$tmp/key.pem" -traditional -out "$tmp/pkcs1.pem" 2>/dev/null
# account FILE KEY: a credential file with that key
account() {
	cat >"$1" <<END
{"type": "service_account", "project_id": "p", "private_key_id": "id1", "client_email": "a@b",
 "private_key": "$(awk '{ printf "%s\\n", $0 }' "$2")", "token_uri": "$url/oauth2/token"}
END
}
nowhere=GCE_METADATA_HOST=127.0.0.1:1
demands="\"oauth2.token\": {\"public_key\": \"$tmp/pub.pem\", \"email\": \"a@b\""
identity "{\"issue\": {\"only\": true}, $demands}}"
account "$tmp/sa.json" "$tmp/key.pem"
account "$tmp/other.json" "$tmp/other.pem"
account "$tmp/ec.json" "$tmp/ec.pem"
account "$tmp/pkcs1.json" "$tmp/pkcs1.pem"
named() { echo "GOOGLE_APPLICATION_CREDENTIALS=$1"; }

opens "a signed claim gives a token" "$(named "$tmp/sa.json")"
expect_eq 1 "$(served oauth2.token)" "a claim costs one request"
opens "the option names a file before the variable" -ocredentials="$tmp/sa.json" "$(named "$tmp/none")"
opens "a key in the older format signs, too" "$(named "$tmp/pkcs1.json")"
cp "$tmp/sa.json" "$home/.config/gcloud/application_default_credentials.json"
opens "gcloud's place is looked at" "$nowhere"
mkdir "$tmp/sdk"
cp "$tmp/sa.json" "$tmp/sdk/application_default_credentials.json"
rm "$home/.config/gcloud/application_default_credentials.json"
opens "gcloud's place is looked at where it was moved" "$nowhere" "CLOUDSDK_CONFIG=$tmp/sdk"
refused "another key is refused" 'invalid_grant.*Invalid JWT Signature.*make another key' "$(named "$tmp/other.json")"
refused "a key that is no RSA key is told" 'ec.json is no RSA key in PEM' "$(named "$tmp/ec.json")"
sed 's/BEGIN/BEG/' "$tmp/sa.json" >"$tmp/nokey.json"
refused "a broken key is told" 'no RSA key in PEM' "$(named "$tmp/nokey.json")"
refused "a file that is missing is told" "$tmp/none: No such file.*GOOGLE_APPLICATION_CREDENTIALS names it" "$(named "$tmp/none")"
head -c 300 "$tmp/sa.json" >"$tmp/cut.json"
refused "a file that was cut is told" 'cut.json is no JSON of a credential' "$(named "$tmp/cut.json")"
echo '[]' >"$tmp/list.json"
refused "a file of something else is told" 'list.json is no JSON of a credential' "$(named "$tmp/list.json")"
echo '{"type": "gdch_service_account"}' >"$tmp/kind.json"
refused "a kind that is not served is told" 'kind "gdch_service_account": give one' "$(named "$tmp/kind.json")"
echo '{"client_email": "a@b"}' >"$tmp/untyped.json"
refused "a file without a kind is told" 'has no "type"' "$(named "$tmp/untyped.json")"
sed 's/a@b/c@d/' "$tmp/sa.json" >"$tmp/who.json"
mkdir "$tmp/folder"
refused "a folder in place of a file is told" "folder: not a file .*GOOGLE_APPLICATION_CREDENTIALS names it: correct that" "$(named "$tmp/folder")"
if [ -n "$cannot_read" ]; then
	as_who=$cannot_read
	cp "$tmp/sa.json" "$tmp/locked.json"
	chmod 000 "$tmp/locked.json"
	refused "a file that may not be read is told" \
		'locked.json: Permission denied: GOOGLE_APPLICATION_CREDENTIALS names it: .*make the file readable' \
		"$(named "$tmp/locked.json")"
	refused "a file that may not be read is told where the option names it" 'locked.json: Permission denied: credentials= names it: ' \
		-ocredentials="$tmp/locked.json"
	mv "$tmp/locked.json" "$home/.config/gcloud/application_default_credentials.json"
	refused "a file that may not be read is told where gcloud left it" 'application_default_credentials.json: Permission denied: make it readable' "$nowhere"
	rm "$home/.config/gcloud/application_default_credentials.json"
	as_who=''
else
	for name in "a file that may not be read is told" "a file that may not be read is told where the option names it" "a file that may not be read is told where gcloud left it"; do
		skip "$name" "setpriv cannot take the right to read all files"
	done
fi
refused "another account is refused" 'token server at .* answers 400' "$(named "$tmp/who.json")"
refused "each source and its reason are named where none has a token" \
	'no credentials \(credentials=: .*GOOGLE_APPLICATION_CREDENTIALS: .*gcloud: .*metadata server: .*\): run' "$nowhere"

identity "{\"issue\": {\"only\": true}, $demands, \"answer\": \"expired\"}}"
account "$tmp/sa.json" "$tmp/key.pem"
refused "a token that has expired is no answer" 'expired|does not know' "$(named "$tmp/sa.json")"
identity "{\"issue\": {\"only\": true}, $demands, \"answer\": \"garbage\"}}"
account "$tmp/sa.json" "$tmp/key.pem"
refused "a web page is taken for no credentials" 'no JSON' "$(named "$tmp/sa.json")"
identity "{\"issue\": {\"only\": true}, $demands, \"delay\": \"2s\"}}"
account "$tmp/sa.json" "$tmp/key.pem"
opens "a slow answer is waited for" "$(named "$tmp/sa.json")"
identity "{\"issue\": {\"only\": true}, $demands, \"answer\": \"refuse\", \"status\": 503, \"times\": 1}}"
account "$tmp/sa.json" "$tmp/key.pem"
opens "an error that passes is tried again" "$(named "$tmp/sa.json")"
# The claim is of the server's clock, and how long the token lasts is told in seconds.
for off in 2h -2h -2m; do
	sim_options="--clock-skew $off"
	identity "{\"issue\": {\"only\": true}, $demands}}"
	account "$tmp/sa.json" "$tmp/key.pem"
	opens "a claim is made though the servers' clock differs by $off" "$(named "$tmp/sa.json")"
done
sim_options='--clock-skew -2h'
identity "{\"issue\": {\"only\": true}, $demands, \"answer\": \"refuse\", \"status\": 400, \"body\": \"{}\"}}"
account "$tmp/sa.json" "$tmp/key.pem"
refused "a claim that is refused for another reason stays that" 'make another key, or set the clock' "$(named "$tmp/sa.json")"
expect_eq 2 "$(served oauth2.token)" "a claim that is refused is made once more where the clocks differ"
sim_options="--faults $tmp/faults.json"
cat >"$tmp/faults.json" <<'END'
[{"op": "objects.list", "do": "status", "status": 403, "code": "forbidden",
  "message": "a@b does not have storage.objects.list access to the Google Cloud Storage bucket."}]
END
identity "{\"issue\": {\"only\": true}, $demands}}"
account "$tmp/sa.json" "$tmp/key.pem"
refused "a bucket of another project is told with the role to give" \
	'access to bucket bkt denied by .*403 a@b does not have storage.objects.list access.*roles/storage.objectUser' \
	"$(named "$tmp/sa.json")"
bucket_url=gs://other-bucket
refused "a name of no bucket is told" 'bucket other-bucket does not exist at .*correct the URL' "$(named "$tmp/sa.json")"
bucket_url=gcs://bkt
refused "another way to write the scheme is told the right one" 'give gs://' "$(named "$tmp/sa.json")"
no_secrets

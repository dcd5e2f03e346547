#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Google: HMAC keys, which sign requests of the XML API.
scheme=gs
. "$srcdir/tests/lib/creds.sh"
plan 13
nowhere=GCE_METADATA_HOST=127.0.0.1:1
id=CLOUDSDK_STORAGE_GS_XML_ACCESS_KEY_ID secret=CLOUDSDK_STORAGE_GS_XML_SECRET_ACCESS_KEY
identity '{"issue": {"only": true}, "keys": {}}'
# key FILE ID SECRET: as gcloud storage hmac create --format=json prints it
key() {
	printf '{"kind": "storage#hmacKey", "metadata": {"accessId": "%s", "state": "ACTIVE"}, "secret": "%s"}' \
		"$2" "$3" >"$1"
}
key "$tmp/key.json" unused unused
key "$tmp/wrong.json" unused topsecret-wrong
opens "keys of the environment sign" $id=unused $secret=unused
check "all requests are of the XML API" sh -c '[ -s "$1" ] && ! grep -qE " (objects|buckets|gce)\." "$1"' sh "$requests"
opens "keys of a file sign" -ocredentials="$tmp/key.json" $nowhere
opens "keys sign where other credentials are named, too" "GOOGLE_APPLICATION_CREDENTIALS=$tmp/key.json"
opens "the keys of the file go first" -ocredentials="$tmp/key.json" $id=unused $secret=topsecret-wrong
refused "a secret that is wrong is refused" 'SignatureDoesNotMatch|signature' $id=unused $secret=topsecret-wrong
refused "a key that is not known is refused" 'access key ID|denied' $id=other $secret=unused
refused "a wrong key in a file is refused" 'signature|denied' -ocredentials="$tmp/wrong.json" $nowhere
refused "half a pair is told" "$secret is not: set both" $id=unused
refused "half a pair is told, whichever half" "$id is not: set both" $secret=unused
printf '{"kind": "storage#hmacKey", "secret": "topsecret"}' >"$tmp/part.json"
refused "a file that has half a pair is told" 'has no "accessId"' -ocredentials="$tmp/part.json" $nowhere
refused "what only tokens can do is refused" 'needs an OAuth token' $id=unused $secret=unused -oupload=compose
no_secrets

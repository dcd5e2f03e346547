#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Keys in the environment, and what is said when nobody has any.
. "$srcdir/tests/lib/creds.sh"
plan 9
identity '{"issue": {"only": true}}'
opens "keys in the environment sign" AWS_ACCESS_KEY_ID=unused AWS_SECRET_ACCESS_KEY=unused
refused "a wrong secret is told" 'signature.*AWS_SECRET_ACCESS_KEY' \
	AWS_ACCESS_KEY_ID=unused AWS_SECRET_ACCESS_KEY=topsecret
refused "an unknown key is told" 'does not know the access key' \
	AWS_ACCESS_KEY_ID=other AWS_SECRET_ACCESS_KEY=topsecret
refused "a session token that is none is told" 'InvalidToken|InvalidAccessKeyId|does not know' \
	AWS_ACCESS_KEY_ID=other AWS_SECRET_ACCESS_KEY=topsecret AWS_SESSION_TOKEN=topsecret2
refused "half a pair is refused" 'AWS_ACCESS_KEY_ID is set but AWS_SECRET_ACCESS_KEY is not' \
	AWS_ACCESS_KEY_ID=unused
refused "each source and its reason are named where none has keys" \
	'no credentials \(environment: .* not set; profile: .*; web identity: .*; container: .*; instance metadata: .*\): set' \
	AWS_EC2_METADATA_DISABLED=true
refused "a metadata server that is not there is named with its address" \
	'instance metadata: .*127\.0\.0\.1:1' AWS_EC2_METADATA_SERVICE_ENDPOINT=http://127.0.0.1:1
refused "anonymous requests are sent without keys, and refused by this bucket" 'denied' -oanonymous
no_secrets

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Roles that profiles assume, one with the credentials of another.
. "$srcdir/tests/lib/creds.sh"
plan 21
cat >"$home/.aws/credentials" <<'END'
[base]
aws_access_key_id = AKBASE
aws_secret_access_key = topsecret1
[wrong]
aws_access_key_id = AKBASE
aws_secret_access_key = topsecret2
END
cat >"$home/.aws/config" <<'END'
[profile role]
role_arn = arn:aws:iam::1:role/r
source_profile = base
external_id = ext
role_session_name = here
duration_seconds = 900
[profile self]
role_arn = arn:aws:iam::1:role/r
source_profile = self
external_id = ext
aws_access_key_id = AKBASE
aws_secret_access_key = topsecret1
[profile chain]
role_arn = arn:aws:iam::1:role/r
source_profile = role
external_id = ext
[profile environment]
role_arn = arn:aws:iam::1:role/r
credential_source = Environment
external_id = ext
[profile instance]
role_arn = arn:aws:iam::1:role/r
credential_source = Ec2InstanceMetadata
external_id = ext
[profile badsource]
role_arn = arn:aws:iam::1:role/r
source_profile = wrong
external_id = ext
[profile noext]
role_arn = arn:aws:iam::1:role/r
source_profile = base
[profile a]
role_arn = arn:aws:iam::1:role/r
source_profile = b
[profile b]
role_arn = arn:aws:iam::1:role/r
source_profile = a
[profile neither]
role_arn = arn:aws:iam::1:role/r
[profile odd]
role_arn = arn:aws:iam::1:role/r
credential_source = Moon
[profile mfa]
role_arn = arn:aws:iam::1:role/r
source_profile = base
mfa_serial = arn:aws:iam::1:mfa/me
[profile lost]
role_arn = arn:aws:iam::1:role/r
source_profile = nowhere
END
sts() { echo "AWS_ENDPOINT_URL_STS=$url"; }
demands='"keys": {"AKBASE": "topsecret1"}, "sts.AssumeRole": {"role_arn": "arn:aws:iam::1:role/r", "external_id": "ext"'

identity "{\"issue\": {\"only\": true}, $demands}}"
opens "a role is assumed with the source profile's keys" "$(sts)" AWS_PROFILE=role
expect_eq 1 "$(served sts.AssumeRole)" "a role costs one request"
opens "a role is assumed with the profile's own keys" "$(sts)" -oprofile=self
opens "a role is assumed with the keys of a role before it" "$(sts)" AWS_PROFILE=chain
opens "a role is assumed with the keys of the environment" "$(sts)" -oprofile=environment AWS_ACCESS_KEY_ID=AKBASE \
	AWS_SECRET_ACCESS_KEY=topsecret1
opens "a role is assumed with the keys of the instance" "$(sts)" AWS_PROFILE=instance "AWS_EC2_METADATA_SERVICE_ENDPOINT=$url"
identity "{\"issue\": {\"only\": true}, \"imds.token\": {\"delay\": \"3s\", \"times\": 1}, $demands}}"
refused "the instance's role is not taken in place of the role when its first answer is slow" 'hop limit' \
	"$(sts)" AWS_PROFILE=instance "AWS_EC2_METADATA_SERVICE_ENDPOINT=$url" AWS_METADATA_SERVICE_TIMEOUT=
refused "a wrong key is refused by STS" 'STS at .* 403 SignatureDoesNotMatch' "$(sts)" AWS_PROFILE=badsource
refused "a role that wants an external id is told by name" 'AccessDenied.*assume arn:aws:iam::1:role/r' \
	"$(sts)" AWS_PROFILE=noext
refused "a chain that leads back ends" "leads back to 'a'" "$(sts)" AWS_PROFILE=a
refused "a role without a source is told" 'neither source_profile' "$(sts)" AWS_PROFILE=neither
refused "a source that is none is told" 'credential_source .Moon. is none' "$(sts)" AWS_PROFILE=odd
refused "a code of a device cannot be asked for" 'mfa_serial.*cannot ask' "$(sts)" AWS_PROFILE=mfa
refused "a source profile that is missing is told" "'nowhere', the source_profile of 'lost'" \
	"$(sts)" AWS_PROFILE=lost

identity "{\"issue\": {\"only\": true}, $demands, \"answer\": \"expired\"}}"
refused "keys that have expired are no answer" 'credentials from profile have expired: renew' \
	"$(sts)" AWS_PROFILE=role
identity "{\"issue\": {\"only\": true}, $demands, \"answer\": \"garbage\"}}"
refused "a web page is taken for no credentials" 'STS answers with something that holds no credentials' "$(sts)" AWS_PROFILE=role
identity "{\"issue\": {\"only\": true}, $demands, \"delay\": \"2s\"}}"
opens "a slow answer is waited for" "$(sts)" AWS_PROFILE=role
identity "{\"issue\": {\"only\": true}, $demands, \"answer\": \"refuse\", \"status\": 503, \"times\": 1}}"
opens "an error that passes is tried again" "$(sts)" AWS_PROFILE=role
# What signs, and when that ends, is of the servers' clock.
for off in 2h -2h; do
	sim_options="--clock-skew $off"
	identity "{\"issue\": {\"only\": true}, $demands}}"
	opens "a role is assumed though the servers' clock differs by $off" "$(sts)" AWS_PROFILE=role
done
no_secrets

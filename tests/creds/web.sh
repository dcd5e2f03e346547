#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Web identity, as pods have it.
. "$srcdir/tests/lib/creds.sh"
plan 17
arn=AWS_ROLE_ARN=arn:aws:iam::1:role/web
file=AWS_WEB_IDENTITY_TOKEN_FILE=$tmp/token
echo topsecret-web >"$tmp/token"
cat >"$home/.aws/config" <<END
[profile web]
role_arn = arn:aws:iam::1:role/web
web_identity_token_file = $tmp/token
END
sts() { echo "AWS_ENDPOINT_URL_STS=$url"; }
demands='"sts.AssumeRoleWithWebIdentity": {"role_arn": "arn:aws:iam::1:role/web", "token": "topsecret-web"'

identity "{\"issue\": {\"only\": true}, $demands}}"
opens "the token in the file assumes the role" "$(sts)" "$arn" "$file"
expect_eq 1 "$(served sts.AssumeRoleWithWebIdentity)" "a token costs one request"
opens "a token that a profile names assumes the role" "$(sts)" AWS_PROFILE=web
refused "a file without a role is refused" 'AWS_ROLE_ARN is not' "$(sts)" "$file"
refused "a file that is missing is told" "$tmp/none: No such file" \
	"$(sts)" "$arn" "AWS_WEB_IDENTITY_TOKEN_FILE=$tmp/none"
refused "a directory in place of a token is told" "$tmp: not a file" "$(sts)" "$arn" "AWS_WEB_IDENTITY_TOKEN_FILE=$tmp"
echo topsecret-other >"$tmp/token"
refused "a token that is refused is told" 'InvalidIdentityToken.*assume arn:aws:iam::1:role/web' \
	"$(sts)" "$arn" "$file"
echo topsecret-web >"$tmp/token"
for answer in expired:'expired' garbage:'holds no credentials'; do
	identity "{\"issue\": {\"only\": true}, $demands, \"answer\": \"${answer%%:*}\"}}"
	refused "an answer that is ${answer%%:*} is told" "${answer#*:}" "$(sts)" "$arn" "$file"
done
identity "{\"issue\": {\"only\": true}, $demands, \"delay\": \"2s\"}}"
opens "a slow answer is waited for" "$(sts)" "$arn" "$file"
identity "{\"issue\": {\"only\": true}, $demands, \"answer\": \"refuse\", \"status\": 503, \"times\": 1}}"
opens "an error that passes is tried again" "$(sts)" "$arn" "$file"
# "Throttling" and "IDPCommunicationError" come with 400, and are tried again (AWS SDKs and Tools reference guide, "Retry
# behavior"; STS API reference, AssumeRoleWithWebIdentity).
says() { echo "\"answer\": \"refuse\", \"status\": 400, \"body\": \"<ErrorResponse><Error><Code>$1</Code><Message>m</Message></Error></ErrorResponse>\""; }
for code in Throttling IDPCommunicationError; do
	identity "{\"issue\": {\"only\": true}, $demands, $(says $code), \"times\": 3}}"
	opens "a service that says $code is asked again" "$(sts)" "$arn" "$file"
	expect_eq 4 "$(served sts.AssumeRoleWithWebIdentity)" "a service that says $code is asked until it answers"
done
identity "{\"issue\": {\"only\": true}, $demands, $(says MalformedPolicyDocument), \"times\": 1}}"
refused "a request that is bad is not sent again" 'MalformedPolicyDocument' "$(sts)" "$arn" "$file"
no_secrets

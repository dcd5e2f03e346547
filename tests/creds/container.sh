#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Credentials of a container or pod.
. "$srcdir/tests/lib/creds.sh"
plan 16
echo topsecret-task >"$tmp/token"
full() { echo "AWS_CONTAINER_CREDENTIALS_FULL_URI=$url/ecs/credentials"; }
file=AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=$tmp/token

identity '{"issue": {"only": true}, "ecs.credentials": {"authorization": "topsecret-task"}}'
opens "a token in a file opens" "$(full)" "$file"
opens "a token in the environment opens" "$(full)" AWS_CONTAINER_AUTHORIZATION_TOKEN=topsecret-task
refused "a wrong token is refused" 'container credentials at .* answers 4..' \
	"$(full)" AWS_CONTAINER_AUTHORIZATION_TOKEN=topsecret-other
refused "a lack of a token is refused" 'container credentials at .* answers 4..' "$(full)"
refused "a file that is missing is told" "$tmp/none: No such file" \
	"$(full)" AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE="$tmp/none"
printf 'topsecret\nX-Header: y' >"$tmp/two"
refused "a token of two lines goes nowhere" 'more than one line' \
	"$(full)" AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE="$tmp/two"
refused "plain HTTP asks no host beyond this machine" 'plain HTTP' \
	AWS_CONTAINER_CREDENTIALS_FULL_URI=http://example.invalid/ecs
refused "plain HTTP asks no host that looks like this machine" 'plain HTTP' \
	AWS_CONTAINER_CREDENTIALS_FULL_URI=http://127.0.0.1@example.invalid/ecs
refused "a path without its slash is told" 'RELATIVE_URI' AWS_CONTAINER_CREDENTIALS_RELATIVE_URI=x

identity '{"issue": {"only": true}, "ecs.credentials": {"answer": "expired"}}'
refused "keys that have expired are no answer" 'credentials from container have expired: renew' "$(full)"
identity '{"issue": {"only": true}, "ecs.credentials": {"answer": "garbage"}}'
refused "a web page is taken for no credentials" 'no JSON' "$(full)"
identity '{"issue": {"only": true}, "ecs.credentials": {"delay": "20s"}}'
refused "a server that hangs is not left for the instance's role" '^ckptctl: container credentials at .*[Tt]imed out' \
	"$(full)" "AWS_EC2_METADATA_SERVICE_ENDPOINT=$url" AWS_METADATA_SERVICE_TIMEOUT=
expect_eq 0 "$(served imds.token)" "the instance's role is not asked"
identity '{"issue": {"only": true}, "ecs.credentials": {"answer": "refuse", "status": 429}}'
refused "a server that refuses is not left for the instance's role" 'container credentials at .* answers 429' \
	"$(full)" "AWS_EC2_METADATA_SERVICE_ENDPOINT=$url"
identity '{"issue": {"only": true}, "ecs.credentials": {"answer": "refuse", "status": 503, "times": 1}}'
opens "an error that passes is tried again" "$(full)"
no_secrets

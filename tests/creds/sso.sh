#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Single sign-on: a login that the vendor's tool has cached.
. "$srcdir/tests/lib/creds.sh"
plan 25
start_url=https://corp.example/start
cat >"$home/.aws/config" <<END
[profile new]
sso_session = corp
sso_account_id = 111122223333
sso_role_name = admin
[sso-session corp]
sso_region = eu-west-1
sso_start_url = $start_url
[profile old]
sso_start_url = $start_url
sso_region = eu-west-1
sso_account_id = 111122223333
sso_role_name = admin
[profile other]
sso_session = corp
sso_account_id = 111122223333
sso_role_name = other
[profile lost]
sso_session = gone
sso_account_id = 111122223333
sso_role_name = admin
[profile part]
sso_session = corp
sso_role_name = admin
END
# cached NAME TOKEN EXPIRES: a login under the name of a session or URL
cached() {
	sum=$(printf %s "$1" | sha1sum | cut -d ' ' -f 1)
	printf '{"startUrl": "x", "accessToken": "%s", "expiresAt": "%s"}' "$2" "$3" \
		>"$home/.aws/sso/cache/$sum.json"
}
sso() { echo "AWS_ENDPOINT_URL_SSO=$url"; }
demands='"sso.credentials": {"token": "topsecret-sso", "account_id": "111122223333", "role_name": "admin"'

identity "{\"issue\": {\"only\": true}, $demands}}"
refused "the command for a login is told where there is none" 'no login is cached .* aws sso login --profile new' \
	"$(sso)" AWS_PROFILE=new
cached corp topsecret-sso 2099-01-01T00:00:00Z
opens "a session's login gives the role's keys" "$(sso)" AWS_PROFILE=new
expect_eq 1 "$(served sso.credentials)" "the role's keys cost one request"
refused "a role that the login has not is refused" 'answers 403.*aws sso login' "$(sso)" AWS_PROFILE=other
refused "a session that is missing is told" "sso_session 'gone'" "$(sso)" AWS_PROFILE=lost
refused "a setting that is missing is told" 'no sso_account_id' "$(sso)" AWS_PROFILE=part
refused "a login without a session has its own place" 'no login is cached' "$(sso)" AWS_PROFILE=old
cached "$start_url" topsecret-sso 2099-01-01T00:00:00UTC
opens "a login without a session is found at its own place" "$(sso)" AWS_PROFILE=old
cached corp topsecret-sso 2020-01-01T00:00:00Z
refused "a login that has expired is told" 'login has expired: run aws sso login' "$(sso)" AWS_PROFILE=new
cached corp topsecret-wrong 2099-01-01T00:00:00Z
refused "a login that is refused is told" 'answers 401.*run aws sso login' "$(sso)" AWS_PROFILE=new
cached corp topsecret-sso 2099-01-01T00:00:00Z
identity "{\"issue\": {\"only\": true}, $demands, \"answer\": \"expired\"}}"
refused "keys that have expired are no answer" 'credentials from profile have expired: renew' "$(sso)" AWS_PROFILE=new
identity "{\"issue\": {\"only\": true}, $demands, \"answer\": \"garbage\"}}"
refused "a web page is taken for no credentials" 'no JSON' "$(sso)" AWS_PROFILE=new
identity "{\"issue\": {\"only\": true}, $demands, \"delay\": \"2s\"}}"
opens "a slow answer is waited for" "$(sso)" AWS_PROFILE=new

# A login of a session that comes with what renews it.
renewable() {
	sum=$(printf %s corp | sha1sum | cut -d ' ' -f 1) cache=$home/.aws/sso/cache/$sum.json
	printf '{"startUrl": "x", "accessToken": "topsecret-old", "expiresAt": "%s", "clientId": "id", ' "$1" >"$cache"
	printf '"clientSecret": "topsecret-client", "registrationExpiresAt": "%s", ' "$2" >>"$cache"
	printf '"scopes": ["kept"], "refreshToken": "%s"}' "$3" >>"$cache"
	chmod 600 "$cache"
}
oidc() { echo "AWS_ENDPOINT_URL_SSO_OIDC=$url"; }
past=2020-01-01T00:00:00Z future=2099-01-01T00:00:00Z
identity "{\"issue\": {\"only\": true}, $demands}, \"sso.token\": {\"refresh_token\": \"topsecret-refresh\"}}"
renewable $past $future topsecret-refresh
opens "a session's login that has expired is renewed" "$(sso)" "$(oidc)" AWS_PROFILE=new
expect_eq "1 x 600 1" "$(grep -c topsecret-sso "$cache") $(sed -n 's/.*"startUrl":[^"]*"\([^"]*\)".*/\1/p' "$cache") $(stat -c %a "$cache") $(grep -c kept "$cache")" \
	"a renewed login is kept in the cache as the vendor's tool does"
opens "a renewed login is found the next time" "$(sso)" "$(oidc)" AWS_PROFILE=new
expect_eq 1 "$(served sso.token)" "a login is renewed once"
renewable $past $future topsecret-wrong
refused "a renewal that is refused is told with the command for a login" 'login has expired: run aws sso login' \
	"$(sso)" "$(oidc)" AWS_PROFILE=new
renewable $past $past topsecret-refresh
refused "a registration that has ended renews nothing" 'login has expired' "$(sso)" "$(oidc)" AWS_PROFILE=new
identity "{\"issue\": {\"only\": true}, $demands}, \"sso.token\": {\"refresh_token\": \"topsecret-refresh\", \"once\": true, \"delay\": \"1s\"}}"
renewable $past $future topsecret-refresh
(tmp=$tmp/other && mkdir "$tmp" && try "$(sso)" "$(oidc)" AWS_PROFILE=new && : >"$tmp/opened") &
other=$!
opens "the first of two programs that renew a login at once gets it" "$(sso)" "$(oidc)" AWS_PROFILE=new
wait $other
check "the second program takes the login that was renewed" [ -e "$tmp/other/opened" ]
expect_eq 1 "$(awk '$2 == "sso.token" && $6 == 200' "$requests" | wc -l)" "the login of both programs was renewed once"
sed -i "s/\"expiresAt\":[^,]*/\"expiresAt\": \"$past\"/" "$cache"
opens "the token that came with a renewal renews the login again" "$(sso)" "$(oidc)" AWS_PROFILE=new
identity "{\"issue\": {\"only\": true}, $demands}, \"sso.token\": {\"answer\": \"garbage\"}}"
renewable $past $future topsecret-refresh
refused "a page in place of a renewal is told" 'no JSON' "$(sso)" "$(oidc)" AWS_PROFILE=new
no_secrets

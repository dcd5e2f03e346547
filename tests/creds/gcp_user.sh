#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Google: a user's login, and service accounts that take another's place.
scheme=gs
. "$srcdir/tests/lib/creds.sh"
plan 21
# files: those that name the server's address
user() {
	printf '{"type": "authorized_user", "client_id": "id", "client_secret": "topsecret-client", '
	printf '"refresh_token": "%s", "token_uri": "%s"}' "$1" "$url/oauth2/token"
}
files() {
	user topsecret-refresh >"$tmp/user.json"
	user topsecret-other >"$tmp/other.json"
	for who in t@b u@b; do
		cat >"$tmp/as-$who.json" <<END
{"type": "impersonated_service_account", "delegates": ["d@b"],
 "service_account_impersonation_url": "$url/v1/projects/-/serviceAccounts/$who:generateAccessToken",
 "source_credentials": $(user topsecret-refresh)}
END
	done
}
named() { echo "GOOGLE_APPLICATION_CREDENTIALS=$tmp/$1.json"; }
login='"oauth2.token": {"client_id": "id", "client_secret": "topsecret-client", "refresh_token": "topsecret-refresh"'
account='"iam.generateAccessToken": {"email": "t@b"'
identity "{\"issue\": {\"only\": true}, $login}, $account}}"
files
opens "a login gives a token" "$(named user)"
refused "a login that has ended is told with the command for another" \
	'answers 400.*gcloud auth application-default login' "$(named other)"
printf '{"type": "authorized_user", "client_id": "id"}' >"$tmp/part.json"
refused "a part of a login is told" 'has no "client_secret"' "$(named part)"
opens "an account takes the user's place" "$(named as-t@b)"
expect_eq 1 "$(served iam.generateAccessToken)" "the account's token costs one request"
refused "an account that may not is told" 'answers 404.*Service Account Token Creator' "$(named as-u@b)"
printf '{"type": "impersonated_service_account", "service_account_impersonation_url": "x"}' >"$tmp/bare.json"
refused "an account without a source is told" 'source_credentials' "$(named bare)"

identity "{\"issue\": {\"only\": true}, \"gsts.oauthtoken\": {\"authorization\": \"Basic $(printf id:topsecret-client | base64)\", \"refresh_token\": \"topsecret-refresh\"}}"
workforce() {
	printf '{"type": "external_account_authorized_user", "audience": "//iam/pool", "client_id": "%s", ' "$1"
	printf '"client_secret": "topsecret-client", "refresh_token": "%s", "token_url": "%s"}' "$2" "$url/google-sts/v1/oauthtoken"
}
workforce id topsecret-refresh >"$tmp/pool.json"
opens "the login of a pool's user gives a token, too" "$(named pool)"
workforce id topsecret-other >"$tmp/pool.json"
refused "a login of a pool's user that has ended is told" 'answers 400 invalid_grant.*gcloud auth application-default login' "$(named pool)"
workforce other topsecret-refresh >"$tmp/pool.json"
refused "another client of the pool's login is refused" 'answers 401 invalid_client' "$(named pool)"
sed 's/"refresh_token"/"other"/' "$tmp/pool.json" >"$tmp/bare-pool.json"
refused "a login of a pool without its refresh token is told" 'has no "refresh_token"' "$(named bare-pool)"

for answer in expired:'expired|does not know' garbage:'no JSON'; do
	identity "{\"issue\": {\"only\": true}, $login, \"answer\": \"${answer%%:*}\"}, $account}}"
	files
	refused "a login's answer that is ${answer%%:*} is told" "${answer#*:}" "$(named user)"
	identity "{\"issue\": {\"only\": true}, $login}, $account, \"answer\": \"${answer%%:*}\"}}"
	files
	refused "an account's answer that is ${answer%%:*} is told" "${answer#*:}" "$(named as-t@b)"
done
identity "{\"issue\": {\"only\": true}, $login, \"delay\": \"1s\"}, $account, \"delay\": \"1s\"}}"
files
opens "slow answers are waited for" "$(named as-t@b)"
identity "{\"issue\": {\"only\": true}, $login}, $account, \"answer\": \"refuse\", \"status\": 503, \"times\": 1}}"
files
opens "an error that passes is tried again" "$(named as-t@b)"
identity "{\"issue\": {\"only\": true}, $login}, $account, \"answer\": \"refuse\", \"status\": 403}}"
files
refused "a refusal names the role to give" 'answers 403.*Service Account Token Creator' "$(named as-t@b)"
for off in 2h -2h; do
	sim_options="--clock-skew $off"
	identity "{\"issue\": {\"only\": true}, $login}, $account}}"
	files
	opens "an account's token lasts though the servers' clock differs by $off" "$(named as-t@b)"
done
no_secrets

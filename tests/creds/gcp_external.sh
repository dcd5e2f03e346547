#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Google: identities from elsewhere: a token from a file, a URL, a program or AWS is exchanged.
scheme=gs
. "$srcdir/tests/lib/creds.sh"
plan 31
# external NAME SOURCE [MORE]: a credential file with that credential_source
external() {
	cat >"$tmp/$1.json" <<END
{"type": "external_account", "audience": "//aud", "subject_token_type": "urn:ietf:params:${4:-oauth:token-type:jwt}",
 "token_url": "$url/google-sts/v1/token", "credential_source": $2${3:-}}
END
}
named() { echo "GOOGLE_APPLICATION_CREDENTIALS=$tmp/$1.json"; }
allow=GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES=1
as() { printf ', "service_account_impersonation_url": "%s/v1/projects/-/serviceAccounts/%s:generateAccessToken"' "$url" "$1"; }
files() {
	external file "{\"file\": \"$tmp/subject\"}"
	external field "{\"file\": \"$tmp/subject.txt\", \"format\": {\"type\": \"json\", \"subject_token_field_name\": \"token\"}}"
	external url "{\"url\": \"$url/subject\", \"headers\": {\"X-Id\": \"topsecret-header\"}}"
	external badurl "{\"url\": \"$url/subject\", \"headers\": {\"X-Id\": \"topsecret-other\"}}"
	external program "{\"executable\": {\"command\": \"'$tmp/program' token\", \"timeout_millis\": 5000}}"
	external as "{\"file\": \"$tmp/subject\"}" "$(as t@b)"
	external notas "{\"file\": \"$tmp/subject\"}" "$(as u@b)"
	external none '{"moon": "x"}'
	external lost "{\"file\": \"$tmp/nowhere\"}"
	external aws "{\"environment_id\": \"aws1\", \"regional_cred_verification_url\": \"https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15\"}" "" aws:token-type:aws4_request
}
printf topsecret-subject >"$tmp/subject"
echo '{"token": "topsecret-subject"}' >"$tmp/subject.txt"
cat >"$tmp/program" <<'END'
#!/bin/sh
[ "$1|$GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE" = 'token|//aud' ] || exit 2
echo '{"version": 1, "success": true, "token_type": "urn:ietf:params:oauth:token-type:id_token", "id_token": "topsecret-subject"}'
END
chmod +x "$tmp/program"
exchange='"gsts.token": {"subject_token": "topsecret-subject", "audience": "//aud"'
rest='"iam.generateAccessToken": {"email": "t@b"}, "subject": {"token": "topsecret-subject", "header": "X-Id", "value": "topsecret-header"}'

identity "{\"issue\": {\"only\": true}, $exchange}, $rest}"
files
opens "a token in a file is exchanged" "$(named file)"
opens "a token in a field of a file is exchanged" "$(named field)"
opens "a token from a URL is exchanged" "$(named url)"
refused "a URL that refuses another header is told" 'subject token server at .* answers 4' "$(named badurl)"
# Azure's metadata server is asked at an address that no proxy leads to; in a network of its own nobody answers there.
external azure '{"url": "http://169.254.169.254/metadata/identity/oauth2/token", "headers": {"Metadata": "True"}}'
name="a metadata server of Azure is not asked through a proxy"
if unshare -rn true 2>/dev/null; then
	as_who='unshare -rn'
	refused "$name" 'subject token server at .* to 169\.254\.169\.254 ' "$(named azure)" http_proxy=http://127.0.0.1:1
	as_who=''
else
	skip "$name" "unshare makes no network"
fi
refused "a program is not run unless that is allowed" 'ALLOW_EXECUTABLES=1' "$(named program)"
opens "a token of a program that is allowed is exchanged" "$(named program)" $allow
opens "a service account takes the identity's place" "$(named as)"
expect_eq 1 "$(served iam.generateAccessToken)" "the account's token costs one request"
refused "a service account that may not is told" 'Service Account Token Creator' "$(named notas)"
refused "a source that is none is told" 'credential_source of .* is no file' "$(named none)"
refused "a file that is missing is told" 'nowhere: No such file' "$(named lost)"
printf topsecret-wrong >"$tmp/subject"
refused "another token is refused" 'token exchange at .* answers 400.*let the pool' "$(named file)"
: >"$tmp/subject"
refused "an empty file is told" 'is empty' "$(named file)"
printf topsecret-subject >"$tmp/subject"
echo 'topsecret-subject' >"$tmp/subject.txt"
refused "a file without the field is told" 'no JSON with a field token' "$(named field)"
printf '#!/bin/sh\necho "{\\"version\\": 1, \\"success\\": false, \\"code\\": \\"401\\", \\"message\\": \\"no login\\"}"\n' >"$tmp/program"
refused "a program that says no is quoted" '401 no login' "$(named program)" $allow
printf '#!/bin/sh\necho topsecret\n' >"$tmp/program"
refused "a program that prints something else is told" 'no JSON' "$(named program)" $allow
printf '#!/bin/sh\nexec sleep 60\n' >"$tmp/program"
refused "a program that does not end is ended" 'did not end in 5 s' "$(named program)" $allow
# hangs DOES: a program that does something to be hard to end, and does not end
hangs() {
	printf '#!/usr/bin/env python3\nimport os, time\nopen("%s", "w").write(str(os.getpid()))\n%s\ntime.sleep(100)\n' \
		"$tmp/pid" "$1" >"$tmp/program"
}
has_run() { [ -s "$tmp/pid" ] && ! kill -0 "$(cat "$tmp/pid")" 2>/dev/null; }
other_user="a program that has become another user is not waited for"
if ! command -v python3 >/dev/null; then
	skip "a program that has left its process group is not waited for" "python3 is not installed"
	skip "a program that has left its process group is ended" "python3 is not installed"
	skip "$other_user" "python3 is not installed"
else
	hangs 'os.setpgid(0, os.getpgid(os.getppid()))'
	refused "a program that has left its process group is not waited for" 'did not end in 5 s' "$(named program)" $allow
	check "a program that has left its process group is ended" has_run
	as_who='setpriv --bounding-set=-kill --inh-caps=-kill'
	if [ "$(id -u)" = 0 ] && $as_who true 2>/dev/null; then
		hangs 'os.setuid(65534)'
		refused "$other_user" 'did not end in 5 s' "$(named program)" $allow
		kill "$(cat "$tmp/pid")"
	else
		skip "$other_user" "setpriv cannot take the right to end the processes of others"
	fi
	as_who=''
fi

for answer in expired:'expired|does not know' garbage:'no JSON'; do
	identity "{\"issue\": {\"only\": true}, $exchange, \"answer\": \"${answer%%:*}\"}, $rest}"
	files
	refused "an answer that is ${answer%%:*} is told" "${answer#*:}" "$(named file)"
done
identity "{\"issue\": {\"only\": true}, $exchange, \"delay\": \"2s\"}, $rest}"
files
opens "a slow answer is waited for" "$(named file)"
identity "{\"issue\": {\"only\": true}, $exchange, \"answer\": \"refuse\", \"status\": 503, \"times\": 1}, $rest}"
files
opens "an error that passes is tried again" "$(named file)"

identity '{"issue": {"only": true}, "keys": {"AKBASE": "topsecret1"}, "gsts.token": {"audience": "//aud"}}'
files
opens "an AWS key's signature is exchanged" "$(named aws)" AWS_REGION=eu-west-1 AWS_ACCESS_KEY_ID=AKBASE AWS_SECRET_ACCESS_KEY=topsecret1
refused "a signature of a wrong AWS key is not exchanged" 'token exchange at .* answers 4' "$(named aws)" AWS_REGION=eu-west-1 AWS_ACCESS_KEY_ID=AKBASE AWS_SECRET_ACCESS_KEY=topsecret2
opens "the instance's role is exchanged, too" "$(named aws)" "AWS_EC2_METADATA_SERVICE_ENDPOINT=$url"
for off in 2h -2h; do
	sim_options="--clock-skew $off"
	identity '{"issue": {"only": true}, "keys": {"AKBASE": "topsecret1"}, "gsts.token": {"audience": "//aud"}}'
	files
	opens "an AWS key signs though the servers' clock differs by $off" "$(named aws)" AWS_REGION=eu-west-1 AWS_ACCESS_KEY_ID=AKBASE AWS_SECRET_ACCESS_KEY=topsecret1
done
no_secrets

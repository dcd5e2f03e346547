#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Profiles: keys, and a program that prints them.
. "$srcdir/tests/lib/creds.sh"
plan 22
config() {
	printf '[default]\n' >"$home/.aws/config"
	printf 'credential_process = %s\n' "$1" >>"$home/.aws/config"
}
program() {
	printf '#!/bin/sh\n%s\n' "$1" >"$tmp/pro gram"
	chmod +x "$tmp/pro gram"
}
identity '{"issue": {"only": true}}'
keys='{"Version": 1, "AccessKeyId": "unused", "SecretAccessKey": "unused"'
config "\"$tmp/pro gram\" 'an argument' x\\\\y"
program "[ \"\$1|\$2|\$#\" = 'an argument|x\\y|2' ] && echo '$keys}'"
opens "a program prints keys, and gets its arguments whole"
config "'$tmp/pro gram' \$(touch $tmp/made) ; touch $tmp/made"
program "echo '$keys, \"Expiration\": \"2099-01-01T00:00:00Z\"}'"
opens "no shell reads its command"
check "nothing else than the program is run" test ! -e "$tmp/made"
config "'$tmp/pro gram'"
program "echo '$keys, \"Expiration\": \"2020-01-01T00:00:00Z\"}'"
refused "keys that have expired are no answer" 'credentials from profile have expired: renew'
program "echo '$keys, \"Expiration\": \"tomorrow\"}'"
refused "keys whose end is no time are no answer" 'Expiration is no time'
program "echo '<html>topsecret</html>'"
refused "a program that prints a web page is told" 'prints something that is no JSON'
program "echo '{\"AccessKeyId\": \"x\", \"SecretAccessKey\": \"topsecret\"}'"
refused "a reply of another version than 1 is told" 'no "Version": 1'
program "echo '{\"Version\": 1, \"AccessKeyId\": \"x\"}'"
refused "half a pair is told" 'no SecretAccessKey'
program "echo topsecret >&2; echo '$keys}'; exit 3"
refused "a failure is told, without what the program said" 'failed with status 3'
program "head -c 100000 /dev/zero | tr '\\0' x"
refused "endless output is told" 'more than 64 KiB'
printf '[default]\nlogin_session = arn:aws:iam::123456789012:user/me\n' >"$home/.aws/config"
refused "keys of aws login are told, and no others taken in their place" 'has the login_session of aws login.* credential_process = aws configure export-credentials .*--profile default'
config "$tmp/nowhere"
refused "a program that is missing is told" 'nowhere cannot be run: No such file'
config "'$tmp/pro gram"
refused "a quote that is not closed is told" 'quote'

printf '[default]\naws_access_key_id = unused\naws_secret_access_key = unused\n[x]\naws_access_key_id = x\n' \
	>"$home/.aws/credentials"
rm "$home/.aws/config"
opens "keys of the default profile sign"
refused "a profile with half a pair is told" 'aws_access_key_id but no aws_secret_access_key' AWS_PROFILE=x
refused "a profile that is missing is told" "profile 'y' is not in" AWS_PROFILE=y
printf '[default]\naws_access_key_id = unused\naws_secret_acc' >"$home/.aws/credentials"
refused "a file that was cut is told with its line" '/credentials:3: '
printf '[default]\naws_access_key_id = unused\naws_secret_access_key = topsecret\n' >"$home/.aws/credentials"
refused "a wrong key is told" 'SignatureDoesNotMatch'
mkdir "$home/dir"
refused "a folder in place of a file is told" 'dir: Is a directory' "AWS_SHARED_CREDENTIALS_FILE=$home/dir"

if [ -n "$cannot_read" ]; then
	printf '[default]\n' >"$home/locked"
	chmod 000 "$home/locked"
	as_who=$cannot_read
	refused "a file that may not be read is told" 'locked: Permission denied: make it readable, or name another' \
		"AWS_SHARED_CREDENTIALS_FILE=$home/locked"
	as_who=''
else
	skip "a file that may not be read is told" "setpriv cannot take the right to read all files"
fi

cat >"$home/.aws/config" <<END
[default]
services = mine
endpoint_url = http://127.0.0.1:1
[services mine]
sts =
  endpoint_url = http://127.0.0.1:2
s3 =
  endpoint_url = $url
END
opens "a services section names the endpoint" AWS_ACCESS_KEY_ID=unused AWS_SECRET_ACCESS_KEY=unused -oendpoint=
no_secrets

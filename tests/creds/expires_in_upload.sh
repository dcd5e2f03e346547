#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Credentials that the store takes no more in the middle of an upload, though their source says that they hold: the
# upload completes with new ones. Where there are none, close says EACCES, and what was sent goes when there are again.
. "$srcdir/tests/lib/mount.sh"
. "$srcdir/tests/lib/creds.sh"
need_fuse
umask 077
CKPTFS_TEST_BUCKET=bkt scheme=$CKPTFS_TEST_SCHEME sim_store="--data $tmp/data"
if on_gs; then
	command -v openssl >/dev/null || skip_all "openssl is not installed"
	plan 19
	sources='metadata key'
	refusal=401
else
	plan 37
	sources='file process instance web'
	refusal=400
fi
mkdir "$tmp/data"
head -c 12000000 /dev/urandom >"$tmp/bytes"
echo '[]' >"$tmp/faults.json"
sim_options="--faults $tmp/faults.json"
unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_CONFIG_FILE AWS_SHARED_CREDENTIALS_FILE
export HOME="$home" AWS_EC2_METADATA_DISABLED=true AWS_METADATA_SERVICE_TIMEOUT=60

# rules STATUS [RULES]: the containers' endpoint, which no mount asks, tells that they are in force
rules() {
	printf '[%s{"op": "ecs.credentials", "do": "status", "status": 507}]\n' "${2-}" >"$tmp/faults.json"
	[ "$1" = 507 ] || echo '[]' >"$tmp/faults.json"
	kill -HUP "$sim_pid"
	wait_for 60 in_force "$1"
}
in_force() { [ "$(curl -s -o "$tmp/said.json" -w '%{http_code}' "$url/ecs/credentials")" = "$1" ]; }
# What was issued until now is over, though it was said to hold for an hour.
now_expired() {
	fetch_keys
	field AccessKeyId | tr -d '[:alpha:]' >"$tmp/ended.new"
	mv "$tmp/ended.new" "$tmp/ended"
}
since() { tail -n "+$from" "$requests"; }
part_is() { since | awk -v key="$1" -v status="$2" '$2 == "UploadPart" && index($4, key) && $6 == status' | grep -q .; }

# Keys as somebody puts them into a file, without the time of their end.
field() { sed -n "s/.*\"$1\":[^\"]*\"\([^\"]*\)\".*/\1/p" "$tmp/keys.json"; }
fetch_keys() { curl -s "$url/ecs/credentials" | tr ',' '\n' >"$tmp/keys.json"; }

new_file() {
	fetch_keys
	printf '[default]\naws_access_key_id = %s\naws_secret_access_key = %s\naws_session_token = %s\n' \
		"$(field AccessKeyId)" "$(field SecretAccessKey)" "$(field Token)" >"$home/.aws/new"
	mv "$home/.aws/new" "$home/.aws/credentials"
}
begin_file() { new_file; }
end_file() { rm "$home/.aws/credentials"; }

new_process() {
	fetch_keys
	printf '{"Version": 1, "AccessKeyId": "%s", "SecretAccessKey": "%s", "SessionToken": "%s"}\n' \
		"$(field AccessKeyId)" "$(field SecretAccessKey)" "$(field Token)" >"$tmp/process.new"
	mv "$tmp/process.new" "$tmp/process.json"
}
begin_process() {
	new_process
	printf '[default]\ncredential_process = cat "%s"\n' "$tmp/process.json" >"$home/.aws/config"
}
end_process() { rm "$home/.aws/config"; }

# Those that ask by themselves: a source that fails has none.
new_itself() { rules 200; }
none_itself() {
	none=''
	for op in 'imds.*' gce.token oauth2.token; do
		none="$none{\"op\": \"$op\", \"do\": \"status\", \"status\": 403}, "
	done
	rules 507 "$none"
}
none_file() { :; }
none_process() { :; }
begin_instance() { export AWS_EC2_METADATA_DISABLED=false AWS_EC2_METADATA_SERVICE_ENDPOINT="$url"; }
end_instance() { export AWS_EC2_METADATA_DISABLED=true; }
begin_web() {
	new_web
	export AWS_ROLE_ARN=arn:aws:iam::1:role/web AWS_WEB_IDENTITY_TOKEN_FILE="$tmp/token" AWS_ENDPOINT_URL_STS="$url"
}
new_web() { echo topsecret-web >"$tmp/token"; }
none_web() { echo topsecret-other >"$tmp/token"; }
end_web() { unset AWS_ROLE_ARN AWS_WEB_IDENTITY_TOKEN_FILE AWS_ENDPOINT_URL_STS; }
begin_metadata() { export GCE_METADATA_HOST="$host"; }
end_metadata() { export GCE_METADATA_HOST=127.0.0.1:1; }
begin_key() {
	cat >"$tmp/sa.json" <<-END
		{"type": "service_account", "project_id": "p", "private_key_id": "id1", "client_email": "a@b",
		 "private_key": "$(awk '{ printf "%s\\n", $0 }' "$tmp/key.pem")", "token_uri": "$url/oauth2/token"}
	END
	export GOOGLE_APPLICATION_CREDENTIALS="$tmp/sa.json"
}
end_key() { unset GOOGLE_APPLICATION_CREDENTIALS; }
for source in instance metadata key; do
	eval "new_$source() { new_itself; }; none_$source() { none_itself; }"
done

! on_gs || {
	openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out "$tmp/key.pem" 2>/dev/null
	openssl pkey -in "$tmp/key.pem" -pubout -out "$tmp/pub.pem" 2>/dev/null
}
identity "{\"issue\": {\"only\": true, \"ended\": \"$tmp/ended\"},
	\"sts.AssumeRoleWithWebIdentity\": {\"role_arn\": \"arn:aws:iam::1:role/web\", \"token\": \"topsecret-web\"},
	\"oauth2.token\": {\"public_key\": \"$tmp/pub.pem\", \"email\": \"a@b\"}}"
export CKPTFS_TEST_ENDPOINT="$url"

# half_sent FILE: one part is at the store, and the credentials of that are over
half_sent() {
	from=$(($(wc -l <"$requests") + 1))
	fdo_begin src "$tmp/bytes" open wct "$mnt/$1" write 6000000 pause write 6000000 close
	wait_for 60 part_is "$1" 200
	now_expired
}
no_upload() { [ -z "$(store_uploads)" ]; }

for source in $sources; do
	begin_$source
	mount_ckptfs part_size=5M attr_ttl=0 deadline=10s log_level=debug
	half_sent "whole.$source"
	new_$source
	fdo_ends "ok ok ok ok ok ok" "$source: an upload whose credentials end in its middle completes"
	check "$source: the store has refused the old ones" part_is "whole.$source" $refusal
	same "$source: the file is at the store byte for byte" "$tmp/bytes" "whole.$source"

	half_sent "lost.$source"
	none_$source
	# Whether the abort and the next opens are refused, too, depends on when the mount asks its source again.
	expect_log "(store: upload-part .*lost.$source|store: (list|upload-abort) |lost.$source: its unfinished upload could not)"
	expect_log "lost.$source: not published"
	[ $source = file ] || [ $source = process ] || expect_log 'credentials: '
	# promise: errno.EACCES
	fdo_ends "ok ok ok ok ok EACCES" "$source: close says EACCES where there are no new credentials"
	expect_eq 1 "$(grep -c "store: upload-part .*lost.$source" "$mount_log")" "$source: the log has one line of the store"
	new_$source
	expect_eq "" "$(store_ls "lost.$source")" "$source: nothing is published"
	renewed() { [ "$(fdo open wct "$mnt/next.$source" write 100 close)" = "ok ok ok" ]; }
	check "$source: files are written again when there are new credentials" wait_for 60 renewed
	check "$source: no upload is left then" wait_for 60 no_upload
	cat "$mount_log" >>"$log"
	grep -v debug "$mount_log" >>"$said"
	umount_ckptfs "$source: the daemon ends well"
	end_$source
done
no_secrets

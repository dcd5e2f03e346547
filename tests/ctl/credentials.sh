#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# credentials.sh: ckptctl credentials tells of each kind of source what it is and until when it holds, and a key that is
# replaced in its file is taken by a mount that runs, while files are on their way.
. "${srcdir:?}/tests/lib/mount.sh"
. "$srcdir/tests/lib/creds.sh"
need_fuse
plan 12
CKPTFS_TEST_BUCKET=bkt CKPTFS_TEST_SCHEME=s3
dir=$tmp/control
ctl() { timeout 60 "$builddir/ckptctl" -o "control_dir=$dir" "$@"; }
tab=$(printf '\t')
unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SHARED_CREDENTIALS_FILE AWS_CONFIG_FILE
export HOME="$home" AWS_EC2_METADATA_DISABLED=true

# about NAME SOURCE KIND UNTIL: one check of the mount that runs, which then ends; one more of its end
about() {
	ctl credentials >"$tmp/about"
	expect_eq "0 source$tab$2 kind$tab$3 usable${tab}yes until${tab}$4" \
		"$? $(sed 's/[0-9]*-[0-9-]*T[0-9:]*Z (in [0-9hms]*)$/TIME (in SPAN)/' "$tmp/about" | xargs -d '\n')" "$1"
	umount_ckptfs
}

identity '{"issue": {"only": true}, "imds.credentials": {"role": "r"}, "sts.AssumeRoleWithWebIdentity": {}}'
CKPTFS_TEST_ENDPOINT=$url
export AWS_ACCESS_KEY_ID=unused AWS_SECRET_ACCESS_KEY=unused
mount_ckptfs "control_dir=$dir"
about "keys of the environment have no expiry" environment keys "no expiry: they hold until they are replaced"

curl -s -X PUT -d '' -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' "$url/latest/api/token" -o "$tmp/imds"
curl -s -H "X-aws-ec2-metadata-token: $(cat "$tmp/imds")" "$url/latest/meta-data/iam/security-credentials/r" -o "$tmp/issued"
issued() { sed -n "s/.*\"$1\":[[:blank:]]*\"\\([^\"]*\\)\".*/\\1/p" "$tmp/issued"; }
AWS_ACCESS_KEY_ID=$(issued AccessKeyId) AWS_SECRET_ACCESS_KEY=$(issued SecretAccessKey)
export AWS_SESSION_TOKEN="$(issued Token)"
mount_ckptfs "control_dir=$dir"
about "the end of a session in the environment is not known" environment "session keys" "not told by their source"

unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN
echo token >"$tmp/token"
export AWS_WEB_IDENTITY_TOKEN_FILE="$tmp/token" AWS_ROLE_ARN=arn:aws:iam::1:role/web AWS_ENDPOINT_URL_STS="$url"
mount_ckptfs "control_dir=$dir"
about "a web identity's session tells when it ends" "web identity" "session keys" "TIME (in SPAN)"
unset AWS_WEB_IDENTITY_TOKEN_FILE AWS_ROLE_ARN AWS_ENDPOINT_URL_STS

umask 077
# A key in a file, replaced while parts of a file are at the store.
write_keys() { printf '[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n' "$1" "$2" >"$home/.aws/credentials"; }
# The store knows one key; what is unset is the mount's.
store_of() { AWS_ACCESS_KEY_ID=$1 AWS_SECRET_ACCESS_KEY=$2 start_store; }
CKPTFS_TEST_BUCKET=test-bucket requests=$tmp/requests2
store_of old topsecret-old
store_port=${CKPTFS_TEST_ENDPOINT##*:}
write_keys old topsecret-old
mount_ckptfs "control_dir=$dir" part_size=5M
expect_eq "profile${tab}keys" "$(ctl credentials | sed -n 's/^source\t//p; s/^kind\t//p' | sed 's/ .*//' | xargs | tr ' ' '\t')" \
	"keys of a file are told as the profile's"
fdo_begin open wct "$mnt/f" write 12000000 pause write 12000000 close
parts_are_sent() { [ "$(awk '$2 == "UploadPart" && $6 == 200' "$requests" | wc -l)" -ge 2 ]; }
wait_for 30 parts_are_sent
write_keys new topsecret-new
check "a reload reads the key that was put into the file" ctl reload
store_stop
store_of new topsecret-new
fdo_next
fdo_ends "ok ok ok ok ok" "a file that was on its way is published with the new key"
export AWS_ACCESS_KEY_ID=new AWS_SECRET_ACCESS_KEY=topsecret-new
expect_eq 24000000 "$(store_cat f | wc -c)" "the object has what was sent with either key"
expect_eq 0 "$(awk '$4 == "f" && $6 == 403' "$requests" | wc -l)" "no request for it is refused"
umount_ckptfs

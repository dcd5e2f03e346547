#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A mount renews its credentials before they end, keeps those it has when that fails, and says so once.
. "$srcdir/tests/lib/mount.sh"
. "$srcdir/tests/lib/creds.sh"
need_fuse
plan 10
CKPTFS_TEST_BUCKET=bkt CKPTFS_TEST_SCHEME=s3
# writes FILE: the mount is used
writes() { fdo open wct "$mnt/$1" write 100 close; }
again() { awk -v op=imds.credentials '$2 == op' "$requests" | wc -l; }
asked() { [ "$(again)" -ge "$1" ]; }
said_in_log() { grep -qE -- "$1" "$mount_log"; }
rules() {
	printf '%s\n' "$1" >"$tmp/faults.json"
	kill -HUP "$sim_pid"
}

echo '[]' >"$tmp/faults.json"
sim_options="--faults $tmp/faults.json"
identity '{"issue": {"only": true, "expires_in": 16}}'
unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
export AWS_EC2_METADATA_SERVICE_ENDPOINT="$url" AWS_METADATA_SERVICE_TIMEOUT=60 HOME="$home" CKPTFS_TEST_ENDPOINT="$url"
mount_ckptfs log_level=debug
expect_eq "ok ok ok" "$(writes a)" "the instance's keys sign a write"
check "new keys are fetched before the old ones end" wait_for 60 asked 3
expect_eq "ok ok ok" "$(writes b)" "keys that were fetched in time sign a write"
check "no request was refused meanwhile" awk '$6 ~ /^40[013]$/ { bad = 1 } END { exit bad }' "$requests"

rules '[{"op": "imds.*", "do": "status", "status": 500}]'
check "a refresh that fails is said while the old keys hold" wait_for 60 said_in_log 'warning: .*not renewed, those at hand hold'
expect_log 'not renewed, those at hand hold for [0-9]+ s: .*instance metadata'
rules '[]'
check "a refresh that succeeds after a failure is said" wait_for 60 said_in_log 'from instance metadata again'
expect_eq "ok ok ok" "$(writes c)" "keys of a later refresh sign a write"
expect_eq 1 "$(grep -c 'not renewed' "$mount_log")" "the failure is in the log once"
cat "$mount_log" >>"$log"
echo renewed >>"$said"
umount_ckptfs
no_secrets

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A directory bucket through the mount: sessions that sign and are renewed, and the rename of objects.
. "$srcdir/tests/lib/mount.sh"
. "$srcdir/tests/lib/creds.sh"
need_fuse
plan 31
CKPTFS_TEST_BUCKET=ckpt--usw2-az1--x-s3 CKPTFS_TEST_SCHEME=s3
sim_bucket=$CKPTFS_TEST_BUCKET sim_store="--data $tmp/store"
mkdir "$tmp/store"
by_host() { export CKPTFS_TEST_ENDPOINT="http://localhost:${url##*:}"; } # which names the bucket
identity '{"keys": {}}'
export AWS_ACCESS_KEY_ID=unused AWS_SECRET_ACCESS_KEY=unused AWS_EC2_METADATA_DISABLED=true \
	HOME="$home"
by_host
mount_ckptfs log_level=debug attr_ttl=0
expect_eq "ok ok ok" "$(fdo open wct "$mnt/a" write 100000 close)" "a session signs a write"
expect_eq 1 "$(served CreateSession)" "one session signs a write"
expect_eq 100000 "$(wc -c <"$mnt/a")" "a session signs reads, too"
requests_mark
check "a file is renamed" mv "$mnt/a" "$mnt/b"
expect_requests "a rename is one request, without a copy" RenameObject=1 CopyObject=0
expect_eq 100000 "$(wc -c <"$mnt/b")" "a renamed file is whole under its new name"
check "the old name is gone" test ! -e "$mnt/a"
check "a large file goes in parts" sh -c 'head -c 40000000 /dev/zero >"$1/large"' sh "$mnt"
check "a change of metadata is a copy, signed without a session" chmod 600 "$mnt/b"
check "the parts that an append copies are signed without a session" sh -c 'echo end >>"$1/large"' sh "$mnt"
expect_eq "600 40000004" "$(stat -c %a "$mnt/b") $(wc -c <"$mnt/large")" "a change of metadata and an append take effect"
umount_ckptfs
sim_options='--session-life 8s'
identity '{"keys": {}}'
by_host
mount_ckptfs log_level=debug attr_ttl=0
renewed() { [ "$(served CreateSession)" -ge 3 ]; }
check "sessions are renewed" wait_for 60 renewed
expect_eq 40000004 "$(wc -c <"$mnt/large")" "renewed sessions go on to sign"
expect_eq "b
large" "$(ls "$mnt")" "names are listed"
mkdir "$mnt/many"
objects fill many/f 2500
expect_eq "2500 2500" "$(ls "$mnt/many" | wc -l) $(ls "$mnt/many" | sort -u | wc -l)" \
	"many names are listed, each once, though pages come in any order"
umount_ckptfs
sim_options=--read-only-sessions
identity '{"keys": {}}'
by_host
mount_ckptfs log_level=debug ro
expect_eq 40000004 "$(wc -c <"$mnt/large")" "who may only read mounts with ro"
expect_eq EROFS "$(fdo open wct "$mnt/a")" "who may only read writes nothing"
cat "$mount_log" >>"$log"
echo renewed >>"$said"
umount_ckptfs
echo '[{"op": "RenameObject", "times": 1, "do": "reset_after"}]' >"$tmp/lose.json"
sim_options="--faults $tmp/lose.json"
identity '{"keys": {}}'
by_host
mount_ckptfs log_level=debug
requests_mark
check "a file is renamed though the reply is lost" mv "$mnt/large" "$mnt/renamed"
expect_requests "the rename is sent again" RenameObject=2
expect_eq 200 "$(grep ' RenameObject ' "$requests" | tail -n 1 | cut -d ' ' -f 6)" "the server knows it by its token"
umount_ckptfs
for off in 2h -2h; do
	sim_options="--session-life 300s --clock-skew $off"
	identity '{"keys": {}}'
	by_host
	mount_ckptfs log_level=debug
	expect_eq "ok ok ok" "$(fdo open wct "$mnt/clock" write 100 close)" "a session signs though the server's clock differs by $off"
	expect_eq 200 "$(grep ' CreateSession ' "$requests" | tail -n 1 | cut -d ' ' -f 6)" "a session is begun by a clock that differs by $off"
	umount_ckptfs
done
no_secrets

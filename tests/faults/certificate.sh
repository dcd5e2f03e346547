#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# certificate.sh: the certificate of the server is replaced by one that has expired while the bucket is mounted: what
# needs a new connection says EIO and the log why, what stood stands, and the renewed certificate needs no new mount.
. "$srcdir/tests/lib/mount.sh"
need_fuse
command -v python3 >/dev/null || skip_all "python3 is not installed"
command -v openssl >/dev/null || skip_all "openssl is not installed"
plan 14
start_store
. "$srcdir/tests/lib/tls.sh"
certificate good IP:127.0.0.1 20200101000000Z 20991231000000Z
certificate late IP:127.0.0.1 20200101000000Z 20200102000000Z
certificate renewed IP:127.0.0.1 20200101000000Z 20991231000000Z
cat "$tmp/good.pem" "$tmp/late.pem" "$tmp/renewed.pem" >"$tmp/bundle.pem"
# server_has NAME: what it shows from now on; connections of before end
server_has() {
	cp "$tmp/$1.pem" "$tmp/tls.pem"
	cp "$tmp/$1.key" "$tmp/tls.key"
	relayed TLSv1_3 ${relay_port:+"$relay_port"}
	relay_port=${CKPTFS_TEST_ENDPOINT##*:}
}
head -c 12000000 /dev/urandom >"$tmp/data"
printf old >"$tmp/old"
server_has good
mount_ckptfs ca_bundle="$tmp/bundle.pem" part_size=5M attr_ttl=0 read_cache=never
cp "$tmp/old" "$mnt/standing"
cp "$tmp/data" "$mnt/large"
fdo_begin src "$tmp/data" open wct "$mnt/during" write 6000000 pause write 6000000 close
wait_for 30 grep -q ' UploadPart [^ ]* during ' "$requests" # the upload is known, and a part sent

server_has late
case $(fdo open wt "$mnt/standing" write 5 close) in
# promise: way.certificate
*EIO*) ok "a file is not published past a certificate that has expired: EIO" ;;
*) not_ok "a file is not published past a certificate that has expired: EIO" ;;
esac
check_fails "a file is not read past a certificate that has expired" cat "$mnt/large"
: >"$tmp/fdo/go"
wait "$fdo_pid"
case $(cat "$tmp/fdo/out") in
*EIO*) ok "a file that was being written gets EIO" ;;
*) not_ok "a file that was being written gets EIO"; diag "$(cat "$tmp/fdo/out")" ;;
esac
past same "the old version stands while the certificate is bad" "$tmp/old" standing
expect_eq "" "$(past store_ls during)" "nothing half is published while the certificate is bad"
# promise: way.certificate
check "the log says what to do about the certificate" \
	grep -q 'warning: store: .*: no reply .*certificate has expired.*: Input/output error: renew its certificate, or correct the clock here' "$mount_log"

# The abort waits for the parts under way, of which one may be tried anew.
wait_for 60 grep -q 'during: its unfinished upload could not be aborted: tried again' "$mount_log"
past store_uploads >"$tmp/left"
expect_eq during "$(cat "$tmp/left")" "an upload stays while the certificate is bad"

server_has renewed
# promise: way.certificate
expect_eq "ok ok ok ok" "$(fdo src "$tmp/data" open wct "$mnt/during" write 12000000 close)" "a file is written when the certificate is renewed"
past same "a file that is written with the renewed certificate is at the store byte for byte" "$tmp/data" during
check "a file is read when the certificate is renewed" cmp "$tmp/data" "$mnt/large"
expect_eq old "$(cat "$mnt/standing")" "the old version is read when the certificate is renewed"
no_upload() { [ -z "$(past store_uploads)" ]; }
# promise: end.left-upload
check "an upload that could not be aborted is, once a file is published" wait_for 20 no_upload
check "the log says that an upload which could not be aborted is" wait_for 10 grep -q 'info: during: its unfinished upload is aborted' "$mount_log"
expect_log 'certificate has expired'
expect_log 'during: (not published|its unfinished upload could not be aborted)'
umount_ckptfs

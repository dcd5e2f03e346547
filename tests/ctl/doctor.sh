#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# doctor.sh: ckptctl doctor finds a machine, network, store and permissions in order, and names the one
# thing that is not.
. "${srcdir:?}/tests/lib/namespace.sh"
. "$srcdir/tests/lib/mount.sh"
need_fuse
let_users_mount || :
plan 71
start_store
url=$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET/run
export AWS_EC2_METADATA_DISABLED=true

# doctor PREFIX... -- OPTIONS ARGUMENT...: what it says goes to $tmp/out, run by way of PREFIX.
doctor() {
	prefix=''
	while [ "$1" != -- ]; do prefix="$prefix $1"; shift; done
	shift
	options=endpoint=$CKPTFS_TEST_ENDPOINT,$1; shift
	# shellcheck disable=SC2086 # $prefix: words of a command
	timeout 120 $prefix "$builddir/ckptctl" doctor -o "$options" "$@" >"$tmp/out" 2>"$tmp/err"
	doctor_rc=$?
}
named() { awk -F '\t' -v v="$1" '$1 == v { printf "%s%s", sep, $2; sep = " " }' "$tmp/out"; }
# One check: that thing is broken and nothing else, and the remedy has these words.
expect_broken() {
	expect_eq "1 $1 yes" "$doctor_rc $(named broken) $(grep -qE "^broken	$1	.*$2" "$tmp/out" && echo yes)" "$3"
}
# One check: that thing is slow, with these words, and nothing is broken.
expect_slow() {
	expect_eq "0 - yes" "$doctor_rc $(named broken)- $(grep -qE "^slow	$1	.*$2" "$tmp/out" && echo yes)" "$3"
}
store_objects() { store_ls | grep -c . ; }

# All is well.
doctor -- part_size=5M "$url"
expect_eq "0 " "$doctor_rc $(named broken)" "nothing is broken where nothing is"
for what in fuse rights kernel limits memory read-ahead spill dns tcp http clock credentials bucket list put \
	multipart abort get exclusive copy latency write read options delete; do
	grep -qE "^(ok|slow)	$what	." "$tmp/out" || diag "no line of $what"
done
expect_eq 25 "$(grep -cE '^(ok|slow)	' "$tmp/out")" "each thing that a mount needs has one line"
expect_eq "0 " "$(store_objects) $(store_uploads)" "no object and no upload is left behind"
doctor -- ro "$url"
expect_eq "0  0" "$doctor_rc $(named broken) $(grep -cE '	(put|write|delete)	' "$tmp/out")" "nothing is written with ro"
doctor -- part_size=5M --no-speed
expect_eq "0 spill" "$doctor_rc $(tail -n 1 "$tmp/out" | cut -f 2)" "without a URL the machine alone is looked at"

# The machine.
alone() { doctor unshare -m sh "$tmp/$1" -- "$2"; }
if unshare -m true 2>/dev/null; then
	echo 'mount --bind /dev/null /dev/fuse && exec "$@"' >"$tmp/no_fuse"
	alone no_fuse part_size=5M
	expect_broken fuse 'modprobe fuse' "a machine without FUSE is told"
	echo 'mount -o remount,ro,bind /sys && exec "$@"' >"$tmp/ro_sys"
	alone ro_sys part_size=5M
	expect_slow read-ahead '/sys cannot be written' "a kernel whose read-ahead cannot be raised is told"
	mkdir "$tmp/small"
	echo 'mount -t tmpfs -o size=1M none "'"$tmp/small"'" && exec "$@"' >"$tmp/full"
	alone full "spill_dir=$tmp/small"
	expect_broken spill 'No space left' "a disk without room for the spill file is told"
else
	for name in FUSE read-ahead disk; do skip "a machine without $name is told" "no namespaces"; done
fi
if setpriv --bounding-set -sys_admin true 2>/dev/null; then
	doctor setpriv --bounding-set -sys_admin -- part_size=5M
	expect_broken rights 'SYS_ADMIN' "a root that may not mount is told"
else
	skip "a root that may not mount is told" "no setpriv"
fi
if setpriv --reuid 65534 --regid 65534 --clear-groups true 2>/dev/null; then
	chmod 755 "$tmp"
	doctor setpriv --reuid 65534 --regid 65534 --clear-groups env "PATH=$tmp" -- spill_dir=/tmp
	check "a user without fusermount3 is told" grep -q '^broken	rights	fusermount3 is not on PATH' "$tmp/out"
	doctor setpriv --reuid 65534 --regid 65534 --clear-groups -- spill_dir=/root
	check "a spill_dir that cannot be written is told" grep -q '^broken	spill	.*Permission denied' "$tmp/out"
else
	skip "a user without fusermount3 is told" "setpriv cannot change the user"
	skip "a spill_dir that cannot be written is told" "setpriv cannot change the user"
fi
if setarch --uname-2.6 true 2>/dev/null; then
	doctor setarch --uname-2.6 -- part_size=5M
	expect_slow kernel 'Linux 6.6' "a kernel that is too old for direct reads is told"
else
	skip "a kernel that is too old for direct reads is told" "no setarch"
fi
doctor prlimit --nofile=256:256 -- part_size=5M
expect_broken limits 'ulimit -Hn' "a limit of open files that connections= passes is told"
doctor prlimit --nofile=700:700 -- connections=auto,memory=2G
expect_slow limits 'connections=auto takes 33 at most' "a limit of open files that bounds connections=auto is told, which works all the same"
doctor -- memory=1T
expect_broken memory 'give less' "more memory than the machine has is told"
doctor -- "spill_dir=$tmp/none"
expect_broken spill 'spill_dir=' "a spill_dir that is not there is told"
doctor -- spill=100T
expect_slow spill 'MiB free' "a spill= above the free space is told"

# The way to the store.
store=$CKPTFS_TEST_ENDPOINT
CKPTFS_TEST_ENDPOINT=http://no-such-host.invalid
doctor -- part_size=5M "$url"
expect_broken dns 'correct endpoint' "a host that has no address is told"
CKPTFS_TEST_ENDPOINT=http://127.0.0.1:$(free_port)
doctor -- part_size=5M "$url"
expect_broken tcp 'does not answer' "a server that does not listen is told"
CKPTFS_TEST_ENDPOINT=https://${store#http://}
doctor -- part_size=5M "$url"
expect_broken tls 'speaks no TLS' "a server without TLS that is asked for it is told"
CKPTFS_TEST_ENDPOINT=$store
store_tls_twin
twin_ca=$CKPTFS_TEST_CA
unset CKPTFS_TEST_CA
CKPTFS_TEST_ENDPOINT=$CKPTFS_TEST_TLS_ENDPOINT
doctor -- part_size=5M "$url"
expect_broken tls 'ca_bundle' "a certificate that nobody here knows is told"
doctor -- "ca_bundle=$twin_ca" --no-speed "$url"
expect_eq "0 ok" "$doctor_rc $(grep '	tls	' "$tmp/out" | cut -f 1)" "TLS is well with the authority of its certificate"
CKPTFS_TEST_ENDPOINT=$store
doctor -- region=x/y "$url"
expect_broken options 'region' "an option that cannot be is told"

# Credentials and bucket.
doctor env AWS_ACCESS_KEY_ID= AWS_SECRET_ACCESS_KEY= -- part_size=5M "$url"
expect_broken credentials 'AWS_ACCESS_KEY_ID' "credentials that are missing are told"
doctor env AWS_ACCESS_KEY_ID=nobody -- part_size=5M "$url"
expect_broken bucket 'InvalidAccessKeyId' "an access key that the store does not know is told"
doctor env AWS_SECRET_ACCESS_KEY=wrong -- part_size=5M "$url"
expect_broken bucket 'SignatureDoesNotMatch' "a secret key that is wrong is told"
check_fails "no secret is told" grep -q wrong "$tmp/out" "$tmp/err"
doctor -- part_size=5M "$CKPTFS_TEST_SCHEME://no-such-bucket/run"
expect_broken bucket 'does not exist' "a bucket that is not there is told"

# Permissions, each denied alone.
denied() { # WHAT REMEDY OPERATION...
	denied_what=$1 denied_remedy=$2; shift 2
	sep='['
	for op in "$@"; do
		printf '%s{"op": "%s", "do": "status", "status": 403, "code": "AccessDenied"}' "$sep" "$op"
		sep=',
'
	done >"$tmp/denied.json"
	echo ']' >>"$tmp/denied.json"
	set_faults "$tmp/denied.json"
	doctor -- part_size=5M --no-speed "$url"
	set_faults
	expect_broken "$denied_what" "$denied_remedy" "a permission that lacks is told: $denied_what"
}
denied list 'list' ListObjectsV2
denied put 's3:PutObject' PutObject
denied multipart 's3:PutObject' UploadPart
denied abort 's3:AbortMultipartUpload' AbortMultipartUpload
upload_is_named() { # the one that is there
	set -- "$(store_uploads | sed 's/.*\(\.ckptfs.doctor.[^[:blank:]]*\).*/\1/')"
	[ -n "$1" ] && grep -qF "of $1 stays at the store" "$tmp/err" && grep -qF -e "--key $1" "$tmp/err"
}
check "an upload that could not be aborted is named" upload_is_named
"$builddir/ckptctl" uploads abort --yes -o "endpoint=$CKPTFS_TEST_ENDPOINT" "$url" >/dev/null
printf '%s\n' '[{"op": "UploadPart", "do": "status", "status": 403, "code": "AccessDenied"},' \
	'{"op": "AbortMultipartUpload", "do": "status", "status": 403, "code": "AccessDenied"}]' >"$tmp/neither.json"
set_faults "$tmp/neither.json"
doctor -- part_size=5M --no-speed "$url"
set_faults
expect_broken multipart s3:PutObject "of a part and an abort that are refused the part is told"
check "the upload of a part that was refused is named, where it stays" upload_is_named
"$builddir/ckptctl" uploads abort --yes -o "endpoint=$CKPTFS_TEST_ENDPOINT" "$url" >/dev/null
denied get 's3:GetObject' GetObject
denied copy 's3:GetObject and s3:PutObject' CopyObject
denied delete 's3:DeleteObject' DeleteObject
check "an object that could not be removed is named" grep -q 'doctor/.* stays at the store' "$tmp/err"

# Speed.
echo '[{"op": "HeadObject", "key": "run/*", "do": "delay", "stall": "400ms"}]' >"$tmp/slow.json"
set_faults "$tmp/slow.json"
doctor -- part_size=5M --no-speed "$url"
set_faults
expect_slow latency 'region of this machine' "a store that is far away is told"

# How fast it takes them is up to this machine.
echo '[{"op": "GetObject", "key": "run/*-speed-*", "do": "delay", "stall": "4s"}]' >"$tmp/slow.json"
set_faults "$tmp/slow.json"
doctor -- connections=1,part_size=5M "$url"
set_faults
expect_slow read 'see to the network' "a store that gives bytes slowly is told"
rate() { sed -nE "s/^(ok|slow)	$1	([0-9.]+) MB.*/\2/p" "$tmp/out"; }
check "a store that gives bytes slowly takes them faster" awk -v put="$(rate write)" -v get="$(rate read)" \
	'BEGIN { exit !(get > 0 && put > get) }'

# A server that does not know the condition of the second PutObject replaces the object.
echo '[{"op": "PutObject", "key": "run/*", "do": "status", "status": 200, "nth": 2}]' >"$tmp/ignores.json"
set_faults "$tmp/ignores.json"
doctor -- part_size=5M --no-speed "$url"
set_faults
expect_broken exclusive 'ignores If-None-Match' "a store on which two hosts create one file is told"

# A network that loses the first connection.
cat >"$tmp/relay.py" <<'PY'
import socket, sys, threading

def pump(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass

host, port = sys.argv[1].rsplit(":", 1)
with socket.create_server(("127.0.0.1", 0)) as door:
    with open(sys.argv[2], "w") as f:
        print(door.getsockname()[1], file=f)
    door.accept()[0].close()
    while True:
        client, server = door.accept()[0], socket.create_connection((host, int(port)))
        threading.Thread(target=pump, args=(client, server), daemon=True).start()
        threading.Thread(target=pump, args=(server, client), daemon=True).start()
PY
spawn python3 "$tmp/relay.py" "${store#http://}" "$tmp/relay"
wait_for 30 test -s "$tmp/relay"
CKPTFS_TEST_ENDPOINT=http://127.0.0.1:$(cat "$tmp/relay")
doctor -- part_size=5M --no-speed "$url"
CKPTFS_TEST_ENDPOINT=$store
expect_slow http 'then the server answered' "a server that answers at the second time only is told, and examined"
check "what it allows is examined all the same" grep -q '^ok	delete	' "$tmp/out"

# Options that fit better are taken by a mount.
doctor -- connections=1,part_size=5M "$url"
expect_slow options '-o connections=auto,part_size=[0-9]+M$' "options that fit better are told"
mount_ckptfs "$(sed -n 's/^slow	options	.* -o //p' "$tmp/out")"
expect_eq "ok ok ok" "$(fdo open wct "$mnt/recommended" write 100 close)" "a mount takes the options that doctor recommends"
umount_ckptfs

# A mount that runs tells its options.
mkdir "$tmp/control"
mount_ckptfs "control_dir=$tmp/control" part_size=5M connections=32
timeout 120 "$builddir/ckptctl" doctor --no-speed -o "control_dir=$tmp/control" "$mnt" >"$tmp/out" 2>"$tmp/err"
doctor_rc=$?
expect_eq "0 " "$doctor_rc $(named broken)" "a mount that runs is examined with its own options"
check "the read-ahead of a mount that runs is its own" grep -q '^ok	read-ahead	the kernel reads 4096 KiB ahead' "$tmp/out"
bdi=/sys/class/bdi/$(mountpoint -d "$mnt")/read_ahead_kb
if (echo 128 >"$bdi") 2>/dev/null; then
	timeout 120 "$builddir/ckptctl" doctor --no-speed -o "control_dir=$tmp/control" "$mnt" >"$tmp/out" 2>"$tmp/err"
	doctor_rc=$?
	expect_slow read-ahead "reads 128 KiB ahead: write 4096 to $bdi" "a read-ahead of a mount that is too small is told"
else
	skip "a read-ahead of a mount that is too small is told" "$bdi cannot be written"
fi
if unshare -m true 2>/dev/null; then
	timeout 120 unshare -m sh "$tmp/no_fuse" "$builddir/ckptctl" doctor --no-speed -o "control_dir=$tmp/control" "$mnt" >"$tmp/out" 2>"$tmp/err"
	expect_eq "0 the mount runs" "$? $(grep '^ok	fuse' "$tmp/out" | cut -f 3)" "FUSE is not tried for a mount that runs"
else
	skip "FUSE is not tried for a mount that runs" "no namespaces"
fi
timeout 120 prlimit --nofile=256:256 "$builddir/ckptctl" doctor --no-speed -o "control_dir=$tmp/control" "$mnt" >"$tmp/out" 2>"$tmp/err"
check "the limit of open files of a mount that runs is its own" grep -q '^ok	limits	' "$tmp/out"
expect_eq recommended "$(find "$mnt" -mindepth 1 -not -path "$mnt/run*" -printf '%f\n')" "the mount shows nothing of the objects that were tried"
timeout 60 "$builddir/ckptctl" doctor -o "control_dir=$tmp/control" "$tmp" >"$tmp/out" 2>"$tmp/err"
expect_eq "1 1" "$? $(wc -l <"$tmp/err")" "a directory that is no mount is refused in one line"
"$builddir/ckptctl" doctor s3:/bucket >"$tmp/out" 2>"$tmp/err"
expect_eq "1 1 1" "$? $(wc -l <"$tmp/err") $(grep -c 'names no bucket.* or give s3://BUCKET' "$tmp/err")" \
	"a URL that lacks a slash is refused with how it is written"
umount_ckptfs
store_stop

# The disk that a mount that runs uses: 22 files that cannot be sent yet are more than its memory.
mkdir "$tmp/disk"
if mount -t tmpfs -o size=192M none "$tmp/disk" 2>/dev/null; then
	at_exit 'umount -l "$tmp/disk"'
	start_store
	mount_ckptfs "control_dir=$tmp/control" part_size=6M memory=64M spill=190M "spill_dir=$tmp/disk"
	fdo_begin $(for i in $(seq 22); do echo slot $i open wct "$mnt/held$i" write 4000000; done) slot 0 open wct "$mnt/last" pause
	has_spilled() { "$builddir/ckptctl" -o "control_dir=$tmp/control" stats | awk -F '\t' '$1 == "spill_used" { exit !($2 > 4000000) }'; }
	wait_for 30 has_spilled
	timeout 120 "$builddir/ckptctl" doctor --no-speed -o "control_dir=$tmp/control" "$mnt" >"$tmp/out" 2>"$tmp/err"
	check_fails "what a mount that runs has spilled is room that it has" grep -q '	spill	.*MiB free, and spill=' "$tmp/out"
	kill "$fdo_pid"
	wait "$fdo_pid" 2>/dev/null
	expect_log 'not published, the version before it stands'
	umount_ckptfs
	store_stop
else
	skip "what a mount that runs has spilled is room that it has" "no tmpfs can be mounted"
fi

# What is slow, ahead or kind in the wrong way is so for the whole server.
store_start storesim --clock-skew 1h
doctor -- part_size=5M --no-speed "$url"
expect_broken clock 'behind' "a clock that is an hour behind is told"
store_stop
store_start storesim --total-rate 10M
doctor -- part_size=5M "$url"
expect_slow write 'see to the network' "a line that is slow is told"
store_stop

# A signal.
store_start storesim --total-rate 10M
url=$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET/signal
left() { echo "$(store_ls signal/ | grep -c .) $(store_uploads | grep -c signal/)"; }
ended_at() { # SIGNAL LINE: doctor is ended once it has said LINE
	: >"$tmp/out"
	"$builddir/ckptctl" doctor -o "endpoint=$CKPTFS_TEST_ENDPOINT,part_size=5M" "$url" >"$tmp/out" 2>"$tmp/err" &
	doctor_pid=$!
	wait_for 60 grep -q "	$2	" "$tmp/out"
	kill -"$1" "$doctor_pid"
	wait "$doctor_pid"
	doctor_rc=$?
	expect_eq "$1 1 0 0" "$(kill -l "$doctor_rc") $(grep -c 'removing what was made' "$tmp/err") $(left)" \
		"what was made is removed at SIG$1, $3"
}
ended_at TERM latency "while the speed is measured"
ended_at HUP put "while permissions are tried"
"$builddir/ckptctl" doctor -o "endpoint=$CKPTFS_TEST_ENDPOINT,part_size=5M" --no-speed "$url" 2>"$tmp/err" | head -n 1 >/dev/null
expect_eq "0 0" "$(left)" "what was made is removed when nobody reads the lines any more"
store_stop

# Google's protocol.
use_mount google
CKPTFS_TEST_SCHEME=gs
start_store
doctor -- anonymous,part_size=5M --no-speed "gs://$CKPTFS_TEST_BUCKET/run"
expect_eq "0 " "$doctor_rc $(named broken)" "nothing is broken where nothing is, on gs, too"
store_stop
# Each permission lacks alone: what needs it is broken, each by its name.
gs_denied() { # PERMISSION WHAT...
	permission=$1; shift
	store_start storesim --deny "$permission"
	doctor -- anonymous,part_size=5M --no-speed "gs://$CKPTFS_TEST_BUCKET/run"
	store_stop
	expect_eq "1 $* 0" "$doctor_rc $(named broken) $(grep '^broken' "$tmp/out" | grep -cv "need.*$permission\|allow.*$permission")" \
		"a permission that lacks on gs is told: $permission"
}
gs_denied storage.objects.list list
gs_denied storage.objects.create put
gs_denied storage.objects.get get multipart copy latency
gs_denied storage.multipartUploads.create multipart
gs_denied storage.multipartUploads.abort abort
gs_denied storage.objects.delete exclusive abort delete

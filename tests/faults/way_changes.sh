#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# way_changes.sh: the way to the store changes while the bucket is mounted: its name gets another address, where the old
# one is gone, silent, or still answers; and the proxy on the way dies and comes back. What was under way goes on, and
# what cannot is told.
. "${srcdir:?}/tests/lib/namespace.sh"
. "$srcdir/tests/lib/mount.sh"
need_fuse
[ -n "${CKPTFS_IN_NAMESPACE-}" ] || skip_all "no namespace can be made"
command -v python3 >/dev/null || skip_all "python3 is not installed"
plan 19

# In a namespace of its own the test has an /etc/hosts of its own.
echo "127.0.0.1 localhost" >"$tmp/hosts"
mount --bind "$tmp/hosts" /etc/hosts || skip_all "/etc/hosts cannot be replaced"
store_is_at() { printf '%s\n' "127.0.0.1 localhost" "$1 store.test" >"$tmp/hosts"; }

start_store
store_port=${CKPTFS_TEST_ENDPOINT##*:}
head -c 12000000 /dev/urandom >"$tmp/data"
head -c 100000 "$tmp/data" >"$tmp/small"
store_is_at 127.0.0.1
mount_ckptfs endpoint="http://store.test:$store_port" addressing_style=path part_size=5M attr_ttl=0 stall_timeout=2s read_cache=never
cp "$tmp/data" "$mnt/before"

# The server leaves the address while a file is being written.
fdo_begin src "$tmp/data" open wct "$mnt/during" write 6000000 pause write 6000000 close
store_stop
store_is_at 127.0.0.2
store_address=127.0.0.2
start_store
# promise: way.address
fdo_ends "ok ok ok ok ok ok" "a file that was being written when the store moved is closed"
same "a file that was being written when the store moved is at the store byte for byte" "$tmp/data" during
check "a file of before is read where the store moved to" cmp "$tmp/data" "$mnt/before"

# The server at the old address is there, and says nothing more.
silent=$store_pid
at_exit 'kill -KILL "$silent" 2>/dev/null'
freeze "$silent"
cp -a "$store_data" "$tmp/store2"
store_is_at 127.0.0.1
store_address=127.0.0.1 store_data=$tmp/store2
start_store
cp "$tmp/small" "$mnt/silent"
expect_eq 0 $? "a file is written though the old address is silent"
# promise: way.address
same "a file that is written past a silent address is at the store byte for byte" "$tmp/small" silent
check "a file is read though the old address is silent" cmp "$tmp/data" "$mnt/during"
thaw "$silent"
kill "$silent"
wait "$silent" 2>/dev/null
umount_ckptfs

# A server that is taken out of the name goes on answering whoever stays. One is at 127.0.0.2 again, with what there is.
stays=$requests
cp -a "$store_data" "$tmp/store3"
use_mount moved
store_address=127.0.0.2 store_data=$tmp/store3
start_store
store_is_at 127.0.0.1
mount_ckptfs endpoint="http://store.test:$store_port" addressing_style=path part_size=5M attr_ttl=0 connection_age=1s read_cache=never
# a request for names and one for data; whether the server of the new address had the latter
works_there() { cat "$mnt/silent" >"$tmp/read" && stat "$mnt/before" >"$tmp/read" && grep -q 'GetObject [^ ]* silent ' "$requests"; }
works_there
check "requests go to the address of the name" grep -q ' GetObject [^ ]* silent ' "$stays"
store_is_at 127.0.0.2
# promise: way.address
check "connections leave an address that still answers when the name has another" wait_for 30 works_there
sleep 3 # every connection of before is older than the second that it may be
before=$(wc -l <"$stays")
for i in 1 2 3 4 5 6 7 8 9 10; do works_there; done
# promise: way.address
expect_eq "$before" "$(wc -l <"$stays")" "no connection stays with it for longer than connection_age"
umount_ckptfs
use_mount first

# proxy_starts [PORT]
proxy_starts() {
	: >"$tmp/proxy.out"
	python3 "$srcdir/tests/lib/proxy.py" "127.0.0.1:$store_port" "$tmp/proxied" "$@" >"$tmp/proxy.out" 2>&1 &
	proxy_pid=$!
	at_exit "kill $proxy_pid 2>/dev/null"
	wait_for 30 grep -q '^listening on ' "$tmp/proxy.out"
	proxy_port=$(sed -n 's/^listening on .*:\([0-9]*\)$/\1/p' "$tmp/proxy.out")
}
proxy_dies() { kill -KILL "$proxy_pid"; wait "$proxy_pid" 2>/dev/null; }
proxied_mount() {
	http_proxy=http://127.0.0.1:$proxy_port
	export http_proxy
	mount_ckptfs endpoint="http://proxied.test:$store_port" addressing_style=path part_size=5M attr_ttl=0 read_cache=never "$@"
	unset http_proxy
}
proxy_starts
proxied_mount
fdo_begin src "$tmp/data" open wct "$mnt/proxied" write 6000000 pause write 6000000 close
check "requests go by way of the proxy" grep -q '^[A-Z]* http://proxied.test' "$tmp/proxied"
proxy_dies
: >"$tmp/fdo/go"
sleep 1
check "a close waits for a proxy that died" kill -0 "$fdo_pid"
proxy_starts "$proxy_port"
# promise: way.proxy
fdo_ends "ok ok ok ok ok ok" "a file that was being written when the proxy died is closed when it is back"
same "a file that was being written when the proxy died is at the store byte for byte" "$tmp/data" proxied
umount_ckptfs

# It stays away for longer than the deadline.
proxied_mount deadline=10s
proxy_dies
said=$(fdo open wct "$mnt/lost" write 100 close)
# promise: way.proxy
case $said in *ETIMEDOUT*) ok "a proxy that stays away is told by ETIMEDOUT" ;; *) not_ok "a proxy that stays away is told by ETIMEDOUT"; diag "$said" ;; esac
proxy_starts "$proxy_port"
expect_eq "ok ok ok" "$(fdo open wct "$mnt/found" write 100 close)" "the next file is written when the proxy is back"
expect_log "store: .*: no reply .*Couldn't connect.*: Connection timed out: see 'ckptctl doctor' .* and to the proxy in http_proxy"
umount_ckptfs

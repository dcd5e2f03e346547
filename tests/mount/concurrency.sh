#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# concurrency.sh: many programs use the mount at once.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 13
start_store
mount_ckptfs part_size=5M attr_ttl=1s threads=4 workers=2
mkdir "$mnt/small" "$mnt/big"
seq 300 | xargs -P 32 -I{} sh -c 'echo {} >"$1/small/f{}"' sh "$mnt" 2>"$tmp/errors"
expect_eq "0 " "$? $(cat "$tmp/errors")" "300 small files written 32 at a time"
expect_eq 300 "$(store_ls small/f | wc -l)" "300 small files are at the store"
seq 300 | xargs -P 32 -I{} sh -c '[ "$(cat "$1/small/f{}")" = {} ] || echo bad {}' sh "$mnt" \
	>"$tmp/errors" 2>&1
expect_eq "" "$(cat "$tmp/errors")" "300 small files come back byte for byte"
seq 300 | xargs -P 32 -I{} rm "$mnt/small/f{}" 2>"$tmp/errors"
expect_eq "0 :" "$? $(cat "$tmp/errors"):$(store_ls small/f)" "300 small files are deleted 32 at a time"

head -c 20000000 /dev/urandom >"$tmp/data"
seq 12 | xargs -P 12 -I{} sh -c 'dd if="$2" of="$1/big/f{}" bs=$(({} * 40961)) status=none' sh \
	"$mnt" "$tmp/data" 2>"$tmp/errors"
expect_eq "0 " "$? $(cat "$tmp/errors")" "12 large files written at once"
seq 12 | xargs -P 12 -I{} cmp "$mnt/big/f{}" "$tmp/data" 2>"$tmp/errors"
expect_eq "0 " "$? $(cat "$tmp/errors")" "12 large files are read at once"

# the same names, again and again, written, read, listed and deleted
churn() {
	for i in $(seq 60); do
		n=$((i % 4))
		case $((i % 5)) in
		0) rm -f "$mnt/small/c$n" ;;
		1) ls "$mnt/small" ;;
		2) cat "$mnt/small/c$n" ;;
		*) head -c 100000 "$tmp/data" >"$mnt/small/c$n" ;;
		esac
	done >/dev/null 2>&1
}
set --
for i in 1 2 3 4 5 6; do churn & set -- "$@" $!; done
for pid in "$@"; do wait "$pid"; done
sleep 1.1 # attr_ttl
bad=$(for i in 0 1 2 3; do
	[ ! -e "$mnt/small/c$i" ] || head -c 100000 "$tmp/data" | cmp - "$mnt/small/c$i"
done 2>&1)
expect_eq "" "$bad" "after a churn of the same names each is whole or not there"
check "the name that each churn wrote last is there" test -e "$mnt/small/c3"
expect_eq "" "$(store_uploads)" "no upload is left"

# A look at one name takes long; those at others of its directory do not wait for it.
for name in slow quick; do printf x | store_put looks/$name; done
echo '[{"op": "HeadObject", "key": "looks/slow", "do": "delay", "stall": "100s"}]' >"$tmp/slow.json"
set_faults "$tmp/slow.json"
"$tools/tests/lib/fdo" size "$mnt/looks/slow" >"$tmp/slow" 2>&1 &
slow=$!
waits() {
	case $(cat "/proc/$slow/wchan" 2>/dev/null) in
	*request_wait_answer*) ;;
	0 | '') sleep 0.5 ;; # this kernel does not tell
	*) return 1 ;;
	esac
}
check "a look at a name takes long" wait_for 10 waits
expect_eq 1 "$(fdo size "$mnt/looks/quick")" "another name of the directory is looked at meanwhile"
check "the long look goes on" kill -0 $slow
kill -KILL $slow
wait $slow 2>/dev/null
set_faults
umount_ckptfs

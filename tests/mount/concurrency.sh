#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# concurrency.sh: many programs use the mount at once.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 9
start_store
mount_ckptfs part_size=5M attr_ttl=1s threads=4 workers=2
mkdir "$mnt/small" "$mnt/big"
seq 300 | xargs -P 32 -I{} sh -c 'echo {} >"$1/small/f{}"' sh "$mnt" 2>"$tmp/errors"
expect_eq "0 " "$? $(cat "$tmp/errors")" "300 small files written 32 at a time"
expect_eq 300 "$(store_ls small/f | wc -l)" "300 small files are at the store"
seq 300 | xargs -P 32 -I{} sh -c '[ "$(cat "$1/small/f{}")" = {} ] || echo bad {}' sh "$mnt" \
	>"$tmp/errors" 2>&1
expect_eq "" "$(cat "$tmp/errors")" "300 small files come back right"
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
expect_eq "" "$(store_uploads)" "no upload is left"
umount_ckptfs

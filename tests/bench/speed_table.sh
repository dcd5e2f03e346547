#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# speed_table.sh: a row of the speed table that fails takes no other with it; the table has medians, peers and limits.
. "$srcdir/tests/lib/tap.sh"
[ -e /dev/fuse ] || skip_all "/dev/fuse is missing"
command -v fusermount3 >/dev/null || skip_all "fusermount3 is not installed"
[ "${SANITIZERS:-no}" = no ] || skip_all "the sanitizers have their own tests of these programs"
plan 8

# A build whose benchmark fails as one under mpirun does: the reason, and lines of the launcher around it.
mkdir "$tmp/b" "$tmp/out"
ln -s "$builddir/ckptfs" "$builddir/storesim" "$tmp/b"
cat >"$tmp/b/ckptbench" <<'EOF'
#!/bin/sh
echo "-------" ; echo "ckptbench: the reason, and the remedy" >&2 ; echo "-------"
exit 1
EOF
chmod +x "$tmp/b/ckptbench"
CKPTFS_SPEED_PEERS='' CKPTFS_OUT=$tmp/out CKPTFS_SPEED_SIZE=16MiB CKPTFS_SPEED_RUNS=1 TMPDIR=$tmp \
	bash "$srcdir/bench/speed.sh" "$tmp/b" small uptrunc firstbyte >"$tmp/table" 2>"$tmp/err"
expect_eq 1 $? "a run with a row that failed says so by its status"
diag "$(cat "$tmp/err")"
expect_eq 1 "$(grep -c '^speed: small: ckptbench: the reason, and the remedy$' "$tmp/err")" \
	"a row that fails is named with the program's reason"
expect_eq 1 "$(grep -c '^speed: firstbyte: .*the reason' "$tmp/err")" "the next row that fails is named, too"
expect_eq 1 "$(grep -c '^a size set first, over plain writes  *[0-9.]* ' "$tmp/table")" "a row between them is in the table"
expect_eq 1 "$(grep -c 'not in the table: .*firstbyte' "$tmp/err")" "the last line names the rows that are missing"
check "the table is kept in a file" grep -q '^a size set first' "$tmp/out/speed.txt"
expect_eq "" "$(grep " $tmp/" /proc/self/mounts; find "$tmp" -maxdepth 1 -name 'ckptfs-speed.*')" "no mount and no file is left"

# Rounds in an order that is not theirs by size, of ckptfs and of one peer, and the limit.
while read -r what system figures; do
	for figure in $figures; do printf '%s\t%s\t%s\n' "$(echo "$what" | tr _ ' ')" "$system" "$figure"; done
done >"$tmp/figures" <<'EOF'
write ckptfs 3.0 1.0 2.0
write s3fs 0.5 0.25 4
limit_write machine 2.5 2.5
write.cpu ckptfs 0.4 0.3
write_4K ckptfs 0.2
null_write_4K machine 0.1
four_read ckptfs 1.5
EOF
awk -f "$srcdir/bench/speed.awk" "$tmp/figures" | sed 's/  */ /g' >"$tmp/made"
expect_eq "what ckptfs spread unit must s3fs limit share
one file, write 2.00 1.00-3.00 GB/s 2.4 MISSED 0.50 4.00x 2.50 0.80
one file, write in blocks of 4 KiB 0.20 GB/s 0.3 MISSED
the same, over a null FUSE file system 2.00 x 3 MISSED
four files at once, read 1.50 GB/s 2 MISSED
CPU of the daemon, write 0.35 0.30-0.40 CPU-s/GB 0.35 reached" "$(cat "$tmp/made")" \
	"the one table has medians and spread, each peer, what ckptfs is over it, the limit and the share of it"

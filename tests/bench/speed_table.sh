#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# speed_table.sh: a row of the speed table that fails takes no other with it.
. "$srcdir/tests/lib/tap.sh"
[ -e /dev/fuse ] || skip_all "/dev/fuse is missing"
command -v fusermount3 >/dev/null || skip_all "fusermount3 is not installed"
[ "${SANITIZERS:-no}" = no ] || skip_all "the sanitizers have their own tests of these programs"
plan 7

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
	bash "$srcdir/bench/speed.sh" "$tmp/b" small blocks firstbyte >"$tmp/table" 2>"$tmp/err"
expect_eq 1 $? "a run with a row that failed says so by its status"
diag "$(cat "$tmp/err")"
expect_eq 1 "$(grep -c '^speed: small: ckptbench: the reason, and the remedy$' "$tmp/err")" \
	"a row that fails is named with the program's reason"
expect_eq 1 "$(grep -c '^speed: firstbyte: .*the reason' "$tmp/err")" "the next row that fails is named, too"
expect_eq 1 "$(grep -c 'blocks of 64 KiB  *[0-9.]* GB/s' "$tmp/table")" "a row between them is in the table"
expect_eq 1 "$(grep -c 'not in the table: .*firstbyte' "$tmp/err")" "the last line names the rows that are missing"
check "the table is kept in a file" grep -q 'blocks of 64 KiB' "$tmp/out/speed.txt"
expect_eq "" "$(grep " $tmp/" /proc/self/mounts; find "$tmp" -maxdepth 1 -name 'ckptfs-speed.*')" "no mount and no file is left"

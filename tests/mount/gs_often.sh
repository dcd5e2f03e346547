#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gs_often.sh: Google Cloud Storage takes one change of a name a second; who changes one more often waits.
# And it wants 1,000 writes a second at first.
CKPTFS_TEST_SCHEME=gs
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 12
start_store --name-pause 1s
mount_ckptfs attr_ttl=0
refused() { awk '$6 == 429' "$requests" | wc -l; }

expect_eq "ok ok ok ok ok ok" "$(fdo open wct "$mnt/log" write 10 fsync write 10 fsync close)" \
	"a file is synced twice in a row"
expect_eq 20 "$(objects size log)" "a file that is synced twice in a row has all that was written"
for i in 1 2; do echo $i >"$mnt/latest" || diag "echo $i fails"; done
expect_eq 2 "$(store_cat latest)" "a name that is written again has what came last"
check "a name that is written again may have other permissions at once" chmod 640 "$mnt/latest"
expect_eq 640 "$(stat -c %a "$mnt/latest")" "a name that is written again has its other permissions"
echo first >"$mnt/a"
echo second >"$mnt/b"
expect_eq "0 second" "$(mv "$mnt/b" "$mnt/a"; echo $?) $(store_cat a)" "a file takes the place of one that is new"

# Two writers of one name and a third of many others.
echo one >"$mnt/one" &
first=$!
echo two >"$mnt/one" &
second=$!
for i in $(seq 40); do echo "$i" >"$mnt/other$i"; done
failed=0
for pid in $first $second; do wait "$pid" || failed=$((failed + 1)); done
# promise: gs.often
expect_eq 0 $failed "who writes the same name at once is not refused"
expect_eq 40 "$(store_ls other | wc -l)" "writers of other names are not refused"
check "the store has told writers to wait" test "$(refused)" -ge 1
umount_ckptfs
store_stop

# Without TLS it would be an emulator, which is asked as fast as can be. The first thousand may come at once.
if make_certificate; then
	export CKPTFS_TEST_CA="$tmp/tls.pem"
	start_store --tls-cert "$tmp/tls.pem" --tls-key "$tmp/tls.key"
	export STORAGE_EMULATOR_HOST="$CKPTFS_TEST_ENDPOINT" # which wants no credentials
	check "1,800 objects are made" objects fill many/f 1800
	# Seconds of the day, from the first request to the last.
	took=$(awk '$2 == "objects.insert" { split($1, a, /[T:Z]/); t = a[2] * 3600 + a[3] * 60 + a[4]
		if (!n++) first = t } END { t -= first; printf "%d", (t < 0 ? t + 86400 : t) * 1000 }' "$requests")
	check "1,800 objects need four fifths of a second, not less" test "$took" -ge 700
else
	skip "1,800 objects are made" "openssl is not installed"
	skip "1,800 objects need four fifths of a second, not less" "openssl is not installed"
fi

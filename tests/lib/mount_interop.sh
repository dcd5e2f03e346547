# SPDX-License-Identifier: Apache-2.0
# mount_interop.sh: what a mount of somebody else's server must do. Set $server, then source it; $uploads:
# other ways of the option upload to be tried there.
. "$srcdir/tests/lib/mount.sh"
need_fuse
need_store "$server"
command -v openssl >/dev/null || skip_all "openssl is not installed"
# shellcheck disable=SC2086
plan $((40 + $(set -- ${uploads:-}; echo $#) * 4))
store_start "$server"
# The bucket is made by the server's own means: MinIO and versitygw take a directory for one.
mount_ckptfs attr_ttl=1s
mkdir "$mnt/ckpt" "$mnt/ckpt/step 1"
dir="$mnt/ckpt/step 1"

# shard SIZE: so many bytes that only that shard has
shard() {
	openssl enc -aes-128-ctr -K "0$1" -iv 00 -in /dev/zero 2>/dev/null | head -c "$1"
}
sizes="0 1 5242879 5242880 16777216 16777217 67108867"
for size in $sizes; do
	shard "$size" | dd of="$dir/shard-$size" bs=1M iflag=fullblock status=none
	expect_eq 0 $? "$size bytes are written"
	sum=$(shard "$size" | cksum)
	expect_eq "$sum" "$(store_cat "ckpt/step 1/shard-$size" | cksum)" "$size bytes are the object"
	expect_eq "$sum" "$(cksum <"$dir/shard-$size")" "$size bytes come back through the mount"
done
expect_eq "$(for size in $sizes; do echo "$size shard-$size"; done | LC_ALL=C sort)" \
	"$(cd "$dir" && stat -c '%s %n' * | LC_ALL=C sort)" "names and sizes are listed"

shard 1000 >"$dir/shard-67108867"
expect_eq "1000 1000" "$(objects size 'ckpt/step 1/shard-67108867') $(wc -c <"$dir/shard-67108867")" \
	"a large file is replaced by a small one"
shard 40000000 >"$dir/shard-1"
expect_eq 40000000 "$(objects size 'ckpt/step 1/shard-1')" "a small file is replaced by a large one"
expect_eq "$(shard 40000000 | cksum)" "$(cksum <"$dir/shard-1")" "a file that was replaced is right"

fdo_begin open wct "$dir/killed" write 40000000 pause close
kill -KILL "$fdo_pid"
wait "$fdo_pid" 2>/dev/null
gone() { [ ! -e "$dir/killed" ] && [ -z "$(store_uploads)" ]; }
check "a killed writer leaves neither name nor upload" wait_for 20 gone
expect_eq "" "$(store_ls 'ckpt/step 1/killed')" "a killed writer leaves no object"
expect_eq EEXIST "$(fdo open wcx "$dir/shard-1")" "O_EXCL refuses a name that exists"
fdo_begin open wcx "$dir/late" write 3 pause close
printf other | store_put 'ckpt/step 1/late'
fdo_ends "ok ok ok EEXIST" "O_EXCL refuses a name that came into being elsewhere meanwhile"

for n in 'a b' 'ü+%&' "q'\"uote" 'x#?y'; do
	printf %s "$n" >"$dir/$n"
	expect_eq "$n" "$(store_cat "ckpt/step 1/$n")" "a file has the name $n"
done
printf one | store_put 'ckpt/step 1/replaced'
cat "$dir/replaced" >/dev/null
printf other | store_put 'ckpt/step 1/replaced'
check "an object that was replaced is read anew" wait_for 10 grep -q other "$dir/replaced"
expect_eq ENOTEMPTY "$(fdo rmdir "$dir")" "a directory of files is not removed"
mkdir -p "$mnt/run.tmp/deep/empty"
chmod 750 "$mnt/run.tmp/deep"
printf in >"$mnt/run.tmp/deep/file"
expect_eq "ok ENOENT in" "$(fdo rename "$mnt/run.tmp" "$mnt/run" size "$mnt/run.tmp") $(cat "$mnt/run/deep/file")" \
	"a directory is renamed with what is in it"
expect_eq "run/ run/deep/ run/deep/empty/ run/deep/file" "$(store_ls run | xargs)" "a renamed directory has all files, and nothing else"
expect_eq 750 "$(stat -c %a "$mnt/run/deep")" "a renamed directory has its permissions"
rm -r "$mnt/run"
rm -r "$mnt/ckpt"
expect_eq "0 :" "$? $(store_ls):$(ls -A "$mnt")" "rm -r leaves nothing"
expect_log 'not published, the version before it stands'
umount_ckptfs

for way in ${uploads:-}; do
	mount_ckptfs part_size=5M "upload=$way"
	for size in 1 5242881 67108867; do
		shard "$size" >"$mnt/$way-$size"
		sum=$(shard "$size" | cksum)
		expect_eq "$sum $sum" "$(store_cat "$way-$size" | cksum) $(cksum <"$mnt/$way-$size")" \
			"upload=$way: $size bytes are the object, and come back"
	done
	umount_ckptfs
done

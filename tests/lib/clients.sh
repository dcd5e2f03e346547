# SPDX-License-Identifier: Apache-2.0
# clients.sh: client libraries of others read what a mount wrote, and a mount reads what they wrote. Set
# $clients and $script, then source it. The libraries are those of tests/interop/clients.txt, put
# into $CKPTFS_PEERS/clients by tests/interop/venv_setup.sh; those that need torch find it where
# tests/trainers/setup.sh puts it.
. "$srcdir/tests/lib/mount.sh"
need_fuse
need_store "$server"

python=$CKPTFS_PEERS/clients/bin/python
sh "$srcdir/tests/interop/venv_setup.sh" clients >"$tmp/setup.log" 2>&1 ||
	lacks interop "no client libraries: $(tail -n 1 "$tmp/setup.log")"

set -- $clients
plan $((3 + 3 * $#))
store_start "$server"
mount_ckptfs part_size=5M
mkdir "$mnt/from-ckptfs" "$tmp/files"
head -c 1000 /dev/urandom >"$tmp/files/a"
head -c 12000001 /dev/urandom >"$tmp/files/b"
check "ckptfs writes a small file" cp "$tmp/files/a" "$mnt/from-ckptfs/a"
check "ckptfs writes a large file" cp "$tmp/files/b" "$mnt/from-ckptfs/b"
for client; do
	case $client in
	dataflux | s3torchconnector)
		if ! "$python" -c 'import torch' 2>/dev/null; then
			for n in 1 2 3; do skip "$client" "torch is not installed: tests/trainers/setup.sh does it"; done
			continue
		fi
		;;
	esac
	check "$client reads the files of ckptfs, and writes some" timeout 600 "$python" "$srcdir/$script" "$client" \
		"$CKPTFS_TEST_ENDPOINT" "$CKPTFS_TEST_BUCKET" "$tmp/files"
	for file in a b; do
		check "ckptfs reads the $file of $client" wait_for 10 cmp "$tmp/files/$file" "$mnt/$client/$file"
	done
done
umount_ckptfs

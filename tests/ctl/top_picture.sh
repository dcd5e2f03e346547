#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# top_picture.sh: no test, but what makes docs/top.png: the screen of ckptctl top in a terminal of 80 columns and 24
# lines, while two programs save and one loads. As root, with Debian's python3-pyte, python3-pil and fonts-dejavu-core:
#
#	srcdir=. builddir=build sh tests/ctl/top_picture.sh docs/top.png
[ -n "${CKPTFS_IN_NAMESPACE-}" ] || exec env CKPTFS_IN_NAMESPACE=yes unshare -m --propagation private sh "$srcdir/tests/lib/alone.sh" sh "$0" "$@"
. "${srcdir:?}/tests/lib/mount.sh"
mount -t tmpfs tmpfs /mnt
at_exit 'umount -l /mnt'
mkdir /mnt/ckpt
spawn "$builddir/storesim" --null --bucket bucket --rate 4M --ttfb 20ms --fill runs/step-0900/shard-=2,2G >"$tmp/store"
wait_for 30 grep -q '^listening on ' "$tmp/store"
spawn "$builddir/ckptfs" -f s3://bucket/runs /mnt/ckpt \
	-o "endpoint=$(sed -n 's/^listening on //p' "$tmp/store"),anonymous,region=eu-west-1,memory=512M,control_dir=$tmp/control" 2>"$tmp/log"
wait_for 30 mountpoint -q /mnt/ckpt
mkdir /mnt/ckpt/step-1000
for shard in 0 1; do
	spawn sh -c 'while head -c 256M /dev/zero; do :; done >"$0"' /mnt/ckpt/step-1000/shard-$shard
done
spawn cp /mnt/ckpt/step-0900/shard-00000001 /dev/null
sleep 10
# The second screen is the first with rates.
python3 "$srcdir/tests/ctl/top.py" "$tmp" 24x80 ',,,q' "$builddir/ckptctl" -o "control_dir=$tmp/control" top --interval 2s
/usr/bin/python3 "$srcdir/tests/ctl/top_picture.py" "$tmp/screen3.raw" "$1"
cat "$tmp/screen3"

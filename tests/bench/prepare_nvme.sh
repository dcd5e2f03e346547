#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# prepare_nvme.sh: a blank device gets a file system; nothing else is touched. No device of this machine
# is: only files, and loop devices over them.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/bench.sh"
plan 25
cd "$tmp" || exit 1
mkdir mnt full
touch full/file
truncate -s 64M image

# refused PATTERN arguments...
refused() {
	pattern=$1; shift
	bench prepare-nvme "$@" >out 2>err
	expect_eq "1 1" "$? $(grep -c -- "$pattern" err)" "the script refuses this machine: $pattern"
	expect_eq 1 "$(wc -l <err)" "the refusal is one line: $pattern"
}
refused "give ckptbench prepare-nvme --device DEVICE" --device image
refused "image is no block device" --device image --mountpoint mnt --yes
refused "/dev/null is no block device" --device /dev/null --mountpoint mnt --yes
refused "none: No such file" --device none --mountpoint mnt --yes
refused "full is not empty" --device image --mountpoint full --yes
refused "is a mountpoint already" --device image --mountpoint /proc --yes

why="losetup does not work here"
loop=$(losetup --find --show image 2>/dev/null)
if [ -z "$loop" ] || ! [ -b "$loop" ]; then
	for n in 1 2 3 4 5 6 7 8 9 10 11 12 13; do skip "a loop device is prepared" "$why"; done
	exit 0
fi
at_exit 'umount "$tmp/mnt" 2>/dev/null; losetup -d "$loop" 2>/dev/null'
refused "would make an ext4 file system on $loop" --device "$loop" --mountpoint mnt
check "the script does nothing without --yes" cmp -n 67108864 image /dev/zero
check "the script makes and mounts the array with --yes" bench prepare-nvme --device "$loop" --mountpoint mnt --yes
check "the array is mounted with --yes" mountpoint -q mnt
refused "mnt is a mountpoint already" --device "$loop" --mountpoint mnt --yes
umount mnt
refused "$loop is not blank" --device "$loop" --mountpoint mnt --yes
# The device of another user: whoever is not root may become it, and root without its capabilities is root already.
may=--bounding-set=-dac_override,-dac_read_search
mknod device b "0x$(stat -c %t "$loop")" "0x$(stat -c %T "$loop")"
chown 65534 device
chmod 600 device
chmod 711 .
lacking() { # WHY SETPRIV-OPTION...
	why=$1
	shift
	setpriv "$@" "$builddir/ckptbench" prepare-nvme --device device --mountpoint mnt --yes >out 2>err
	expect_eq "1 1" "$? $(grep -c "device: Permission denied: $why" err)" "who may not open the device is told: $why"
	expect_eq 1 "$(wc -l <err)" "who may not open the device is told in one line: $why"
}
lacking "root may not here: run this on the host" "$may"
lacking "be root" --reuid 65533 --regid 65533 --clear-groups

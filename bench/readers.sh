#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# readers.sh: what programs read by each read_cache, and what programs that read as well write, on this machine.
#
#   bench/readers.sh BUILD-DIR [READER...]
#
# Readers: direct (dd, O_DIRECT) dd128k dd4k cat cp tar python torch torch_mmap safetensors dcp dd four, and of files that are
# written write_only read_write. Those of Python want torch, safetensors and numpy in the python3 on PATH or in
# $CKPTFS_PYTHON. The store is storesim, with its objects in /dev/shm. Each read is of a fresh mount and a cold page cache,
# CKPTFS_SPEED_MIB (1024) MiB large. The settings (CKPTFS_READ_CACHE, "auto always never") alternate, CKPTFS_SPEED_RUNS (3)
# times. Results go to quickstart.out/ (or $CKPTFS_OUT): readers.tsv has every single figure (reader, setting, GB/s, the daemon's
# CPU-s for a GB) and is added to; the medians of all that it has are printed at the end.
set -euo pipefail

b=$(cd "$1" && pwd)
shift
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=${CKPTFS_OUT:-$root/quickstart.out}
runs=${CKPTFS_SPEED_RUNS:-3}
mib=${CKPTFS_SPEED_MIB:-1024}
settings=${CKPTFS_READ_CACHE:-auto always never}
python=${CKPTFS_PYTHON:-python3}
readers=${*:-direct dd dd128k dd4k cat cp tar python torch torch_mmap safetensors dcp four write_only read_write}
tmp=$(mktemp -d "${TMPDIR:-/var/tmp}/ckptfs-readers.XXXXXX")
objects=$(mktemp -d /dev/shm/ckptfs-readers.XXXXXX)
mkdir -p "$out" "$tmp/mnt"
. "$root/bench/sim.sh"
fs='' reader=''

die() {
	printf 'readers: %s: %s\n' "$reader" "$*" >&2
	exit 1
}
end_mount() {
	[ -n "$fs" ] || return 0
	fusermount3 -u "$tmp/mnt" || fusermount3 -uz "$tmp/mnt" || true
	wait "$fs" 2>/dev/null || true
	fs=''
}
end_all() {
	end_mount
	stop_sim
	rm -rf --one-file-system "$tmp" "$objects"
}
trap end_all EXIT

# Pages of earlier reads go, and memory that a hypervisor took back while it was free is fetched again, which costs more than
# a second for a GB and belongs to no setting.
drop_caches() {
	[ ! -w /proc/sys/vm/drop_caches ] || echo 3 >/proc/sys/vm/drop_caches
	dd if=/dev/zero of=/dev/shm/ckptfs-readers bs=1M count=$((2 * mib + 1024)) status=none || true
	rm -f /dev/shm/ckptfs-readers
}

# mount_with READ-CACHE: a fresh mount, and a cold page cache
mount_with() {
	"$b/ckptfs" -f -o "endpoint=$url,read_cache=$1" s3://speed "$tmp/mnt" >"$tmp/fs.log" 2>&1 &
	fs=$!
	until_true 20 mountpoint -q "$tmp/mnt" || die "no mount: $(tail -n 3 "$tmp/fs.log")"
	drop_caches
}

from_dd() { dd if="$tmp/mnt/${2:-raw}" of=/dev/null bs="$1" status=none ${3:+iflag=$3}; }
four_files() {
	local i pids=() rc=0
	for i in 1 2 3 4; do
		from_dd 1M "quarter$i" &
		pids+=($!)
	done
	for i in "${pids[@]}"; do wait "$i" || rc=1; done
	return $rc
}
by_shell() {
	case $reader in
	direct) from_dd 1M raw direct ;;
	dd) from_dd 1M ;;
	dd128k) from_dd 128K ;;
	dd4k) from_dd 4K ;;
	cat) cat "$tmp/mnt/raw" >/dev/null ;;
	cp) cp "$tmp/mnt/raw" /dev/shm/ckptfs-readers && rm /dev/shm/ckptfs-readers ;;
	tar) tar -C "$tmp/mnt" -cf - raw | cat >/dev/null ;;
	four) four_files ;;
	esac
}

ticks() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$fs/stat"; } # user and system time
# measure: $us of the reader's work; what a program takes to begin is none of it
measure() {
	local t0
	case $reader in
	python | torch | torch_mmap | safetensors | dcp | write_only | read_write)
		us=$("$python" "$root/bench/readers.py" "$reader" "$tmp/mnt" "$mib" 2>"$tmp/err") ||
			die "$(tail -n 1 "$tmp/err")"
		;;
	*)
		t0=$(us)
		by_shell 2>"$tmp/err" || die "$(tail -n 1 "$tmp/err")"
		us=$(($(us) - t0))
		;;
	esac
}

start_sim --data "$objects"
reader=make
mount_with auto
"$python" "$root/bench/readers.py" make "$tmp/mnt" "$mib" "$readers" 2>"$tmp/err" || die "$(tail -n 1 "$tmp/err")"
end_mount
for reader in $readers; do
	for ((run = 0; run < runs; run++)); do
		for setting in $settings; do
			mount_with "$setting"
			before=$(ticks)
			measure
			awk -v us="$us" -v mib="$mib" -v ticks=$(($(ticks) - before)) -v hz="$(getconf CLK_TCK)" \
				-v what="$reader"$'\t'"$setting" 'BEGIN { gb = mib * 1.048576e-3
					printf "%s\t%.3f\t%.2f\n", what, gb / us * 1e6, ticks / hz / gb }' |
				tee -a "$out/readers.tsv"
			end_mount
		done
	done
done

sort -t "$(printf '\t')" -k1,1 -k2,2 -k3,3n "$out/readers.tsv" | awk -F '\t' '
	function tell() { if (n) printf "%-12s %-7s %6.2f GB/s (%.2f-%.2f)\n", r, s, v[int((n + 1) / 2)], v[1], v[n] }
	$1 != r || $2 != s { tell(); n = 0; r = $1; s = $2 }
	{ v[++n] = $3 }
	END { tell() }'

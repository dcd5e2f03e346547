#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# hosts.sh: what many hosts ask of one store when all of them save, load or restore at once: measured, and by a model.
#
#   bench/hosts.sh BUILD-DIR [CASE...]
#
# A host is a mount of its own with 4 connections of 4 MiB/s each. It has some files, each written or read by a process:
#
#   save      the files of this host are written into a directory of all hosts
#   load      files of the bucket are read through the mount that is there
#   restore   a new mount lists what is above the directory and reads what this host saved
#
# Cases: free (the hosts' own rate is the limit) and shared (80 MiB/s for all hosts together). The store is storesim, with
# 20 ms before each reply. connections.sh has what a mount does when the store refuses requests.
#
# bench/hosts.awk has the model. Its parameters are from single mounts with 1 file, 2 files and 1 file of twice the size; the
# mounts that it is held against (CKPTFS_HOSTS, "2 4 8 16") have 3 files each of another size. Results go to quickstart.out/
# (or $CKPTFS_OUT): hosts.tsv has every single figure (case, phase, hosts, files, MiB of each, seconds, reads, writes).
set -euo pipefail

b=$(cd "$1" && pwd)
shift
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=${CKPTFS_OUT:-$root/quickstart.out}
cases=${*:-free shared}
tmp=$(mktemp -d "${TMPDIR:-/var/tmp}/ckptfs-hosts.XXXXXX")
mkdir -p "$out"
. "$root/bench/sim.sh"
mounts=()

die() {
	printf 'hosts: %s: %s\n' "$case" "$*" >&2
	exit 1
}
end_mounts() {
	local i
	for i in "${!mounts[@]}"; do fusermount3 -u "$tmp/mnt$i" || fusermount3 -uz "$tmp/mnt$i" || true; done
	[ ${#mounts[@]} -eq 0 ] || wait "${mounts[@]}" 2>/dev/null || true
	mounts=()
}
end_all() {
	end_mounts
	stop_sim
}
trap 'end_all; rm -rf --one-file-system "$tmp"' EXIT
trap 'exit 130' INT TERM HUP

start_mounts() {
	local i
	for ((i = 0; i < hosts; i++)); do
		mkdir -p "$tmp/mnt$i"
		"$b/ckptfs" -f -o "endpoint=$url,connections=4,part_size=5M,read_size=5M,read_cache=never" s3://speed \
			"$tmp/mnt$i" >"$tmp/fs$i.log" 2>&1 &
		mounts[i]=$!
	done
	for ((i = 0; i < hosts; i++)); do
		until_true 20 mountpoint -q "$tmp/mnt$i" || die "no mount: $(tail -n 3 "$tmp/fs$i.log")"
	done
}

# Each takes the number of the host and of the file.
save() { dd if=/dev/zero of="$tmp/mnt$1/step/host$1.$2" bs=1M count="$mib" status=none; }
load() { dd if="$tmp/mnt$1/model/shard$(printf %08d $(($1 * files + $2)))" of=/dev/null bs=1M status=none; }
restore() { dd if="$tmp/mnt$1/step/host$1.$2" of=/dev/null bs=1M status=none; }
list() { ls "$tmp/mnt$1" >/dev/null; }

# on_hosts COMMAND: by each host, for each of its files, all at once
on_hosts() {
	local i j all=()
	for ((i = 0; i < hosts; i++)); do
		for ((j = 0; j < files; j++)); do
			"$1" "$i" "$j" &
			all+=($!)
		done
	done
	for i in "${all[@]}"; do wait "$i" || die "$1 failed"; done
}
restart() {
	local i all=()
	start_mounts
	for ((i = 0; i < hosts; i++)); do
		list "$i" &
		all+=($!)
	done
	wait "${all[@]}"
	on_hosts restore
}

# phase NAME COMMAND...: its figures
phase() {
	local name=$1 from t0 t1
	shift
	from=$(wc -l <"$tmp/requests")
	t0=$(us)
	"$@"
	t1=$(us)
	sleep 0.2
	tail -n +$((from + 1)) "$tmp/requests" | awk -v c="$case" -v p="$name" -v n="$hosts" -v f="$files" -v s="$mib" \
		-v us=$((t1 - t0)) 'BEGIN { OFS = "\t" }
		$2 ~ /^(Get|Head|List)/ { reads++; next }
		{ writes++ }
		END { print c, p, n, f, s, us / 1e6, reads + 0, writes + 0 }' | tee -a "$out/hosts.tsv"
}

# run HOSTS FILES MIB
run() {
	hosts=$1 files=$2 mib=$3
	local limit
	case $case in
	free) limit='' ;;
	shared) limit='--total-rate 80M' ;;
	*) die "no such case: give free or shared" ;;
	esac
	# shellcheck disable=SC2086 # an option and its value
	start_sim --null --ttfb 20ms --rate 4M --log "$tmp/requests" --fill "model/shard=$((hosts * files)),${mib}M" $limit
	start_mounts
	mkdir "$tmp/mnt0/step"
	phase save on_hosts save
	phase load on_hosts load
	end_mounts
	phase restore restart
	end_all
}

rm -f "$out/hosts.tsv"
for case in $cases; do
	run 1 1 80
	run 1 2 80
	run 1 1 160
	for n in ${CKPTFS_HOSTS:-2 4 8 16}; do run "$n" 3 96; done
done
awk -f "$root/bench/hosts.awk" "$out/hosts.tsv"

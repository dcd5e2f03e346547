#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# metrics.sh: what serving the metrics costs a mount that works.
#
#   bench/metrics.sh BUILD-DIR
#
# A mount of a store that forgets bytes (storesim --null) writes and reads a file of CKPTFS_SPEED_SIZE MiB (2048), in turns
# without metrics= and with it, while a client fetches the metrics each second, where Prometheus does every 15; without,
# it asks the store instead. The figure is the processor time of the daemon, since wall time follows whatever else the
# machine does. Each of the CKPTFS_SPEED_RUNS (24) rounds has a line: the CPU-seconds without and with, those of the thread
# that serves the metrics in percent of the whole, and how often they were fetched. The medians are printed at the end.
set -euo pipefail

b=$(cd "$1" && pwd)
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
runs=${CKPTFS_SPEED_RUNS:-24}
size=${CKPTFS_SPEED_SIZE:-2048}
tmp=$(mktemp -d "${TMPDIR:-/var/tmp}/ckptfs-metrics.XXXXXX")
mkdir -p "$tmp/mnt"
. "$root/bench/sim.sh"
fs='' scraper=''

die() {
	printf 'metrics: %s\n' "$*" >&2
	exit 1
}
end_mount() {
	[ -z "$scraper" ] || { kill "$scraper" && wait "$scraper"; } 2>/dev/null || true
	[ -z "$fs" ] || fusermount3 -uz "$tmp/mnt" || true
	[ -z "$fs" ] || wait "$fs" 2>/dev/null || true
	fs='' scraper=''
}
end_all() {
	end_mount
	stop_sim
	rm -rf --one-file-system "$tmp"
}
trap end_all EXIT
trap 'exit 130' INT TERM HUP

# scrape PORT: without a process for each, which would take its part of the cores
scrape() {
	local lines
	while exec 3<>"/dev/tcp/127.0.0.1/$1"; do
		printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3
		mapfile -t -u 3 lines
		echo "${#lines[@]}" >>"$tmp/scrapes"
		exec 3>&-
		read -r -t 1 <>"$tmp/never" || true
	done 2>/dev/null
}
# cpu: nanoseconds that all threads of the daemon have run, and those of the one that serves the metrics
cpu() {
	local task ns whole=0 served=0
	for task in "/proc/$fs/task/"*; do
		read -r ns _ <"$task/schedstat"
		whole=$((whole + ns))
		[[ $(<"$task/comm") != MHD* ]] || served=$((served + ns))
	done
	echo "$whole $served"
}
# turn [OPTION]: sets cpu_s, and with metrics= share and fetched
turn() {
	local port=${url##*:} whole served
	"$b/ckptfs" -f -o "endpoint=$url${1:+,$1}" s3://speed "$tmp/mnt" 2>"$tmp/fs.log" &
	fs=$!
	until_true 20 mountpoint -q "$tmp/mnt" || die "no mount: $(tail -n 3 "$tmp/fs.log")"
	if [ $# -gt 0 ]; then
		until_true 20 grep -q 'served at port' "$tmp/fs.log" || die "no metrics: $(tail -n 3 "$tmp/fs.log")"
		port=$(sed -n 's/.*metrics are served at port //p' "$tmp/fs.log")
	fi
	: >"$tmp/scrapes"
	scrape "$port" &
	scraper=$!
	dd if=/dev/zero of="$tmp/mnt/file" bs=1M count="$size" status=none
	dd if="$tmp/mnt/file" of=/dev/null bs=1M status=none
	read -r whole served < <(cpu)
	end_mount
	cpu_s=$(awk "BEGIN { printf \"%.3f\", $whole / 1e9 }")
	[ $# -eq 0 ] || share=$(awk "BEGIN { printf \"%.3f\", 100 * $served / $whole }") fetched=$(wc -l <"$tmp/scrapes")
}

mkfifo "$tmp/never"
start_sim --null
printf 'without\twith\tserved, %%\tfetched\n'
for ((run = 0; run < runs; run++)); do
	if ((run % 2)); then
		turn metrics=127.0.0.1:0
		on=$cpu_s
		turn
		off=$cpu_s
	else
		turn
		off=$cpu_s
		turn metrics=127.0.0.1:0
		on=$cpu_s
	fi
	printf '%s\t%s\t%s\t%s\n' "$off" "$on" "$share" "$fetched" | tee -a "$tmp/rounds"
done
for column in 1 2 3 4; do
	cut -f $column "$tmp/rounds" | sort -n | sed -n "$(((runs + 1) / 2))p"
done | paste -s

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# connections.sh: connections=auto beside fixed numbers of connections, on this machine.
#
#   bench/connections.sh BUILD-DIR [CASE...]
#
# Cases: DIRECTION-RATE-FILES, as write-50-1: that many files at RATE MB/s a connection, in GB/s; shared-DIRECTION: 500 MB/s
# for all connections together, in seconds a transfer takes, which is 0.36 or 0.19 alone; requests-DIRECTION: a store that
# refuses more than 150 writes or 600 reads a second, in requests a second. Without cases all of them. The store is storesim,
# with 20 ms before each reply. GB/s are those of loopback from the third second after the first byte to the sixth, so
# nothing else may use it. The settings (CKPTFS_CONNECTIONS, "auto 16 32 64 128") alternate, CKPTFS_SPEED_RUNS (3) times.
# Results go to quickstart.out/ (or $CKPTFS_OUT): connections.tsv has every single figure (case, setting, figure, most MiB of
# memory, transfers at last, refusals a second) and is added to; the medians of all that it has are printed at the end.
set -euo pipefail

b=$(cd "$1" && pwd)
shift
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=${CKPTFS_OUT:-$root/quickstart.out}
runs=${CKPTFS_SPEED_RUNS:-3}
settings=${CKPTFS_CONNECTIONS:-auto 16 32 64 128}
cases=${*:-$(echo {write,read}-{50,90,400}-{1,4}) shared-write shared-read requests-write requests-read}
tmp=$(mktemp -d "${TMPDIR:-/var/tmp}/ckptfs-connections.XXXXXX")
mkdir -p "$out" "$tmp/mnt"
. "$root/bench/sim.sh"
fs='' users=()

die() {
	printf 'connections: %s: %s\n' "$case" "$*" >&2
	exit 1
}
end_users() {
	[ ${#users[@]} -eq 0 ] || kill "${users[@]}" 2>/dev/null || true
	[ ${#users[@]} -eq 0 ] || wait "${users[@]}" 2>/dev/null || true
	users=()
}
end_mount() {
	[ -n "$fs" ] || return 0
	fusermount3 -uz "$tmp/mnt" || true
	wait "$fs" 2>/dev/null || true
	fs=''
}
end_all() {
	end_users
	end_mount
	stop_sim
	rm -rf --one-file-system "$tmp"
}
trap end_all EXIT
trap 'exit 130' INT TERM HUP

# start OPTION...: a store, and a mount of it with $setting connections
start() {
	start_sim --null --ttfb 20ms "$@"
	"$b/ckptfs" -f -o "endpoint=$url,connections=$setting,read_cache=never,$options" \
		s3://speed "$tmp/mnt" >"$tmp/fs.log" 2>&1 &
	fs=$!
	until_true 20 mountpoint -q "$tmp/mnt" || die "no mount: $(tail -n 3 "$tmp/fs.log")"
}
stop() {
	end_users
	peak=$(awk '/^VmHWM/ { printf "%d", $2 / 1024 }' "/proc/$fs/status")
	most=$("$b/ckptctl" stats "$tmp/mnt" 2>/dev/null | awk '$1 == "transfers_most" { print $2 }' || true)
	end_mount
	stop_sim
}

loopback() { awk '/^ *lo:/ { print $2 }' /proc/net/dev; } # bytes
# gbps SECONDS: what loopback carries meanwhile
gbps() {
	local b0 b1 t0 t1
	b0=$(loopback) t0=$(us)
	sleep "$1"
	b1=$(loopback) t1=$(us)
	awk "BEGIN { printf \"%.3f\", ($b1 - $b0) / ($t1 - $t0) / 1000 }"
}

# use DIRECTION FILES: programs that read or write without end
use() {
	local i
	for ((i = 0; i < $2; i++)); do
		if [ "$1" = write ]; then
			dd if=/dev/zero of="$tmp/mnt/file$i" bs=1M status=none 2>/dev/null &
		else
			dd if="$tmp/mnt/large0000000$i" of=/dev/null bs=1M status=none 2>/dev/null &
		fi
		users+=($!)
	done
}

# flow DIRECTION FILES OPTION...: what a store with these options carries
flow() {
	local direction=$1 files=$2
	shift 2
	start --fill large=4,200G "$@"
	use "$direction" "$files"
	sleep 3
	figure=$(gbps 3)
	stop
}

# shared DIRECTION: transfers of 16 MiB or 8 MiB that the store took from the third to the eighth second: their mean time
shared() {
	start --fill large=4,200G --rate 50M --total-rate 500M --log "$tmp/requests"
	use "$1" 1
	sleep 3
	local from
	from=$(wc -l <"$tmp/requests")
	sleep 5
	cp "$tmp/requests" "$tmp/seen"
	stop
	figure=$(tail -n +$((from + 1)) "$tmp/seen" | awk -v op="$([ "$1" = write ] && echo UploadPart || echo GetObject)" \
		'$2 == op { n++; us += $9 } END { printf "%.3f", n ? us / n / 1e6 : 0 }')
}

# requests DIRECTION: parts of 5 MiB or ranges of 1 MiB of a prefix that takes 300 writes and 600 reads a second: how many it
# took, and how many it refused
requests() {
	start --fill large=4,200G --request-rate 150,600 --log "$tmp/requests"
	use "$1" 1
	sleep 3
	local from
	from=$(wc -l <"$tmp/requests")
	sleep 10
	cp "$tmp/requests" "$tmp/seen"
	stop
	read -r figure refused < <(tail -n +$((from + 1)) "$tmp/seen" |
		awk '{ n++ } $6 == 503 { r++ } END { printf "%.1f %.1f\n", (n - r) / 10, r / 10 }')
}

for case in $cases; do
	for ((run = 0; run < runs; run++)); do
		for setting in $settings; do
			refused='' options=part_size=16M
			IFS=- read -r direction rate files <<<"$case"
			case $direction in
			shared) shared "$rate" ;;
			requests) options=part_size=5M,read_size=1M && requests "$rate" ;;
			*) flow "$direction" "$files" --rate "${rate}M" ;;
			esac
			printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$case" "$setting" "$figure" "$peak" "$most" "$refused" |
				tee -a "$out/connections.tsv"
		done
	done
done

sort -t "$(printf '\t')" -k1,1 -k2,2 -k3,3n "$out/connections.tsv" | awk -F '\t' '
	function tell() { if (n) printf "%-15s %-5s %s\n", c, s, v[int((n + 1) / 2)] }
	$1 != c || $2 != s { tell(); n = 0; c = $1; s = $2 }
	{ v[++n] = $3 }
	END { tell() }'

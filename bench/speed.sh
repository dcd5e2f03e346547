#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# speed.sh: the speed table, on this machine, beside each peer that is on PATH.
#
#   bench/speed.sh BUILD-DIR [ROW...]      rows: file blocks four limit rate rss firstbyte tls list
#
# Everything runs against storesim on loopback. CKPTFS_SPEED_SIZE (8GiB) is the size of a file and CKPTFS_SPEED_RUNS (3)
# how often each figure is taken; CKPTFS_SPEED_PEERS names fewer peers. Systems alternate within a run and the median counts. Results go to quickstart.out/:
# speed.tsv has every single figure, speed.txt the table.
set -euo pipefail

b=$(cd "$1" && pwd)
shift
rows=${*:-file blocks four limit rate rss firstbyte tls list}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=$root/quickstart.out
runs=${CKPTFS_SPEED_RUNS:-3}
size=${CKPTFS_SPEED_SIZE:-8GiB}
mib=$(($(numfmt --from=iec-i --suffix=B "$size" | tr -d B) >> 20))
tmp=$(mktemp -d "${TMPDIR:-/var/tmp}/ckptfs-speed.XXXXXX")
mkdir -p "$out" "$tmp/mnt"
tsv=$out/speed.tsv
: >"$tsv"
peers=() sim='' fs='' system=''
export AWS_ACCESS_KEY_ID=speed AWS_SECRET_ACCESS_KEY=speed-secret AWS_REGION=us-east-1
export AWS_CONFIG_FILE=/dev/null AWS_SHARED_CREDENTIALS_FILE=/dev/null
unset AWS_PROFILE AWS_SESSION_TOKEN AWS_CA_BUNDLE

die() {
	printf 'speed: %s\n' "$*" >&2
	exit 1
}

finish() {
	trap '' INT TERM HUP
	unmount
	stop_sim
	rm -rf --one-file-system "$tmp" /dev/shm/ckptfs-speed
}
trap finish EXIT
trap 'exit 130' INT TERM HUP

until_true() {
	local n=$(($1 * 20))
	shift
	until "$@" 2>/dev/null; do
		n=$((n - 1))
		[ "$n" -gt 0 ] || return 1
		sleep 0.05
	done
}
ended() { ! kill -0 "$1"; }

start_sim() {
	"$b/storesim" --listen 127.0.0.1:0 --bucket speed "$@" >"$tmp/sim.out" 2>"$tmp/sim.log" &
	sim=$!
	until_true 10 grep -q '^listening on ' "$tmp/sim.out" || die "storesim: $(cat "$tmp/sim.log")"
	url=$(sed -n 's/^listening on //p' "$tmp/sim.out")
}

stop_sim() {
	[ -n "$sim" ] || return 0
	kill "$sim" 2>/dev/null || true
	wait "$sim" 2>/dev/null || true
	sim=''
}

# mount_system NAME [OPTION-LIST]: mounts the bucket on $tmp/mnt; $fs is the daemon
mount_system() {
	system=$1
	case $1 in
	ckptfs) "$b/ckptfs" -f -o "endpoint=$url${2:+,$2}" s3://speed "$tmp/mnt" ;;
	mount-s3) mount-s3 -f speed "$tmp/mnt" --endpoint-url "$url" --force-path-style --allow-delete \
		--allow-overwrite ;;
	s3fs)
		echo "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" >"$tmp/passwd"
		chmod 600 "$tmp/passwd"
		exec s3fs -f speed "$tmp/mnt" -o "url=$url,use_path_request_style,passwd_file=$tmp/passwd"
		;;
	geesefs) geesefs -f --endpoint "$url" speed "$tmp/mnt" ;;
	rclone) rclone mount ":s3,provider=Other,env_auth=true,endpoint='$url':speed" "$tmp/mnt" \
		--vfs-cache-mode writes --cache-dir "$tmp/rclone" ;;
	esac >"$tmp/fs.log" 2>&1 &
	fs=$!
	until_true 20 mountpoint -q "$tmp/mnt" || die "$1 did not mount: $(tail -n 3 "$tmp/fs.log")"
	# A shell stands before the daemon where the command line is a function of ours.
	local child
	child=$(pgrep -P "$fs" | head -n 1 || true)
	daemon=${child:-$fs}
}

unmount() {
	[ -n "$fs" ] || return 0
	! mountpoint -q "$tmp/mnt" || until_true 10 fusermount3 -u "$tmp/mnt" || fusermount3 -uz "$tmp/mnt" || true
	until_true 60 ended "$fs" || kill "$fs"
	wait "$fs" 2>/dev/null || true
	fs=''
	rm -rf "$tmp/rclone"
}

now() { date +%s.%N; }
ticks() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat"; } # user and system time
peak_mib() { awk '/^VmHWM/ { printf "%d", $2 / 1024 }' "/proc/$daemon/status"; }
record() { printf '%s\t%s\t%s\n' "$1" "$2" "$3" >>"$tsv"; }

# Before a read, for every system alike: pages of earlier reads go, and memory that a hypervisor took back while it was free is
# fetched again, which costs more than a second for a GB and belongs to no file system.
drop_caches() {
	dd if=/dev/zero of=/dev/shm/ckptfs-speed bs=1M count=$((mib + 1024)) status=none || true
	rm -f /dev/shm/ckptfs-speed
	[ ! -w /proc/sys/vm/drop_caches ] || echo 3 >/proc/sys/vm/drop_caches
}

# timed WHAT MIB COMMAND...: records GB/s, and the daemon's CPU-s per GB as WHAT.cpu
timed() {
	local what=$1 size=$2 t0 t1 c0 c1
	shift 2
	c0=$(ticks "$daemon") t0=$(now)
	"$@" 2>"$tmp/err" || die "$system: $what: $(tail -n 1 "$tmp/err")"
	t1=$(now) c1=$(ticks "$daemon")
	record "$what" "$system" "$(awk "BEGIN { printf \"%.3f\", $size * 1.048576e-3 / ($t1 - $t0) }")"
	record "$what.cpu" "$system" \
		"$(awk "BEGIN { printf \"%.3f\", ($c1 - $c0) / $(getconf CLK_TCK) / ($size * 1.048576e-3) }")"
}

write_file() { dd if=/dev/zero of="$1" bs="$2" count="$3" status=none; }
read_file() { dd if="$1" of=/dev/null bs=1M status=none; }

four() {
	local i pids=()
	for i in 1 2 3 4; do
		"$@" "$tmp/mnt/four$i" &
		pids+=($!)
	done
	wait "${pids[@]}"
}
four_write() { write_file "$1" 1M $((mib / 4)); }

file_row() { # file_row PREFIX
	timed "$1write" "$mib" write_file "$tmp/mnt/file" 1M "$mib"
	drop_caches
	timed "$1read" "$mib" read_file "$tmp/mnt/file"
	rm -f "$tmp/mnt/file"
}

four_row() {
	timed "four write" "$mib" four four_write
	drop_caches
	timed "four read" "$mib" four read_file
	rm -f "$tmp"/mnt/four?
}

# Each system on a fresh mount, in turn, runs times. alternate ROW-FUNCTION ARGUMENTS...
alternate() {
	local run name
	for ((run = 0; run < runs; run++)); do
		for name in ckptfs "${peers[@]}"; do
			mount_system "$name" "${us:-}"
			"$@"
			unmount
		done
	done
}

blocks_row() {
	timed "write 64K" "$mib" write_file "$tmp/mnt/file" 64K $((mib * 16))
	timed "write 4K" $((mib / 4)) write_file "$tmp/mnt/file" 4K $((mib * 64))
	rm -f "$tmp/mnt/file"
}

has_row() { case " $rows " in *" $1 "*) ;; *) return 1 ;; esac; }
only_us() { local peers=(); alternate "$@"; }

row_file() { start_sim --null; alternate file_row ""; stop_sim; }
row_blocks() { start_sim --null; only_us blocks_row; stop_sim; }
row_four() { start_sim --null; alternate four_row; stop_sim; }

row_limit() {
	(cd "$tmp" && "$b/ckptbench" ceiling path="$tmp" out="$tmp/ceiling") >"$tmp/ceiling.txt" ||
		die "ceiling: $(tail -n 1 "$tmp/ceiling.txt")"
	cat "$tmp/ceiling.txt" >"$out/ceiling.txt"
	record "limit write" machine "$(sed -n 's/^limit write = .* = \([0-9.]*\) GB.*/\1/p' "$tmp/ceiling.txt")"
	record "limit read" machine "$(sed -n 's/^limit read .* = \([0-9.]*\) GB.*/\1/p' "$tmp/ceiling.txt")"
}

# shards DIR PHASE STORAGE [KEY=VALUE...]: a save or load of ckptbench; prints its GB/s
shards() {
	local dir=$1 phase=$2 storage=$3
	shift 3
	"$b/ckptbench" shards size=2GiB payload=null phase="$phase" storage="$storage" \
		mount.path="$tmp/mnt" s3.uri=s3://speed/direct s3.endpoint="$url" s3.connections=16 \
		out="$dir" "$@" >"$tmp/shards.txt" || die "shards: $(tail -n 1 "$tmp/shards.txt")"
	jq -r ".metrics.$phase.gb_per_s" "$dir"/shards/*/*/job_results.json
}

row_rate() {
	local run storage dir
	start_sim --null --rate 50M --ttfb 20ms
	for ((run = 0; run < runs; run++)); do
		mount_system ckptfs "connections=16"
		for storage in mount s3; do
			dir=$tmp/rate.$run.$storage
			record "rate write" "$storage" "$(shards "$dir.save" save $storage)"
			drop_caches
			record "rate read" "$storage" "$(shards "$dir.load" load $storage \
				suffix="$(sed -n 's/.*suffix \([^ ;]*\).*/\1/p' "$tmp/shards.txt" | head -n 1)")"
		done
		unmount
	done
	stop_sim
}

row_rss() {
	start_sim --null
	mount_system ckptfs memory=512M
	write_file "$tmp/mnt/big" 1M 32768
	record "rss 32 GiB file" ckptfs "$(peak_mib)"
	unmount
	mount_system ckptfs memory=512M
	local i pids=()
	for i in $(seq 16); do
		write_file "$tmp/mnt/file$i" 1M 1024 &
		pids+=($!)
	done
	wait "${pids[@]}"
	record "rss 16 files" ckptfs "$(peak_mib)"
	unmount
	stop_sim
}

row_tls() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=127.0.0.1 \
		-addext subjectAltName=IP:127.0.0.1 -keyout "$tmp/key.pem" -out "$tmp/cert.pem" 2>/dev/null
	start_sim --null --tls-cert "$tmp/cert.pem" --tls-key "$tmp/key.pem"
	us=ca_bundle=$tmp/cert.pem only_us file_row "tls "
	stop_sim
}

# Both are measured inside one process, where starting a program does not count.
row_firstbyte() {
	start_sim --null --ttfb 20ms
	mount_system ckptfs
	"$b/ckptbench" firstbyte mount.path="$tmp/mnt" s3.uri=s3://speed s3.endpoint="$url" out="$tmp/fb" \
		>"$tmp/fb.txt" || die "firstbyte: $(tail -n 1 "$tmp/fb.txt")"
	record "first byte over store" ckptfs "$(sed -n 's/^over the store: *\([-0-9.]*\) ms/\1/p' "$tmp/fb.txt")"
	unmount
	stop_sim
}

row_list() {
	start_sim --null
	mount_system ckptfs listed_attrs=assume
	"$b/ckptbench" list objects=100000 mount.path="$tmp/mnt" s3.uri=s3://speed s3.endpoint="$url" \
		out="$tmp/ls" >"$tmp/ls.txt" || die "list: $(tail -n 1 "$tmp/ls.txt")"
	record "ls over libstore" ckptfs "$(sed -n 's/^ls -l over libstore: *\([0-9.]*\)/\1/p' "$tmp/ls.txt")"
	unmount
	stop_sim
}

for p in ${CKPTFS_SPEED_PEERS-mount-s3 s3fs geesefs rclone}; do
	if command -v "$p" >/dev/null; then peers+=("$p"); else echo "absent: $p"; fi
done
echo "$(nproc) cores, $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), kernel $(uname -r), $(date -u +%F)"
for row in file blocks four limit rate rss firstbyte tls list; do
	has_row "$row" || continue
	echo "measuring: $row"
	"row_$row"
done
awk -f "$root/bench/speed.awk" "$tsv" | tee "$out/speed.txt"

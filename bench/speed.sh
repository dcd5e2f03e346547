#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# speed.sh: the speed table, on this machine, beside each peer that is on PATH.
#
#   bench/speed.sh BUILD-DIR [ROW...]      rows: file blocks four threads uptrunc rate rss firstbyte tls list
#                                                small rename append find gs gsfour gsrate gsupload
#                                                gsrename clients overhead blocked restore
#
# Everything runs against storesim on loopback. CKPTFS_SPEED_SIZE (8GiB) is the size of a file and CKPTFS_SPEED_RUNS (3)
# how often each figure is taken; CKPTFS_SPEED_PEERS names fewer peers, CKPTFS_SPEED_MANY (10000) how many objects rename
# has, a tenth of those of find and list, and five times those of small. Systems alternate within a run, with what the
# machine can do at best where the table has a limit, and the median counts. Results go to quickstart.out/ (or
# $CKPTFS_OUT): speed.tsv has every single figure, speed.txt the table. A row that fails is named with
# its reason, the others go on, and the exit status is 1.
set -euo pipefail

b=$(cd "$1" && pwd)
shift
all='file blocks four threads uptrunc rate rss firstbyte tls list small rename append find gs gsfour gsrate gsupload gsrename clients overhead blocked restore'
rows=${*:-$all}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=${CKPTFS_OUT:-$root/quickstart.out}
runs=${CKPTFS_SPEED_RUNS:-3}
many=${CKPTFS_SPEED_MANY:-10000}
size=${CKPTFS_SPEED_SIZE:-8GiB}
mib=$(($(numfmt --from=iec-i --suffix=B "$size" | tr -d B) >> 20))
tmp=$(mktemp -d "${TMPDIR:-/var/tmp}/ckptfs-speed.XXXXXX")
mkdir -p "$out" "$tmp/mnt"
tsv=$out/speed.tsv
: >"$tsv"
peers=() fs='' system='' scheme=s3 writer=write_file
. "$root/bench/sim.sh"

die() {
	printf 'speed: %s: %s\n' "$row" "$*" >&2
	said=1
	exit 1
}

# reason FILE: the line of a program's output that says why it failed; a launcher puts its own around it
reason() {
	local own
	own=$(grep -h '^ckptbench: ' "$1" | tail -n 1 || true)
	[ -n "$own" ] || own=$(grep -v '^[- ]*$' "$1" | tail -n 1 || true)
	printf '%s' "${own:-it said nothing}"
}

# A row is a subshell, which ends what it began.
row='' said=''
end_row() {
	local rc=$?
	trap '' INT TERM HUP
	[ $rc -eq 0 ] || [ $rc -eq 130 ] || [ -n "$said" ] ||
		printf 'speed: %s: status %d of: %s\n' "$row" $rc "$failing" >&2
	unmount
	stop_store
	rm -rf "$tmp/data" "$tmp/mnt"/* /dev/shm/ckptfs-speed
	exit $rc
}
failed=()
measure() {
	local rc=0
	row=$1
	set +e
	(
		set -eE
		failing=''
		trap 'failing=$BASH_COMMAND' ERR
		trap end_row EXIT
		trap 'exit 130' INT TERM HUP
		"row_$row"
	)
	rc=$?
	set -e
	[ $rc -ne 130 ] || exit 130
	[ $rc -eq 0 ] || failed+=("$row")
}

trap 'rm -rf --one-file-system "$tmp"' EXIT
trap 'exit 130' INT TERM HUP
ended() { ! kill -0 "$1"; }

# start_store [OPTION...]: a store of the protocol $scheme at $url; Google's wants no login then
start_store() {
	[ "$scheme" = s3 ] || set -- --protocol gs "$@"
	start_sim "$@"
	[ "$scheme" = s3 ] || export STORAGE_EMULATOR_HOST=$url
}

stop_store() {
	stop_sim
	unset STORAGE_EMULATOR_HOST
}

# mount_system NAME [OPTION-LIST]: mounts the bucket on $tmp/mnt; $fs is the daemon
mount_system() {
	system=$1
	case $1 in
	ckptfs) "$b/ckptfs" -f -o "endpoint=$url${2:+,$2}" "$scheme://speed" "$tmp/mnt" ;;
	gcsfuse) gcsfuse --enable-hns=false --foreground --custom-endpoint "$url/storage/v1/" --anonymous-access speed "$tmp/mnt" ;;
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

# Whether all of these processes of ours ended well.
all_well() {
	local p rc=0
	for p in "$@"; do wait "$p" || rc=1; done
	return $rc
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
# The same of what a null store gives back, since one of Google's is asked for the checksum of what it got.
write_pattern() {
	perl -e 'local $/; open my $p, "<", $ARGV[0] or die "$!\n"; my $b = <$p> x 4;
		open my $f, ">", $ARGV[1] or die "$!\n";
		for (my $left = $ARGV[2] << 20; $left > 0; $left -= length $b) {
			syswrite $f, $left < length $b ? substr $b, 0, $left : $b or die "$!\n" }
		close $f or die "$!\n"' "$tmp/pattern" "$1" "$3"
}
read_file() { dd if="$1" of=/dev/null bs=1M status=none; }

four() {
	local i pids=()
	for i in 1 2 3 4; do
		"$@" "$tmp/mnt/four$i" &
		pids+=($!)
	done
	all_well "${pids[@]}"
}
four_write() { "$writer" "$1" 1M $((mib / 4)); }

file_row() { # file_row PREFIX
	timed "$1write" "$mib" "$writer" "$tmp/mnt/file" 1M "$mib"
	drop_caches
	timed "$1read" "$mib" read_file "$tmp/mnt/file"
	rm -f "$tmp/mnt/file"
}

four_row() { # four_row PREFIX
	timed "$1four write" "$mib" four four_write
	drop_caches
	timed "$1four read" "$mib" four read_file
	rm -f "$tmp"/mnt/four?
}

# What the machine can do at best: FUSE and HTTP, each alone, and composed.
limit() {
	(cd "$tmp" && "$b/ckptbench" ceiling out="$tmp/ceiling") >"$tmp/ceiling.txt" 2>&1 ||
		die "$(reason "$tmp/ceiling.txt")"
	cat "$tmp/ceiling.txt" >"$out/ceiling.txt"
	record "limit write" machine "$(sed -n 's/^limit write = .* = \([0-9.]*\) GB.*/\1/p' "$tmp/ceiling.txt")"
	record "limit read" machine "$(sed -n 's/^limit read .* = \([0-9.]*\) GB.*/\1/p' "$tmp/ceiling.txt")"
	record "null write 4K" machine "$(awk '/^null FUSE, write / && $4 == 4 { print $6 }' "$tmp/ceiling.txt")"
}

# Each system on a fresh mount, in turn, runs times, and after them the limit where it is `wanted`.
# alternate ROW-FUNCTION ARGUMENTS...
alternate() {
	local run name
	for ((run = 0; run < runs; run++)); do
		for name in ckptfs "${peers[@]}"; do
			mount_system "$name" "${us:-}"
			"$@"
			unmount
		done
		[ -z "${wanted:-}" ] || "$wanted"
	done
}

blocks_row() {
	timed "write 64K" "$mib" write_file "$tmp/mnt/file" 64K $((mib * 16))
	timed "write 4K" $((mib / 4)) write_file "$tmp/mnt/file" 4K $((mib * 64))
	rm -f "$tmp/mnt/file"
}

has_row() { case " $rows " in *" $1 "*) ;; *) return 1 ;; esac; }
only_us() { local peers=(); alternate "$@"; }

row_file() { start_store --null; wanted=limit alternate file_row ""; stop_store; }
row_blocks() { start_store --null; wanted=limit only_us blocks_row; stop_store; }
row_four() { start_store --null; alternate four_row ""; stop_store; }

# One file by eight readers, a piece each, as a parallel load of a checkpoint does.
eight_read() {
	local i pids=()
	for i in 0 1 2 3 4 5 6 7; do
		dd if="$tmp/mnt/file" of=/dev/null bs=1M skip=$((i * mib / 8)) count=$((mib / 8)) status=none &
		pids+=($!)
	done
	all_well "${pids[@]}"
}
threads_row() {
	write_file "$tmp/mnt/file" 1M "$mib"
	drop_caches
	timed "threads read" "$mib" eight_read
	rm -f "$tmp/mnt/file"
}
row_threads() { start_store --null; only_us threads_row; stop_store; }

shards_size=$((mib / 4))MiB

# shards DIR PHASE STORAGE [KEY=VALUE...]: a save or load of ckptbench; prints its GB/s
shards() {
	local dir=$1 phase=$2 storage=$3
	shift 3
	"$b/ckptbench" shards size="$shards_size" payload=null phase="$phase" storage="$storage" \
		mount.path="$tmp/mnt" s3.uri=s3://speed/direct gcs.uri=gs://speed/direct s3.endpoint="$url" \
		gcs.endpoint="$url" s3.connections=16 \
		out="$dir" "$@" >"$tmp/shards.txt" 2>&1 || die "shards: $(reason "$tmp/shards.txt")"
	jq -r ".metrics.$phase.gb_per_s" "$dir"/shards/*/*/job_results.json
}

# rates PREFIX DIRECT PEER OPTION...: the mount, and a peer if there is one, over ckptbench's storage DIRECT, at 50 MB/s a
# connection of a store with these options
rates() {
	local run storage dir name prefix=$1 direct=$2 peer=$3
	shift 3
	start_store "$@" --rate 50M --ttfb 20ms
	for ((run = 0; run < runs; run++)); do
		mount_system ckptfs "connections=16"
		for storage in mount "$direct"; do
			dir=$tmp/rate.$run.$storage
			record "${prefix}rate write" "$storage" "$(shards "$dir.save" save "$storage")"
			drop_caches
			record "${prefix}rate read" "$storage" "$(shards "$dir.load" load "$storage" \
				suffix="$(sed -n 's/.*suffix \([^ ;]*\).*/\1/p' "$tmp/shards.txt" | head -n 1)")"
		done
		unmount
		for name in ${peer:+ckptfs "$peer"}; do
			mount_system "$name"
			timed "${prefix}rate file" $((mib / 8)) "$writer" "$tmp/mnt/file" 1M $((mib / 8))
			rm -f "$tmp/mnt/file"
			unmount
		done
	done
	stop_store
	rm -rf "$tmp/data"
}
row_rate() { rates "" s3 "" --null; }

row_rss() {
	start_store --null
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
	all_well "${pids[@]}"
	record "rss 16 files" ckptfs "$(peak_mib)"
	unmount
	stop_store
}

row_tls() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=127.0.0.1 \
		-addext subjectAltName=IP:127.0.0.1 -keyout "$tmp/key.pem" -out "$tmp/cert.pem" 2>/dev/null
	start_store --null --tls-cert "$tmp/cert.pem" --tls-key "$tmp/key.pem"
	us=ca_bundle=$tmp/cert.pem only_us file_row "tls "
	stop_store
}

# Both are measured inside one process, where starting a program does not count.
row_firstbyte() {
	start_store --null --ttfb 20ms
	mount_system ckptfs
	"$b/ckptbench" firstbyte mount.path="$tmp/mnt" s3.uri=s3://speed s3.endpoint="$url" out="$tmp/fb" \
		>"$tmp/fb.txt" 2>&1 || die "$(reason "$tmp/fb.txt")"
	record "first byte over store" ckptfs "$(sed -n 's/^over the store: *\([-0-9.]*\) ms/\1/p' "$tmp/fb.txt")"
	unmount
	stop_store
}

# beside_libstore FIGURE LINE SCENARIO KEY=VALUE...: what a line of the scenario says of the mount over libstore
beside_libstore() {
	local figure=$1 line=$2
	shift 2
	"$b/ckptbench" "$@" mount.path="$tmp/mnt" s3.uri=s3://speed s3.endpoint="$url" out="$tmp/beside" \
		>"$tmp/beside.txt" 2>&1 || die "$(reason "$tmp/beside.txt")"
	record "$figure" ckptfs "$(sed -n "s/^$line over libstore: *\\([0-9.]*\\)/\\1/p" "$tmp/beside.txt")"
}
# many_listed SUFFIX [STORE-OPTION...], many_small SUFFIX [STORE-OPTION...]
many_listed() {
	start_store --null "${@:2}"
	mount_system ckptfs listed_attrs=assume
	beside_libstore "ls over libstore$1" "ls -l" list objects=$((many * 10))
	unmount
	stop_store
}
many_small() {
	start_store --null "${@:2}"
	mount_system ckptfs
	beside_libstore "small over libstore$1" rate small objects=$((many / 5)) epochs="$runs"
	unmount
	stop_store
}
row_list() { many_listed ""; many_listed ", 20 ms" --ttfb 20ms; }
row_small() { many_small ""; many_small ", 20 ms" --ttfb 20ms; }

elapsed() { awk "BEGIN { printf \"%.6f\", $(now) - $1 }"; }
# files DIR N: makes N empty files, many at once
files() { mkdir -p "$1" && seq "$2" | (cd "$1" && xargs -P 64 -n 100 touch); }

# A directory of many objects gets another name. Each request takes the store 20 ms then, but not while the objects are made;
# 16 are under way at once.
rename_row() { # rename_row PREFIX REQUESTS: how many one object needs
	local run t
	echo '[]' >"$tmp/slow.json"
	start_store --null --faults "$tmp/slow.json"
	mount_system ckptfs connections=16
	files "$tmp/mnt/dir0" "$many"
	echo '[{"do": "delay", "stall": "20ms"}]' >"$tmp/slow.json"
	kill -HUP "$sim"
	for ((run = 0; run < runs; run++)); do
		t=$(now)
		mv -T "$tmp/mnt/dir$run" "$tmp/mnt/dir$((run + 1))"
		record "$1rename over round trips" ckptfs \
			"$(awk "BEGIN { printf \"%.3f\", $(elapsed "$t") / ($2 * 0.020 * $many / 16) }")"
	done
	unmount
	stop_store
}
row_rename() { rename_row "" 2; } # a copy and a delete

# What is asked of the store by each append, and how much is sent.
row_append() {
	local appends=$((many / 10)) t
	start_store --data "$tmp/data" --log "$tmp/requests" # of an object that is copied, the bytes count
	mount_system ckptfs
	write_file "$tmp/mnt/log" 1M $((mib / 8))
	: >"$tmp/requests"
	t=$(now)
	perl -MIO::Handle -e 'open my $f, ">>", $ARGV[0] or die "$!\n";
		for (1 .. $ARGV[1]) { syswrite $f, "x" x 1024 or die "$!\n"; $f->sync or die "$!\n" }
		close $f or die "$!\n"' "$tmp/mnt/log" "$appends" 2>"$tmp/err" || die "$(tail -n 1 "$tmp/err")"
	record "append seconds" ckptfs "$(awk "BEGIN { printf \"%.6f\", $(elapsed "$t") / $appends }")"
	record "append requests" ckptfs "$(awk -v n="$appends" 'END { printf "%.2f", NR / n }' "$tmp/requests")"
	record "append KiB" ckptfs "$(awk -v n="$appends" '{ b += $7 } END { printf "%.1f", b / 1024 / n }' "$tmp/requests")"
	unmount
	stop_store
}

row_find() {
	local t n=$((many / 10))
	start_store --null
	mount_system ckptfs
	(cd "$tmp/mnt" && seq "$n" |
		xargs -P 16 -I{} sh -c 'mkdir "$1" && cd "$1" && seq 100 | split -l 1 -d -a 3 - object-' sh {})
	unmount
	mount_system ckptfs
	t=$(now)
	[ "$(find "$tmp/mnt" -type f | wc -l)" -eq $((n * 100)) ] || die "not all files were found"
	record "find seconds" ckptfs "$(elapsed "$t")"
	unmount
	stop_store
}

# perl_write MODE: a file whose size is set first (up), or not (plain), in blocks of 1 MiB
perl_write() {
	perl -e 'open my $f, ">", $ARGV[0] or die "$!\n"; my $b = "\0" x 1048576;
		!$ARGV[2] or truncate $f, $ARGV[1] << 20 or die "$!\n";
		for (1 .. $ARGV[1]) { syswrite $f, $b or die "$!\n" }
		close $f or die "$!\n"' "$tmp/mnt/file" "$mib" "$1"
	rm -f "$tmp/mnt/file"
}
uptrunc_row() {
	timed "plain" "$mib" perl_write 0
	timed "uptrunc" "$mib" perl_write 1
}
row_uptrunc() { start_store --null; only_us uptrunc_row; stop_store; }

# The same on Google Cloud Storage. The pattern of a null store has 252 KiB.
on_gs() {
	scheme=gs
	start_store --null
	mount_system ckptfs
	write_file "$tmp/mnt/pattern" 252K 1
	unmount # who wrote it knows that these are other bytes
	mount_system ckptfs
	cat "$tmp/mnt/pattern" >"$tmp/pattern"
	unmount
	stop_store
	writer=write_pattern
	"$@"
	scheme=s3 writer=write_file
}
gs_file() { start_store --null; only_us file_row "gs "; stop_store; }
gs_four() { start_store --null; only_us four_row "gs "; stop_store; }
row_gs() { on_gs gs_file; }
row_gsfour() { on_gs gs_four; }
# A shard is not the pattern, so the store keeps it.
row_gsrate() { on_gs rates "gs " gcs "$(basename "$(command -v gcsfuse || true)")" --data "$tmp/data"; }
row_gsrename() { on_gs rename_row "gs " 1; } # moveTo

# The ways to upload one file, of a few parts and of many: speed, and requests, which are paid for.
gs_upload() {
	local run way what n
	start_store --data "$tmp/data" --log "$tmp/requests" --rate 50M --ttfb 20ms
	for ((run = 0; run < runs; run++)); do
		for way in multipart compose resumable; do
			mount_system ckptfs "upload=$way"
			system=$way
			for what in few many; do
				n=$((mib / 8))
				[ $what = many ] || n=48
				: >"$tmp/requests"
				timed "gs upload $what" "$n" "$writer" "$tmp/mnt/file" 1M "$n"
				record "gs upload $what requests" "$way" "$(wc -l <"$tmp/requests")"
				rm -f "$tmp/mnt/file"
			done
			unmount
		done
	done
	stop_store
	rm -rf "$tmp/data"
}
row_gsupload() { on_gs gs_upload; }

# two RESULT-DIR SCENARIO [KEY=VALUE...]: a run of two ranks; $job is its result
two() {
	local dir=$1
	shift
	OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_vader_single_copy_mechanism=none \
		mpirun -n 2 --oversubscribe --bind-to none "$b/ckptbench" "$@" out="$dir" >"$tmp/two.txt" 2>&1 ||
		die "$1: $(reason "$tmp/two.txt")"
	job=$(echo "$dir/$1"/*/0/job_results.json)
}

# libstore beside the clients of others: GB/s for every CPU-second of a GB.
row_clients() {
	local run client phase
	start_store --null
	for ((run = 0; run < runs; run++)); do
		for client in s3 awscrt libs3; do
			"$b/ckptbench" help storages >"$tmp/help"
			if grep -q "^  $client .*not in this build" "$tmp/help"; then
				echo "absent: $client"
				continue
			fi
			two "$tmp/clients.$run.$client" shards size="$((mib / 2))MiB" payload=null storage="$client" \
				s3.uri=s3://speed/direct s3.endpoint="$url"
			for phase in save load; do
				record "client $phase" "$client" "$(jq -r ".metrics.$phase.gb_per_s" "$job")"
				record "client $phase.cpu" "$client" \
					"$(jq -r ".metrics.$phase | .gb_per_s / .cpu_ranks_s_per_gb" "$job")"
			done
		done
	done
	stop_store
}

# What four more copies of all bytes take is what a copy takes: over it, what null with one copy takes.
row_overhead() {
	local run n seconds=()
	for ((run = 0; run < runs; run++)); do
		for n in 1 5; do
			two "$tmp/overhead.$run.$n" shards size="$((mib / 2))MiB" phase=save storage=null null.copies="$n"
			seconds[n]=$(jq -r .metrics.save.seconds "$job")
		done
		record "null over memcpy" machine "$(awk "BEGIN { print (${seconds[5]} - ${seconds[1]}) / 4 / ${seconds[1]} }")"
	done
}

row_blocked() {
	local run
	start_store --null
	for ((run = 0; run < runs; run++)); do
		two "$tmp/blocked.$run" async size="$((mib / 8))MiB" storage=s3 s3.uri=s3://speed/async s3.endpoint="$url" \
			steps=6 steps_per_save=3 step_time=2s async.state=pattern async.staging=cached verify=off
		record "blocked over staged" s3 "$(jq -r '.metrics | .blocked_stats.median / .staged_stats.median' "$job")"
	done
	stop_store
}

row_restore() {
	start_store --data "$tmp/data"
	two "$tmp/restore" restore mode=shared size="$((mib / 8))MiB" storage=s3 s3.uri=s3://speed/restore s3.endpoint="$url"
	record "restore over unique" s3 "$(jq -r .restore.fetched_over_unique "$job")"
	stop_store
	rm -rf "$tmp/data"
}

for p in ${CKPTFS_SPEED_PEERS-mount-s3 s3fs geesefs rclone}; do
	if command -v "$p" >/dev/null; then peers+=("$p"); else echo "absent: $p"; fi
done
echo "$(nproc) cores, $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), kernel $(uname -r), $(date -u +%F)"
for row in $all; do
	has_row "$row" || continue
	echo "measuring: $row"
	measure "$row"
done
awk -f "$root/bench/speed.awk" "$tsv" >"$out/speed.txt"
cat "$out/speed.txt"
[ ${#failed[@]} -eq 0 ] || {
	printf 'speed: failed, and so not in the table: %s\n' "${failed[*]}" >&2
	exit 1
}

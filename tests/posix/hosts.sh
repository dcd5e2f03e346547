#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hosts.sh: processes of three hosts (three mounts of one bucket) do random things to the same files.
# Who opens one reads one published version, whole, and no older than the last change that had
# returned before; nothing that was acknowledged is lost but to a later change; O_EXCL has one winner.
# Then, case by case, each request of a call is late or its reply lost while another host changes the
# file.
#
# CKPTFS_HOSTS_TTL and CKPTFS_HOSTS_LOSSY tell the program what the mounts and the store may do.
# CKPTFS_SEEDS="1 2 3" and CKPTFS_ROUNDS=500 choose others, CKPTFS_HOSTS=s3_ttl some of the ways.
. "${srcdir:?}/tests/lib/mount.sh"
need_fuse
ways=${CKPTFS_HOSTS:-s3_ttl s3_strict gs_ttl gs_strict}
seeds=${CKPTFS_SEEDS:-1}
rounds=${CKPTFS_ROUNDS:-8}
each=$(($(echo $seeds | wc -w) * 2 + 4))
plan $(($(echo $ways | wc -w) * each))
limit=${CKPTFS_HOSTS_LIMIT:-300}
mount_limit=$((limit * each)) # a mount stays for all runs of its way

hosts() { timeout -k 5 "$limit" "$builddir/tests/posix/hosts" "$@"; }
# run NAME ARGUMENT...: one check
run() {
	run_name=$1
	shift
	hosts "$@" >"$tmp/said" 2>"$tmp/figures"
	run_rc=$?
	diag "$(cat "$tmp/figures")"
	expect_eq "0 " "$run_rc $(cat "$tmp/said")" "$run_name"
}

# Faults for all that the random processes ask for: some replies are late, and some are lost.
random_faults() {
	cat >"$tmp/rules.json" <<-END
	[{"probability": 0.03, "do": "delay", "stall": "40ms"},
	{"probability": 0.02, "do": "reset_after"}]
	END
	set_faults "$tmp/rules.json"
}

# What is lost to another host is said in the log.
host_ends() {
	use_mount "$1"
	umount "$mnt"
	mount_wait
	expect_eq "0 " "$mount_rc $(grep -E '\] error: |Sanitizer' "$mount_log" |
		grep -vE 'was replaced by another host: the change made on it is kept|lines like the next')" "$2"
}

for way in $ways; do
	scheme=${way%_*}
	case ${way#*_} in
	ttl) options=attr_ttl=60s CKPTFS_HOSTS_TTL=60 ;;
	*) options=consistency=strict CKPTFS_HOSTS_TTL=0 ;;
	esac
	export CKPTFS_HOSTS_TTL CKPTFS_HOSTS_LOSSY
	dirs=''
	for host in one two three; do
		use_mount "${way}_$host"
		CKPTFS_TEST_SCHEME=$scheme
		[ $host != one ] || start_store --ttfb 2ms
		mount_ckptfs $options part_size=5M memory=128M
		dirs="$dirs $mnt"
	done
	use_mount "${way}_one" # which has the store
	for seed in $seeds; do
		set_faults
		CKPTFS_HOSTS_LOSSY=no
		# promise: rename.whole
		run "$way: seed $seed loses and mixes nothing" random "$seed" "$rounds" $dirs
		random_faults
		CKPTFS_HOSTS_LOSSY=yes
		run "$way: seed $seed loses and mixes nothing with replies that are late or lost" random "1$seed" "$rounds" $dirs
	done
	set_faults
	rm -f "$tmp/go" "$tmp/go.made"
	{
		wait_for 100 test -e "$tmp/go.made"
		hosts rules >"$tmp/rules.json"
		set_faults "$tmp/rules.json"
		: >"$tmp/go"
	} &
	run "$way: each request may be late or its reply lost while another host changes the file" \
		cases "$tmp/go" $dirs
	wait $!
	for host in one two three; do
		host_ends "${way}_$host" "$way: the daemon of host $host ends well"
	done
done

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# soak.sh: programs save, load, rotate, rename, append, change, remove and are killed for minutes in a mount that is
# ended, killed and begun anew in the first third of the time. In the rest nothing of the daemon grows, at the end
# every file has its bytes, and the bucket has these files and nothing else. S3 and Google's protocol side by side.
#
# SOAK_SECONDS=7200 (`make soak`), SOAK_SEED and SOAK_IDLE (a process rests so many times as long as a step took)
# choose others; SOAK_KEEP=DIR keeps samples and logs.
. "${srcdir:?}/tests/lib/mount.sh"
need_fuse
seconds=300
! sanitized || seconds=60 # for what LeakSanitizer finds at each end
seconds=${SOAK_SECONDS:-$seconds}
plan 12

# What it means to grow is tried on a mount that loses 20 KiB a second, and on one that does not.
series() {
	echo "second stays heap_kib log_bytes steps"
	awk -v more="$1" 'BEGIN { for (s = 0; s < 300; s += 2) print s, (s > 100), 8000 + s * more + s * 7919 % 900, 500, s }'
}
grows() { [ -s "$1" ] && ! awk -f "$srcdir/tests/soak/flat.awk" "$1"; }
series 20 >"$tmp/leaks"
check "a mount that grows by 20 KiB a second is found within 300 s" grows "$tmp/leaks"
series 0 >"$tmp/stays"
check "a mount that only goes up and down is none that grows" awk -f "$srcdir/tests/soak/flat.awk" "$tmp/stays"

series 0 | awk 'NR > 1 && $1 > 240 { $3 += 1024 } { print }' >"$tmp/steps"
check "a mount whose heap makes one step of 1 MiB is none that grows" awk -f "$srcdir/tests/soak/flat.awk" "$tmp/steps"

# soak_begin SCHEME SEED
soak_begin() {
	use_mount "$1"
	CKPTFS_TEST_SCHEME=$1
	case $1 in
	s3) start_store --identity "$tmp/identity.json" ;;
	*) start_store ;;
	esac
	mkdir "$tmp/spill.$1"
	# A buffer of curl's goes back to the kernel when it is freed: the heap is what is in use, not what malloc keeps.
	set -- "$@" env MALLOC_MMAP_THRESHOLD_=131072
	# Keys that end after 20 s are fetched anew all the time.
	[ "$1" = gs ] || set -- "$@" env -u AWS_ACCESS_KEY_ID -u AWS_SECRET_ACCESS_KEY \
		"AWS_EC2_METADATA_SERVICE_ENDPOINT=$CKPTFS_TEST_ENDPOINT" AWS_METADATA_SERVICE_TIMEOUT=60
	seed=$2
	shift 2
	spawn nice "$@" "$builddir/tests/soak/soak" -s "$seed" -i "${SOAK_IDLE:-9}" "$seconds" "$mnt" "$tmp/samples.$mount_name" \
		"$tmp/keys.$mount_name" "$builddir/ckptfs" -f -o "endpoint=$CKPTFS_TEST_ENDPOINT,spill_dir=$tmp/spill.$mount_name,metrics=127.0.0.1:0" \
		"$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET" >"$tmp/said.$mount_name" 2>&1
	eval "soak_$mount_name=$spawned"
}

# Whoever looks after the mounts asks them things all the time; what runs at that moment may be ending.
admin() {
	while sleep 3; do
		for dir in "$tmp/s3" "$tmp/gs"; do
			for command in list status files credentials "stats --json" reload; do
				# shellcheck disable=SC2086 # a command and its option
				timeout 60 "$builddir/ckptctl" $command "$dir"
			done
			port=$(sed -n 's/.*metrics are served at port //p' "$dir.log" | tail -n 1)
			curl -s --max-time 60 --noproxy 127.0.0.1 "http://127.0.0.1:$port/metrics"
		done
	done >/dev/null 2>&1
}

# What the log has beside what was done to the mount: a killed writer's file is not published.
complaints() {
	grep -E '\] (warning|error): |Sanitizer|WARNING: ' "$mnt.log" |
		grep -vE 'killed[0-9]*: not published, the version before it stands| lines like the next were kept back$'
}

soak_ends() {
	use_mount "$1"
	eval "wait \$soak_$1"
	expect_eq 0 $? "$1: each call succeeds for $seconds s, and each file is read back with its bytes"
	diag "$(tail -n 15 "$tmp/said.$1")"
	if sanitized; then skip "$1: nothing of the daemon grows" "a sanitizer keeps memory"; else
		check "$1: nothing of the daemon grows" awk -f "$srcdir/tests/soak/flat.awk" "$tmp/samples.$1"
		diag "$(cat "$tmp/check.out")"
	fi
	store_ls | LC_ALL=C sort >"$tmp/there"
	LC_ALL=C sort "$tmp/keys.$1" >"$tmp/expected"
	expect_eq "" "$(diff "$tmp/expected" "$tmp/there")$(store_uploads)" \
		"$1: the bucket has what was made and nothing else, and no unfinished upload"
	expect_eq "" "$(complaints | head -n 5)" "$1: the daemons warned of nothing"
	[ -z "${SOAK_KEEP:-}" ] || cp "$tmp/samples.$1" "$tmp/said.$1" "$mnt.log" "$SOAK_KEEP"
}

echo '{"issue": {"only": true, "expires_in": 20}}' >"$tmp/identity.json"
at_exit 'for dir in s3 gs; do while umount -l "$tmp/$dir"; do :; done; done 2>/dev/null'
soak_begin s3 "${SOAK_SEED:-1}"
soak_begin gs "$((${SOAK_SEED:-1} + 1000))"
spawn admin
soak_ends s3
soak_ends gs
expect_eq "" "$(ls -A "$tmp/spill.s3" "$tmp/spill.gs" | grep -v ':$' | grep .)" "nothing stays of spilled data"

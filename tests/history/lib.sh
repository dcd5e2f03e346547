# SPDX-License-Identifier: Apache-2.0
# lib.sh: one history on a bucket of its own; source it instead of tap.sh.
#
#   history_store SCHEME [option...]      storesim
#   history_faults                        it loses replies, is late, stalls, resets and refuses
#   history_record WAY SEED CALLS [option of drive...]     WAY is s3_ttl, s3_strict, gs_ttl or gs_strict, with attributes
#                                         that change s3_ttl_attr and so on; leaves $history, and returns 0 when all
#                                         processes and daemons ended well
#   history_one NAME WAY SEED CALLS ...   one check: records, and judges
. "${srcdir:?}/tests/lib/mount.sh"
history_program=$builddir/tests/history/history
: "${history_mount:=$builddir/ckptfs}"
history_restarts=${CKPTFS_RESTARTS:-2}

history_store() {
	CKPTFS_TEST_SCHEME=$1
	shift
	start_store "$@"
}

history_faults() {
	cat >"$tmp/rules.json" <<-END
	[{"probability": 0.02, "do": "delay", "stall": "40ms"},
	{"probability": 0.02, "do": "reset_after"},
	{"probability": 0.01, "do": "reset"},
	{"probability": 0.01, "do": "status", "status": 503},
	{"probability": 0.003, "do": "stall", "stall": "400ms"}]
	END
	set_faults "$tmp/rules.json"
}

history_record() {
	history_way=$1 history_seed=$2 history_calls=$3
	shift 3
	history_turn=$((${history_turn:-0} + 1))
	history_dir=$tmp/hosts$history_turn history=$tmp/history.$history_way.$history_seed
	mkdir "$history_dir"
	at_exit "for host in 0 1 2; do while umount -l $history_dir/\$host; do :; done; done 2>/dev/null"
	case $history_way in
	*_ttl*)
		# Some are older than all that a history does meanwhile, some are gone before the next call.
		set -- $(echo 300 50 1000 4000 | cut -d ' ' -f $((history_seed % 4 + 1))) "$@"
		history_options=attr_ttl=$1ms
		set -- -t "$@"
		;;
	*) history_options=consistency=strict ;;
	esac
	! on_gs || set -- -m "$@"
	case $history_way in *_attr) set -- -a "$@" ;; esac
	timeout -k 5 "${CKPTFS_HISTORY_LIMIT:-600}" "$history_program" drive -s "$history_seed" -n "$history_calls" \
		-r "$history_restarts" "$@" "$history" "$history_dir" "$history_mount" -f \
		-o "endpoint=$CKPTFS_TEST_ENDPOINT,part_size=5M,memory=128M,$history_options" \
		"$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET/h$history_turn" >"$tmp/drive.out" 2>&1
	history_rc=$?
	for host in 0 1 2; do umount -l "$history_dir/$host" 2>/dev/null; done
	return $history_rc
}

history_keep() {
	[ -n "${CKPTFS_KEEP:-}" ] || return
	mkdir -p "$CKPTFS_KEEP/$history_way.$history_seed"
	cp "$history" "$requests" "$history_dir"/*.log "$CKPTFS_KEEP/$history_way.$history_seed"
}

# A history that has too many orders proves nothing: another is recorded in its place, of another seed.
history_one() {
	history_name=$1
	shift
	history_tries=0
	while history_try "$@"; do
		history_tries=$((history_tries + 1))
		[ $history_tries -lt 4 ] || { not_ok "$history_name"; return; }
		diag "$history_name: too many orders: another history"
		history_way=$1 history_seed=$(($2 + 1000))
		shift 2
		set -- "$history_way" "$history_seed" "$@"
	done
}

# One history, with its check, unless there are too many orders: then 0.
history_try() {
	if ! history_record "$@"; then
		not_ok "$history_name"
		diag "$(tail -n 40 "$tmp/drive.out")"
		history_keep
	elif ! "$history_program" check "$history" >"$tmp/verdict" && grep -q 'TOO LARGE$' "$tmp/verdict"; then
		rm -rf --one-file-system "$history_dir" "$history"
		return 0
	elif ! grep -q 'kept$' "$tmp/verdict"; then
		not_ok "$history_name"
		diag "$(cat "$tmp/verdict")"
		history_keep
	elif grep -h 'Sanitizer' "$history_dir"/*.log; then
		not_ok "$history_name"
	else
		ok "$history_name"
	fi
	rm -rf --one-file-system "$history_dir" "$history"
	return 1
}

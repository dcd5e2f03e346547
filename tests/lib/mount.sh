# SPDX-License-Identifier: Apache-2.0
# mount.sh: a mounted bucket in a test; source it instead of tap.sh and store.sh.
#
#   need_fuse                    skips the whole test without /dev/fuse or without root
#   start_store [option...]      storesim, each request in $requests
#   mount_ckptfs [option...]     each is an option of -o; $mnt is the mount, $mount_pid the daemon
#   umount_ckptfs                one check: the daemon ends with 0 and warned of nothing
#   use_mount NAME               what follows is about another store and its mount at $tmp/NAME; the
#                                first time there is neither, but the store of before can be mounted
#   expect_log PATTERN           this warning or error (ERE) must come, and is none for umount_ckptfs
#   store_cat KEY, store_ls [PREFIX], store_put KEY <FILE, store_uploads, objects ...
#                                past the mount (objects.c)
#   requests_mark; expect_requests NAME Op=N...     so many requests since the mark, one check; with
#                                S3's names, on gs too (op_names); SetMeta is a change of metadata alone, MoveObject
#                                what gives an object another name
#   on_gs                        whether the store speaks Google Cloud Storage (CKPTFS_TEST_SCHEME)
#   need_mapped_bypass           skips the rest where the kernel maps no files that are read past its page cache
#   fdo ...                      system calls, one after the other (fdo.c)
#   fdo_begin ...; fdo_next; fdo_ends WORDS NAME     the same in the background until `pause`; on to
#                                the next one; to the end, one check of what it said. $fdo_pid
#   fdo_call                     on to the next call, which waits in the mount, or to a `pause` just behind it
#   set_faults [FILE]            the store goes wrong as tests/faults/FILE.json says, or /FILE, or no more;
#                                a test whose faults meet no request fails
#   set_rules RULE...            the same with rules as they are
#   held_once OP KEY [SKIP [HOW]]   a rule: after SKIP (0) the next such request is held up until the rules change; HOW is
#                                delay for its reply, or hold where it takes effect later, too, or stall
#   still_held OP KEY [HOW]      a rule: what is held up already stays so, and nothing else is
#   wait_held OP [N]             N requests (1) are held up by rules that say "until": "reload", since the last set_faults
#   wait_in_call PID             the process, of which all that waits is calls on the mount, sleeps, and not just for a moment
#   wait_begun PID               it does so, or is over
#   learn_copies                 the mount tries out what the store honors in a copy, which its first copies else do
#   let_users_mount              in a mount namespace of the test's own ($CKPTFS_IN_NAMESPACE): every user may open
#                                /dev/fuse, whatever its mode on this machine
#   forget_pages FILE...         the kernel's pages of these files go, and of no other test's
#   undisturbed FUNCTION         its checks count on the page cache: a few times more where the kernel has dropped pages
#                                meanwhile, which anybody on this machine can tell it to, or $asked_again for some
#   same NAME FILE KEY           the object has the bytes of the file, one check
#   words                        how often each word of fdo comes, such as "3 ok"
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/store.sh"

# What stands beside the mount may be that of a build without sanitizers.
tools=${CKPTFS_TOOLS:-$builddir}
mnt=$tmp/mnt mount_log=$tmp/mount.log requests=$tmp/requests mount_pid='' allowed=''
: >"$mount_log"

# What belongs to one store and its mount.
mount_parts='CKPTFS_TEST_SCHEME CKPTFS_TEST_ENDPOINT store_pid store_data store_log store_cleans
	requests mnt mount_log mount_pid mount_cleans allowed'
mount_name=first

use_mount() {
	for part in $mount_parts; do eval "${mount_name}_$part=\${$part-}"; done
	if eval "[ -z \"\${${1}_mnt-}\" ]"; then
		for part in CKPTFS_TEST_SCHEME CKPTFS_TEST_ENDPOINT; do eval "${1}_$part=\${$part-}"; done
		eval "${1}_mnt=\$tmp/$1 ${1}_mount_log=\$tmp/$1.log ${1}_requests=\$tmp/$1.requests"
		eval "${1}_store_data=\$tmp/$1.store ${1}_store_log=\$tmp/$1.store.log"
	fi
	mount_name=$1
	for part in $mount_parts; do eval "$part=\${${1}_$part-}"; done
}

need_fuse() {
	[ "$(id -u)" = 0 ] || skip_all "mounting needs root here"
	[ -c /dev/fuse ] && (: <>/dev/fuse) 2>/dev/null || skip_all "/dev/fuse cannot be opened"
}

let_users_mount() {
	[ -n "${CKPTFS_IN_NAMESPACE-}" ] && mknod -m 666 "$tmp/fuse" c 10 229 && mount --bind "$tmp/fuse" /dev/fuse
}

forget_pages() {
	for page_file; do dd if="$page_file" iflag=nocache count=0 status=none; done
}

pages_dropped() { awk '/^(drop_pagecache|pgsteal_file) / { n += $2 } END { print n + 0 }' /proc/vmstat; }
undisturbed() {
	tap_before="$tap_n $tap_failed"
	for turn in 1 2 3 4 5; do
		tap_n=${tap_before% *} tap_failed=${tap_before#* }
		dropped_before=$(pages_dropped)
		asked_again=0
		"$1" >"$tmp/undisturbed"
		[ "$tap_failed" -gt "${tap_before#* }" ] || break
		[ "$(pages_dropped)" -gt "$dropped_before" ] || [ "$asked_again" -gt 0 ] || break
	done
	cat "$tmp/undisturbed"
}

start_store() {
	[ -n "${fault_cleans:-}" ] || at_exit faults_end
	fault_cleans=yes
	faults_end
	: >"$requests"
	set_fault_rules
	# shellcheck disable=SC2086 # $store_more: options of a variant of the test
	store_start storesim --log "$requests" --faults "$tmp/faults.json" ${store_more:-} "$@"
}

# The names that operations of S3 have where the store speaks something else.
op_names() {
	case $CKPTFS_TEST_SCHEME${CKPTFS_TEST_KEYS:+-keys} in
	gs) sed 's/\<PutObject\>/objects.insert/; s/\<HeadObject\>/objects.get/
		s/\<GetObject\>/objects.media/; s/\<CopyObject\>/objects.rewrite/
		s/\<DeleteObject\>/objects.delete/; s/\<DeleteObjects\>/batch/
		s/\<ListObjectsV2\>/objects.list/; s/\<SetMeta\>/objects.patch/
		s/\<MoveObject\>/objects.move/' ;;
	*) sed 's/\<SetMeta\>/CopyObject/; s/\<MoveObject\>/CopyObject/' ;;
	esac
}
on_gs() { [ "$CKPTFS_TEST_SCHEME" = gs ]; }

# The rules, and one more by which the test sees that they are in force.
set_fault_rules() {
	fault_turn=$((${fault_turn:-0} + 1))
	case ${1-} in /*) fault_file=$1 ;; *) fault_file=$srcdir/tests/faults/${1-}.json ;; esac
	{
		echo '['
		[ $# -eq 0 ] || sed '1s/^\[//; $s/\]$/,/' "$fault_file" | op_names
		echo '{"op": "HeadObject", "key": "turn'$fault_turn'", "do": "status", "status": 507}]' |
			op_names
	} >"$tmp/faults.json"
}
# What is said of faults that nothing met is about nothing. What is asked behind a call may come a moment after it.
fault_met() { tail -n "+$fault_from" "$fault_log" | awk '$NF != "-" && $4 !~ /turn[0-9]+$/ { n++ } END { exit !n }'; }
# A test that is about what is held up is about nothing once that went on by itself.
faults_end() {
	[ -z "$fault_name" ] || [ "$tap_failed" -gt 0 ] || wait_for 10 fault_met "$fault_name"
	! grep ' expired:' "$requests" >"$tmp/expired" 2>/dev/null || in_vain "held up for too long: $(cat "$tmp/expired")"
	fault_name=''
}
fault_name=''

faults_are_set() { objects size turn$fault_turn 2>&1 | grep -q 'No space left'; }
set_faults() {
	faults_end
	fault_name=${1-} fault_log=$requests fault_from=$(($(wc -l <"$requests") + 1))
	set_fault_rules "$@"
	# A stall has its line when it is over: that of a long one is not waited for.
	[ $# -eq 0 ] || ! grep -qE '"stall": "[0-9]{2,}s"' "$fault_file" || fault_name=''
	kill -HUP "$store_pid"
	wait_for 10 faults_are_set || { echo "Bail out! the store does not take $1.json"; exit 1; }
}

set_rules() {
	printf ', %s\n' "$@" | sed '1s/,/[/; $s/$/]/' >"$tmp/rules.json"
	set_faults "$tmp/rules.json"
}
held_rule() { printf '{"op": "%s", "key": "%s", "skip": %s, "times": %s, "do": "%s", "until": "reload"}' "$@"; }
held_once() { held_rule "$1" "$2" "${3:-0}" 1 "${4:-delay}"; }
still_held() { held_rule "$1" "$2" 0 0 "${3:-delay}"; }

is_held() {
	[ "$(tail -n "+$fault_from" "$requests" | awk -v op="held:$(echo "$1" | op_names)" '$2 == op' | wc -l)" -ge "${2:-1}" ]
}
wait_held() { wait_for 20 is_held "$@"; }

in_call() {
	case $(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f1) in S | D) ;; *) return 1 ;; esac
}
# In the daemon's hands, or the kernel's, where another call holds the directory.
is_in_call() { in_call "$1" && sleep 0.2 && in_call "$1"; }
wait_in_call() { wait_for 20 is_in_call "$1"; }
is_over_or_waits() { grep -q '^State:.*zombie' "/proc/$1/status" || [ ! -e "/proc/$1" ] || is_in_call "$1"; }
wait_begun() { wait_for 20 is_over_or_waits "$1"; }

learn_copies() {
	: >"$mnt/learn"
	fdo rename2 n "$mnt/learn" "$mnt/learned" >"$tmp/learned" && rm "$mnt/learned"
}

# Sanitizers change how much memory is used, and how fast.
sanitized() { [ "${SANITIZERS:-no}" != no ]; }

mounted() { grep -q " $mnt fuse.ckptfs " /proc/self/mounts; }
mounted_or_dead() { mounted || ! kill -0 "$mount_pid" 2>/dev/null; }

mount_atexit() {
	[ -z "$mount_pid" ] || { kill -KILL "$mount_pid" && wait "$mount_pid"; } 2>/dev/null
	while mounted; do umount -l "$mnt"; done
	if [ "$tap_failed" -gt 0 ] || [ "$tap_n" -ne "$tap_planned" ]; then
		cat "$mount_log.old" "$mount_log" 2>/dev/null | tail -n 200 | sed 's/^/# ckptfs: /'
		[ ! -f "$requests" ] || tail -n 15 "$requests" | sed 's/^/# request: /'
	fi
}

# A daemon that hangs is ended, so that what waits for it fails; its log says where its threads were.
mount_watch() {
	timeout "${mount_limit:-900}" tail -f --pid="$1" /dev/null
	[ $? -eq 124 ] || return 0
	{
		command -v gdb && timeout -k 5 60 gdb -p "$1" -batch -ex 'thread apply all backtrace 20'
		for task in /proc/"$1"/task/*; do
			echo "it hangs: $(cat "$task/comm" "$task/wchan" "$task/syscall" 2>&1 | xargs)"
		done
		# A mount namespace that was made meanwhile has a copy of the mount, whose umount leaves that.
		grep -lF " $mnt " /proc/[0-9]*/mountinfo | while read -r holder; do
			holder=${holder%/mountinfo}
			echo "it is mounted in $(readlink "$holder/ns/mnt") of $(tr '\0' ' ' <"$holder/cmdline")"
		done | sort -u -k 5,5
	} >>"$mount_log" 2>/dev/null
	kill -KILL "$1"
}

mount_ckptfs() {
	mount_options=endpoint=$CKPTFS_TEST_ENDPOINT${CKPTFS_TEST_OPTIONS:+,$CKPTFS_TEST_OPTIONS}
	for option in "$@"; do mount_options=$mount_options,$option; done
	[ -n "${mount_cleans:-}" ] || at_exit "use_mount $mount_name; mount_atexit"
	mount_cleans=yes
	mkdir -p "$mnt"
	"$builddir/ckptfs" -f -o "$mount_options" "$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET" "$mnt" \
		2>>"$mount_log" &
	mount_pid=$!
	mount_watch "$mount_pid" </dev/null >/dev/null 2>&1 &
	wait_for 60 mounted_or_dead
	mounted || { echo "Bail out! the bucket cannot be mounted"; exit 1; }
}

need_mapped_bypass() {
	grep -q 'no shared mappings of files that bypass it' "$mount_log" || return 0
	umount_ckptfs
	skip_rest "what is read past the page cache" "this kernel does not map it"
}

expect_log() { allowed="$allowed$1
"; }

# The warnings and errors that no pattern allows.
unexpected_lines() {
	grep -E '\] (warning|error): |Sanitizer|WARNING: ' "$mount_log" >"$tmp/lines"
	printf '%s' "$allowed" >"$tmp/patterns"
	[ ! -s "$tmp/patterns" ] || {
		echo ' [0-9]* lines like the next were kept back$' >>"$tmp/patterns"
		grep -vE -f "$tmp/patterns" "$tmp/lines" >"$tmp/lines2"
		mv "$tmp/lines2" "$tmp/lines"
	}
	cat "$tmp/lines"
}

# Ends a daemon that was told to end; its exit status.
mount_wait() {
	wait "$mount_pid"
	mount_rc=$?
	mount_pid=''
	return $mount_rc
}

# One check about the end of the daemon, however it was brought about. When it fails, its name alone says in which test,
# and the first reason.
mount_ended() {
	mount_wait
	unexpected_lines >"$tmp/reasons"
	printf '%s' "$allowed" | while read -r pattern; do
		grep -qE -- "$pattern" "$mount_log" || echo "the log lacks: $pattern"
	done >>"$tmp/reasons"
	[ "$mount_rc" -eq 0 ] || echo "exit status $mount_rc" >>"$tmp/reasons"
	allowed=''
	cat "$mount_log" >>"$mount_log.old"
	: >"$mount_log"
	end_name=${1:-the daemon ends well and warned of nothing else}
	if [ -s "$tmp/reasons" ]; then
		not_ok "$end_name: ${0#"$srcdir/"}: $(head -n 1 "$tmp/reasons" | tr '#' ' ')"
		diag "$(cat "$tmp/reasons")"
	else
		ok "$end_name"
	fi
}

umount_ckptfs() {
	umount "$mnt" || diag "umount failed"
	mount_ended "$@"
}

# --- past the mount

objects() { "$tools/tests/lib/objects" "$@"; }
store_cat() { objects cat "$1"; }
store_ls() { objects ls "${1:-}"; }
# figure NAME: one of the mount's metrics
figure() { getfattr --absolute-names --only-values -n user.ckptfs.stats "$mnt" | tr ' ' '\n' | sed -n "s/^$1=//p"; }
store_put() { objects put "$1"; }
store_uploads() { objects uploads; }
fdo() { "$tools/tests/lib/fdo" "$@"; }

fdo_begin() {
	mkdir -p "$tmp/fdo"
	rm -f "$tmp/fdo/paused" "$tmp/fdo/go"
	FDO_DIR=$tmp/fdo "$tools/tests/lib/fdo" "$@" >"$tmp/fdo/out" &
	fdo_pid=$!
	at_exit "kill $fdo_pid 2>/dev/null"
	wait_for 30 fdo_rests
}
fdo_rests() { [ -e "$tmp/fdo/paused" ] || ! kill -0 "$fdo_pid" 2>/dev/null; }
fdo_next() {
	: >"$tmp/fdo/go"
	wait_for 30 test ! -e "$tmp/fdo/go" && wait_for 30 fdo_rests
}
fdo_call() {
	: >"$tmp/fdo/go"
	wait_for 30 test ! -e "$tmp/fdo/go" && wait_begun "$fdo_pid"
}
fdo_ends() {
	[ ! -e "$tmp/fdo/paused" ] || : >"$tmp/fdo/go"
	wait "$fdo_pid"
	expect_eq "$1" "$(cat "$tmp/fdo/out")" "$2"
}

words() { tr -s ' ' '\n' | grep . | sort | uniq -c | xargs; }

same() {
	store_cat "$3" | cmp - "$2" >"$tmp/same.out" 2>&1
	expect_eq "0 " "$? $(cat "$tmp/same.out")" "$1"
}

# What was asked behind a call may come a moment after it: a request of ours is the last one before.
requests_mark() {
	mark_turn=$((${mark_turn:-0} + 1))
	timeout 20 "$tools/tests/lib/objects" size "mark$mark_turn" >"$tmp/mark.out" 2>&1
	wait_for 20 grep -q "[ /]mark$mark_turn " "$requests"
	wc -l <"$requests" >"$requests.mark"
}

requests_of() {
	tail -n "+$(($(cat "$requests.mark") + 1))" "$requests" | awk -v op="$(echo "$1" | op_names)" '$2 == op' |
		wc -l
}

requests_are() {
	for want in "$@"; do
		[ "$(requests_of "${want%=*}")" -eq "${want#*=}" ] || return 1
	done
}

# What is asked behind a call may come a moment after it.
expect_requests() {
	name=$1; shift
	if wait_for 10 requests_are "$@"; then ok "$name"; else
		not_ok "$name"
		for want in "$@"; do diag "want $want, got $(requests_of "${want%=*}")"; done
	fi
}

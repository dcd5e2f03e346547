#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# interrupt.sh: a process that waits for a store which does not answer can be killed in any call; a
# signal that it catches changes nothing. What it leaves behind is nothing, or whole.
. "$srcdir/tests/lib/mount.sh"
need_fuse

# kind: what it does while the store answers | the call in which it waits | what that says
# @ is a directory of its own. What is prepared lets the kernel know the names.
calls() {
	tr -d '\t' <<-END
		lookup: | size @/f | 5
		open: size @/f | open r @/f | ok
		make: | open wct @/new | ok
		read: open r @/large | pread 100 15000000 | 100
		direct: open rd @/large | pread 4096 4096 | 4096
		fault: open r @/large | mmapr 15000000 | ok
		write: open wct @/new | write 150000000 | ok
		close: open wct @/new write 1000 | close | ok
		fsync: open wct @/new write 1000 | fsync | ok
		msync: open +ct @/new ftruncate 100000 | mapwrite 100000 0 | ok
		parts: open wct @/new write 12000000 | fsync | ok
		beside: open r @/f slot 1 open + @/f write 3 slot 0 | fsync | ok
		rename: size @/f size @/g | rename @/f @/g | ok
		link: size @/f size @/l | link @/f @/l | ok
		unlink: size @/f | unlink @/f | ok
		mkdir: size @/d | mkdir @/d | ok
		rmdir: mkdir @/d | rmdir @/d | ok
		symlink: size @/l | symlink f @/l | ok
		readlink: symlink f @/l | readlink @/l | 1
		mkfifo: size @/p | mkfifo @/p | ok
		readdir: | list @/many | 22
		getxattr: list @/many | getxattr user.ckptfs.checksum @/many/3 | 15
		setxattr: size @/f | setxattr user.a @/f | ok
		chmod: size @/f | chmod 0600 @/f | ok
		truncate: size @/f | truncate 3 @/f | ok
		copy: open r @/large slot 1 open wct @/new | copyrange 0 100 0 1000 | 1000
	END
}
kinds=$(calls | cut -d: -f1)
plan $((4 * $(calls | wc -l) + 34))
head -c 20000000 /dev/urandom >"$tmp/data"

start_store
for kind in $kinds; do
	for round in kill alarm; do
		printf first | store_put $round/$kind/f
		case $kind in
		read | direct | fault | copy) store_put $round/$kind/large <"$tmp/data" ;;
		readdir | getxattr) for i in $(seq 20); do printf x | store_put $round/$kind/many/$i; done ;;
		esac
	done
done

field() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f1; }
gone() { case $(field "$1") in Z | '') ;; *) return 1 ;; esac; }

# The process is in its call: it has taken the leave to go on, and sleeps.
waits() {
	case $(cat "/proc/$1/wchan" 2>/dev/null) in
	*request_wait_answer* | *folio*) return 0 ;;
	0 | '') ;; # this kernel does not tell
	*) return 1 ;;
	esac
	case $(field "$1") in S | D) return 0 ;; esac
	return 1
}
rests() { [ -e "$tmp/calls/$1/paused" ] || ! kill -0 "$(cat "$tmp/calls/$1/pid")" 2>/dev/null; }

# begin_calls ROUND [WORD]: each is prepared, the store stops, and all of them wait
begin_calls() {
	calls >"$tmp/list"
	rm -rf "$tmp/calls"
	while IFS='|' read -r first call _; do
		kind=${first%%:*}
		mkdir -p "$tmp/calls/$kind"
		# shellcheck disable=SC2046 # words
		FDO_DIR=$tmp/calls/$kind "$tools/tests/lib/fdo" \
			$(echo "size @ ${first#*:} pause ${2-} $call" | sed "s|@|$mnt/$1/$kind|g") \
			>"$tmp/calls/$kind/out" 2>&1 </dev/null &
		echo $! >"$tmp/calls/$kind/pid"
		at_exit "kill -KILL $! 2>/dev/null"
	done <"$tmp/list"
	for kind in $kinds; do wait_for 60 rests $kind; done
	freeze "$store_pid"
	for kind in $kinds; do : >"$tmp/calls/$kind/go"; done
	for kind in $kinds; do
		check "$kind waits for the store" wait_for 20 waits "$(cat "$tmp/calls/$kind/pid")"
	done
}

# --- a kill
mount_ckptfs memory=64M part_size=5M attr_ttl=600s listed_attrs=assume deadline=600 stall_timeout=600 hard_links=copy
begin_calls kill
for kind in $kinds; do kill -KILL "$(cat "$tmp/calls/$kind/pid")"; done
for kind in $kinds; do
	# promise: signal.fatal
	check "a kill ends $kind" wait_for 5 gone "$(cat "$tmp/calls/$kind/pid")"
	wait "$(cat "$tmp/calls/$kind/pid")" 2>/dev/null
done
kill -CONT "$store_pid"
settled() { [ "$(figure handles)" = 0 ]; }
check "no file stays open" wait_for 60 settled
no_upload() { [ -z "$(store_uploads)" ]; }
check "no upload is left" wait_for 60 no_upload
whole() {
	for kind in close fsync msync parts; do
		case $kind in parts) want=12000000 ;; msync) want=100000 ;; *) want=1000 ;; esac
		case $(objects size kill/$kind/new 2>/dev/null) in '' | $want) ;; *) return 1 ;; esac
	done
}
# promise: signal.whole
check "what was being published is there whole or not at all" wait_for 20 whole
check "the file of the close is there" wait_for 20 objects size kill/close/new
# promise: signal.fsync
expect_eq "" "$(store_ls kill/write/new)$(store_ls kill/make/new)$(store_ls kill/copy/new)" "what was being written is not published"
# promise: signal.whole
expect_eq first "$(cat "$mnt/kill/rename/f" "$mnt/kill/rename/g" 2>/dev/null)" "a file has one of its two names"
expect_log 'not published, the version before it stands'

# --- what waits for a commit and has not begun when its process is killed never does
printf standing | store_put late
fdo_begin open + "$mnt/late" write 6 pause close
freeze "$store_pid"
: >"$tmp/fdo/go"
check "a close waits for the store" wait_for 20 waits "$fdo_pid"
for late in "open + @ pwrite 4 2" "open + @ pwrite 1000000 0" "open w @ pwrite 5 3" "truncate 3 @" "open +t @"; do
	# shellcheck disable=SC2046 # words
	"$tools/tests/lib/fdo" $(echo "$late" | sed "s|@|$mnt/late|") >"$tmp/late.out" 2>&1 </dev/null &
	check "$late waits for the close" wait_for 20 waits $!
	kill -KILL $!
	# promise: signal.fatal
	check "a kill ends $late that waits for a close" wait_for 5 gone $!
	wait $! 2>/dev/null
done
kill -CONT "$store_pid"
fdo_ends "ok ok ok ok" "the close succeeds"
check "no file is open then" wait_for 20 settled
expect_eq xxxxxxng "$(store_cat late)" "nothing of killed writers is published"

# Who may not keep the set-user-ID bit changes mode and size at once: the store hears of the mode first.
printf standing | store_put setuid
fdo chmod 04755 "$mnt/setuid" >"$tmp/setuid.out"
rm -f "$tmp/fdo/paused" "$tmp/fdo/go"
FDO_DIR=$tmp/fdo setpriv --bounding-set=-fsetid "$tools/tests/lib/fdo" open w "$mnt/setuid" pause ftruncate 3 \
	>"$tmp/setuid.out" 2>&1 &
fdo_pid=$!
wait_for 30 fdo_rests
freeze "$store_pid"
: >"$tmp/fdo/go"
check "a cut that takes the set-user-ID bit waits for the store" wait_for 20 waits "$fdo_pid"
kill -KILL "$fdo_pid"
check "a kill ends a cut that takes the set-user-ID bit" wait_for 5 gone "$fdo_pid"
wait "$fdo_pid" 2>/dev/null
kill -CONT "$store_pid"
check "a killed cut leaves no file open" wait_for 20 settled
# promise: signal.whole
expect_eq standing "$(store_cat setuid)" "a killed cut is not made when the mode is changed"

# --- of a thousand processes nothing is left
for i in $(seq 250); do printf x | store_put "crowd/$i"; done
fdo size "$mnt/crowd" size "$mnt/late" >"$tmp/crowd.out"
base=$(figure nodes)
for turn in 1 2; do
	freeze "$store_pid"
	crowd=''
	for i in $(seq 250); do
		"$tools/tests/lib/fdo" size "$mnt/crowd/$i" >"$tmp/crowd.out" 2>&1 &
		crowd="$crowd $!"
		"$tools/tests/lib/fdo" open + "$mnt/late" >"$tmp/crowd.out" 2>&1 &
		crowd="$crowd $!"
	done
	bad=0
	for pid in $crowd; do
		[ $bad -gt 0 ] || wait_for 20 waits "$pid" || bad=$((bad + 1))
	done
	# shellcheck disable=SC2086 # pids
	kill -KILL $crowd
	for pid in $crowd; do
		[ $bad -gt 0 ] || wait_for 20 gone "$pid" || bad=$((bad + 1))
		wait "$pid" 2>/dev/null
	done
	expect_eq 0 $bad "500 processes wait, and a kill ends each ($turn)"
	kill -CONT "$store_pid"
	check "no file stays open" wait_for 60 settled
done
forgotten() { [ "$(figure nodes)" -le "$base" ]; }
check "the daemon forgets the nodes of killed processes" wait_for 60 forgotten
umount_ckptfs

# --- the same is left to a killed process that waits for its last close, when kills publish
mount_ckptfs on_kill=publish attr_ttl=600s deadline=600 stall_timeout=600
fdo_begin open wct "$mnt/late" write 1000 pause
freeze "$store_pid"
kill -KILL "$fdo_pid"
# promise: signal.fsync
check "a kill that publishes does not wait for the store" wait_for 10 gone "$fdo_pid"
wait "$fdo_pid" 2>/dev/null
kill -CONT "$store_pid"
# promise: kill.on-kill
check "a file is published when the store answers its killed writer" wait_for 20 objects size late
umount_ckptfs

# --- a signal that is caught
mount_ckptfs memory=64M part_size=5M attr_ttl=600s listed_attrs=assume deadline=600 stall_timeout=600 hard_links=copy
begin_calls alarm alarms
sleep 1
kill -CONT "$store_pid"
for kind in $kinds; do
	wait "$(cat "$tmp/calls/$kind/pid")" 2>/dev/null
	# promise: signal.other
	expect_eq "$(sed -n "s/^$kind:.*| //p" "$tmp/list")" "$(sed 's/.* //' "$tmp/calls/$kind/out")" \
		"$kind goes on after a signal"
done
umount_ckptfs

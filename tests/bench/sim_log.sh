#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The log of the simulator has the line of a request before its reply is whole, so that whoever has that can count
# requests. Where the log takes nothing, no reply ends.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/sim.sh"
plan 10
head -c 300000 /dev/urandom >"$tmp/big"
printf small >"$tmp/small"

# withheld NAME PATH [curl option...]
withheld() {
	what=$1 path=$2; shift 2
	rm -rf "$tmp/log" "$tmp/data"
	mkfifo "$tmp/log"
	exec 5<>"$tmp/log"
	sim_start --data "$tmp/data" --log "$tmp/log"
	for key in big small; do curl -s -T "$tmp/$key" "$url/bkt/$key"; done
	dd if=/dev/zero bs=4096 oflag=nonblock >&5 2>"$tmp/dd" # all that the pipe takes
	check_fails "$what waits for its line in the log" curl -s -o "$tmp/got" --max-time 3 "$@" "$url$path"
	cat "$tmp/log" >"$tmp/lines" &
	reads=$!
	check "$what comes when the log takes lines again" curl -s -o "$tmp/got" --max-time 60 "$@" "$url$path"
	kill "$reads"
	wait "$reads" 2>/dev/null
	sim_stop
}
withheld "a reply without a body" /bkt/none -I
withheld "a text" '/bkt?list-type=2'
withheld "a small object" /bkt/small
check "a small object is whole" cmp "$tmp/small" "$tmp/got"
withheld "a large object" /bkt/big
check "a large object is whole" cmp "$tmp/big" "$tmp/got"

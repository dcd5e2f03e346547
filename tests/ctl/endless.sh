#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# endless.sh: listings that never end, of a store that is broken or means no good, end in ckptctl all the same.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/store.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
plan 4
python3 "$srcdir/tests/ctl/endless.py" "$tmp/address" 2>"$tmp/server" &
at_exit "kill $! 2>/dev/null && wait $! 2>/dev/null"
wait_for 30 test -s "$tmp/address" || { echo "Bail out! the server does not start"; exit 1; }
# ctl PREFIX COMMAND...: the status and what was said
ctl() {
	prefix=$1
	shift
	timeout 200 "$builddir/ckptctl" "$@" -o "endpoint=$(cat "$tmp/address")" "s3://bucket/$prefix" >"$tmp/out" 2>"$tmp/err"
	echo "$? $(cat "$tmp/err")"
}
said() { [ "${1%%:*}" = "$2" ] && case $1 in *"$3"*) ;; *) false ;; esac || { diag "$1"; false; }; }

check "recover ends where pages come again" said "$(ctl round recover)" "1 ckptctl" 'a listing whose pages go round'
check "uploads ends where pages come again" said "$(ctl round uploads list)" "1 ckptctl" 'a listing whose pages go round'
check "uploads ends where there is always another record" \
	said "$(ctl new uploads list)" "1 ckptctl" 'kept/ has more records than'
check "recover takes so many records as it can keep in memory" \
	said "$(ctl new recover)" "2 ckptctl" 'kept/ has more than'

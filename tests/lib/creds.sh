# SPDX-License-Identifier: Apache-2.0
# creds.sh: credentials in a test; source it instead of tap.sh, or after mount.sh. Nothing of the caller's environment is
# left: each test has an empty home, and storesim plays the identity servers.
#
#   identity JSON               what the servers demand and how they answer; ends the server that
#                               runs and starts another ($url, $host)
#   opens NAME VAR=VALUE... [option]        ckptctl reaches the bucket with these variables
#   refused NAME PATTERN VAR=VALUE... [option]   it fails, in one line that matches (ERE)
#   served NAME                 how many requests of that name the server had
#   no_secrets                  one check, the last: no message or log of debug level has a secret
#
# With $as_who, a command that runs another, it is run by that. $cannot_read is one for which permissions of
# files count, also for root; empty where there is none.
#
# An argument that begins with -o is an option of ckptctl. Services of the machine have a minute for a reply, which is a
# second by default: AWS_METADATA_SERVICE_TIMEOUT= is for what hangs.
[ -n "${tap_n:-}" ] || . "$srcdir/tests/lib/tap.sh"

: "${scheme:=s3}"
home=$tmp/home said=$tmp/said log=$tmp/debug.log requests=$tmp/requests
mkdir -p "$home/.aws/sso/cache" "$home/.config/gcloud"
: >"$said"
: >"$log"

cannot_read='setpriv --bounding-set=-dac_override,-dac_read_search'
: >"$tmp/locked"
chmod 000 "$tmp/locked"
{ $cannot_read true && ! $cannot_read cat "$tmp/locked"; } 2>/dev/null || cannot_read=''

creds_stop() {
	[ -n "${sim_pid:-}" ] || return 0
	kill "$sim_pid" 2>/dev/null && wait "$sim_pid" 2>/dev/null
	sim_pid=
}
creds_atexit() {
	[ "$tap_failed" -eq 0 ] || tail -n 20 "$requests" "$tmp/sim.err" | sed 's/^/# sim: /'
	creds_stop
}

# sim_bucket, sim_options and, for a store that keeps its data, sim_store="--data DIR" may be set
# before.
identity() {
	creds_stop
	[ -n "${creds_clean:-}" ] || at_exit creds_atexit
	creds_clean=yes
	printf '%s\n' "$1" >"$tmp/identity.json"
	: >"$tmp/sim.out"
	: >"$requests"
	STORESIM_SECRET_KEY=unused "$builddir/storesim" ${sim_store:---null} --bucket "${sim_bucket:-bkt}" \
		--access-key unused --protocol "$scheme" --log "$requests" \
		--identity "$tmp/identity.json" ${sim_options:-} >"$tmp/sim.out" 2>>"$tmp/sim.err" &
	sim_pid=$!
	wait_for 30 grep -q '^listening on ' "$tmp/sim.out" || {
		echo "Bail out! storesim does not start"
		sed 's/^/# /' "$tmp/sim.err"
		exit 1
	}
	url=$(sed -n 's/^listening on //p;q' "$tmp/sim.out")
	host=${url#*://}
}

# try VAR=VALUE... [-o option...]: its status; the message is in $tmp/err.
try() {
	variables=AWS_METADATA_SERVICE_TIMEOUT=60 options="log=$log,log_level=debug,deadline=60s"
	for word; do
		case $word in
		-o*) options="$options,${word#-o}" ;;
		*) variables="$variables '$word'" ;;
		esac
	done
	case $options in
	*endpoint=*) ;;
	*) options="$options,endpoint=$url" ;;
	esac
	eval "timeout 600 ${as_who:-} env -i PATH='$PATH' HOME='$home' ASAN_OPTIONS='${ASAN_OPTIONS-}' \
		TSAN_OPTIONS='${TSAN_OPTIONS-}' LLVM_PROFILE_FILE='${LLVM_PROFILE_FILE-}' $variables '$builddir/ckptctl' uploads list \
		-o '$options' '${bucket_url:-$scheme://${sim_bucket:-bkt}}'" >"$tmp/out" 2>"$tmp/err"
	rc=$?
	cat "$tmp/out" "$tmp/err" >>"$said"
	return $rc
}

opens() {
	name=$1; shift
	if try "$@"; then ok "$name"; else not_ok "$name"; diag "exit status $rc: $(cat "$tmp/err")"; fi
}

refused() {
	name=$1 pattern=$2; shift 2
	try "$@"
	if [ "$rc" -gt 0 ] && [ "$rc" -lt 124 ] && [ "$(cat "$tmp/out" "$tmp/err" | wc -l)" -eq 1 ] &&
		grep -qE -- "$pattern" "$tmp/err"; then
		ok "$name"
	else
		not_ok "$name"; diag "exit status $rc, want $pattern: $(cat "$tmp/out" "$tmp/err")"
	fi
}

served() { awk -v op="$1" '$2 == op' "$requests" | wc -l; }

# What storesim issues, and what the tests call secret, all bear one of these words.
no_secrets() {
	check "neither message nor log has a secret" sh -c '
		[ -s "$1" ] && [ -s "$2" ] || exit 2
		! grep -nE "Secret[0-9]|SimSession|ya29\.sim|topsecret|dG9wc2VjcmV0|PRIVATE KEY" "$1" "$2"' sh "$said" "$log"
}

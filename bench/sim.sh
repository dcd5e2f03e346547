# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# sim.sh: storesim for the scripts of this folder, which read it in. They set $b, the folder of the build, and $tmp, and
# have die(), which says why the script cannot go on.
export AWS_ACCESS_KEY_ID=speed AWS_SECRET_ACCESS_KEY=speed-secret AWS_REGION=us-east-1
export AWS_CONFIG_FILE=/dev/null AWS_SHARED_CREDENTIALS_FILE=/dev/null
unset AWS_PROFILE AWS_SESSION_TOKEN AWS_CA_BUNDLE
sim='' url=''

us() { echo "${EPOCHREALTIME/./}"; }

# until_true SECONDS COMMAND...: tries it until it succeeds, so long at most
until_true() {
	local n=$(($1 * 20))
	shift
	until "$@" 2>/dev/null; do
		n=$((n - 1))
		[ "$n" -gt 0 ] || return 1
		sleep 0.05
	done
}

# start_sim [OPTION...]: a store with the bucket "speed" at $url
start_sim() {
	: >"$tmp/sim.out" # what the one before said is no answer
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

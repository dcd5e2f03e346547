# SPDX-License-Identifier: Apache-2.0
# sim.sh: the simulator by itself, spoken to with curl; source it after tap.sh.
#
#   sim_start [option...]       $url and $sim_pid; its bucket is bkt, its log $tmp/requests
#   sim_stop                    ends it with SIGTERM; returns its exit status
#   req METHOD PATH [curl option...]   prints the status; body and head are in $tmp/body and $tmp/head
#   field NAME                  a header of the last reply
#   element NAME                the first such element of the last body
#   digest_of FILE              the header that a delete of many needs
#   served OP                   how many requests of that name the log has
#   multipart KEY FILE...       uploads the files as the parts of an object; prints the last status and
#                               leaves the upload's id in $tmp/upload, its list of parts in $tmp/list

command -v curl >/dev/null || skip_all "curl is not installed"

sim_start() {
	: >"$tmp/sim.out"
	"$builddir/storesim" --bucket bkt --log "$tmp/requests" "$@" >"$tmp/sim.out" 2>>"$tmp/sim.err" &
	sim_pid=$!
	[ -n "${sim_cleans:-}" ] || at_exit 'sim_stop'
	sim_cleans=yes
	if ! wait_for 30 grep -q '^listening on ' "$tmp/sim.out"; then
		echo "Bail out! storesim does not start"
		sed 's/^/# /' "$tmp/sim.err"
		exit 1
	fi
	url=$(sed -n 's/^listening on //p;q' "$tmp/sim.out")
}

sim_stop() {
	[ -n "${sim_pid:-}" ] || return 0
	stopping=$sim_pid
	sim_pid=
	kill "$stopping" 2>/dev/null
	wait "$stopping"
}

req() {
	method=$1 path=$2
	shift 2
	: >"$tmp/body"
	: >"$tmp/head"
	case $method in
	HEAD) set -- -I "$@" ;;
	*) set -- -X "$method" "$@" ;;
	esac
	curl -s --max-time 30 -o "$tmp/body" -D "$tmp/head" -w '%{http_code}\n' "$@" "$url$path" || :
}

field() { sed -n "s/^$1: *//Ip" "$tmp/head" | tr -d '\r' | tail -n 1; }
element() { tr -d '\n' <"$tmp/body" | sed -n "s/.*<$1>\([^<]*\)<\/$1>.*/\1/p" | sed 's/&quot;/"/g'; }
digest_of() { echo "Content-MD5: $(openssl md5 -binary "$1" | openssl base64)"; }
served() { grep -c "^[^ ]* $1 " "$tmp/requests"; }

# The parts' list for CompleteMultipartUpload from "NUMBER ETAG" lines.
part_list() {
	echo '<CompleteMultipartUpload>'
	while read -r number etag; do
		echo "<Part><PartNumber>$number</PartNumber><ETag>$etag</ETag></Part>"
	done
	echo '</CompleteMultipartUpload>'
}

multipart() {
	key=$1
	shift
	req POST "/bkt/$key?uploads" >/dev/null
	upload=$(element UploadId) number=0
	echo "$upload" >"$tmp/upload"
	: >"$tmp/parts"
	for file; do
		number=$((number + 1))
		req PUT "/bkt/$key?partNumber=$number&uploadId=$upload" -T "$file" >"$tmp/status"
		echo "$number $(field etag)" >>"$tmp/parts"
	done
	part_list <"$tmp/parts" >"$tmp/list"
	req POST "/bkt/$key?uploadId=$upload" --data-binary "@$tmp/list"
}

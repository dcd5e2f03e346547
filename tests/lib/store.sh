# SPDX-License-Identifier: Apache-2.0
# store.sh: an object store for a test; source it after tap.sh.
#
#   need_store versitygw               skips the whole test (or fails it, see below) without the program
#   store_start storesim|versitygw|minio|localstack-s3|radosgw|fake-gcs-server [option...]
#                                       more options go to the server as they are
#   store_tls_twin                      a second server like the first, with TLS and a folder of its own:
#                                       exports CKPTFS_TEST_TLS_ENDPOINT and CKPTFS_TEST_CA
#   store_stop                          ends it before the test does
#   store_rules FILE RULES              storesim that was started with --faults FILE: this JSON list is in force
#
# After store_start there are $store_pid, $store_log, $store_data (the server's folder) and, exported,
# CKPTFS_TEST_ENDPOINT, CKPTFS_TEST_BUCKET, CKPTFS_TEST_KIND, AWS_ACCESS_KEY_ID and
# AWS_SECRET_ACCESS_KEY. CKPTFS_TEST_SCHEME is s3 or gs: what the server speaks; set to gs before, it
# makes storesim speak that; with CKPTFS_TEST_KEYS=yes, too, it takes HMAC keys and nothing else. The bucket exists and the server answers. Its log is printed when the test
# failed. Set store_port before to start it on a port of your choice (a restart), and store_address
# for storesim at another address of this machine.
#
# CKPTFS_REQUIRE=interop turns the skip of a missing server into a failure.

: "${CKPTFS_PEERS:=${HOME:-/root}/.cache/ckptfs/peers}"

# What Python compiles is kept, and not beside the sources. A second thread of OpenMP would mostly spin.
export OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE='' PYTHONPYCACHEPREFIX="$CKPTFS_PEERS/pycache"

# The configuration of who runs the tests must not leak in.
unset AWS_PROFILE AWS_SESSION_TOKEN AWS_ENDPOINT_URL AWS_ENDPOINT_URL_S3 AWS_CA_BUNDLE \
	AWS_DEFAULT_REGION CKPTFS_TEST_CA 2>/dev/null || :
export AWS_ACCESS_KEY_ID=ckptfs-test-key AWS_SECRET_ACCESS_KEY=ckptfs-test-secret
export AWS_REGION=us-east-1 CKPTFS_TEST_BUCKET=test-bucket
: "${CKPTFS_TEST_SCHEME:=s3}"
unset STORAGE_EMULATOR_HOST GOOGLE_APPLICATION_CREDENTIALS GCE_METADATA_HOST CLOUDSDK_CONFIG \
	CLOUDSDK_STORAGE_GS_XML_ACCESS_KEY_ID CLOUDSDK_STORAGE_GS_XML_SECRET_ACCESS_KEY 2>/dev/null || :
[ -z "${CKPTFS_TEST_KEYS:-}" ] || export CLOUDSDK_STORAGE_GS_XML_ACCESS_KEY_ID=$AWS_ACCESS_KEY_ID \
	CLOUDSDK_STORAGE_GS_XML_SECRET_ACCESS_KEY=$AWS_SECRET_ACCESS_KEY
export CKPTFS_TEST_SCHEME
export AWS_CONFIG_FILE=/dev/null AWS_SHARED_CREDENTIALS_FILE=/dev/null

# Prints where the program of a server is.
store_program() {
	case $1 in
	storesim) echo "${tools:-$builddir}/storesim" ;;
	radosgw)
		for ceph in radosgw radosgw-admin ceph ceph-mon ceph-osd monmaptool; do
			command -v "$ceph" >/dev/null 2>&1 || return 0
		done
		echo "$srcdir/tests/interop/radosgw_cluster.sh"
		;;
	*) command -v "$1" 2>/dev/null || {
		[ -x "$CKPTFS_PEERS/bin/$1" ] && echo "$CKPTFS_PEERS/bin/$1"
	} ;;
	esac
}

need_store() {
	[ "$1" != radosgw ] || [ -n "$(store_program radosgw)" ] ||
		lacks interop "radosgw, ceph-mon, ceph-osd or ceph-common is not installed"
	[ -x "$(store_program "$1")" ] || lacks interop "$1 is neither on PATH nor in $CKPTFS_PEERS/bin"
}

# A port that was free a moment ago, for servers that cannot pick one.
free_port() {
	while :; do
		port=$(awk 'BEGIN { srand(); print 20000 + int(rand() * 12000) }' </dev/null)
		port=$((port + $$ % 977))
		hex=$(printf ':%04X ' "$port")
		grep -q "$hex" /proc/net/tcp /proc/net/tcp6 2>/dev/null || break
		sleep 1
	done
	echo "$port"
}

# MinIO answers 503 until it has set itself up.
store_answers() {
	code=$(curl -s -o /dev/null --max-time 5 -w '%{http_code}' ${CKPTFS_TEST_CA:+--cacert "$CKPTFS_TEST_CA"} \
		"$CKPTFS_TEST_ENDPOINT/") && [ "$code" != 503 ]
}

# Prints the log of a test that failed, and ends the server.
store_atexit() {
	if [ "$tap_failed" -gt 0 ] || { [ "$tap_planned" -gt 0 ] && [ "$tap_n" -ne "$tap_planned" ]; }; then
		[ -f "${store_log:-}" ] && tail -n 40 "$store_log" | sed 's/^/# store: /'
	fi
	store_stop
}

store_stop() {
	[ -n "${store_pid:-}" ] || return 0
	store_signal=TERM
	[ "$CKPTFS_TEST_KIND" != localstack-s3 ] || store_signal=KILL # by the other it may not end
	# Not the other way round: what goes on by SIGCONT loses the stop that LeakSanitizer waits for at its end.
	thaw "$store_pid" 2>/dev/null && kill -s "$store_signal" "$store_pid" 2>/dev/null
	wait "$store_pid" 2>/dev/null
	store_pid=
}

# The signal returns before the server has read the file: one more rule tells that it has.
store_rules() {
	rules_turn=$((${rules_turn:-0} + 1))
	printf '%s\n' "$2" | sed '1s/^\[/[{"op": "*", "key": "turn'$rules_turn'", "do": "status", "status": 507},/; $s/,\]$/]/' >"$1"
	kill -HUP "$store_pid"
	wait_for 60 rules_hold || { echo "Bail out! the store does not take $2"; exit 1; }
}
rules_hold() {
	[ "$(curl -s -I -o /dev/null --max-time 5 -w '%{http_code}' -H 'x-amz-content-sha256: UNSIGNED-PAYLOAD' \
		--aws-sigv4 aws:amz:us-east-1:s3 --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" \
		"$CKPTFS_TEST_ENDPOINT/$CKPTFS_TEST_BUCKET/turn$rules_turn")" = 507 ]
}

store_start() {
	CKPTFS_TEST_KIND=$1; shift
	store_prog=$(store_program "$CKPTFS_TEST_KIND")
	: "${store_data:=$tmp/store}" "${store_log:=$tmp/store.log}"
	[ -n "${store_cleans:-}" ] || at_exit "${mount_name:+use_mount $mount_name; }store_atexit"
	store_cleans=yes
	mkdir -p "$store_data"
	# versitygw and MinIO take a folder for a bucket; storesim makes its own
	case $CKPTFS_TEST_KIND in versitygw | minio) mkdir -p "$store_data/$CKPTFS_TEST_BUCKET" ;; esac
	case $CKPTFS_TEST_KIND in
	storesim) store_start_storesim "$@" ;;
	versitygw)
		store_port=${store_port:-$(free_port)}
		ROOT_ACCESS_KEY_ID=$AWS_ACCESS_KEY_ID ROOT_SECRET_ACCESS_KEY=$AWS_SECRET_ACCESS_KEY \
			"$store_prog" --port "127.0.0.1:$store_port" "$@" posix "$store_data" \
			>>"$store_log" 2>&1 &
		store_pid=$!
		CKPTFS_TEST_ENDPOINT=http://127.0.0.1:$store_port
		;;
	minio)
		store_port=${store_port:-$(free_port)}
		MINIO_ROOT_USER=$AWS_ACCESS_KEY_ID MINIO_ROOT_PASSWORD=$AWS_SECRET_ACCESS_KEY \
			MINIO_BROWSER=off MINIO_UPDATE=off "$store_prog" server "$store_data" \
			--address "127.0.0.1:$store_port" "$@" >>"$store_log" 2>&1 &
		store_pid=$!
		CKPTFS_TEST_ENDPOINT=http://127.0.0.1:$store_port
		;;
	localstack-s3)
		store_port=${store_port:-$(free_port)}
		PORT=$store_port FOLDER=$store_data "$store_prog" >>"$store_log" 2>&1 &
		store_pid=$!
		CKPTFS_TEST_ENDPOINT=http://127.0.0.1:$store_port
		;;
	radosgw)
		store_port=${store_port:-$(free_port)}
		monitor_port=$store_port # of one second all are the same
		while [ "$monitor_port" = "$store_port" ]; do monitor_port=$(free_port); done
		sh "$store_prog" "$store_port" "$monitor_port" "$store_data" >>"$store_log" 2>&1 &
		store_pid=$!
		CKPTFS_TEST_ENDPOINT=http://127.0.0.1:$store_port
		;;
	fake-gcs-server)
		CKPTFS_TEST_SCHEME=gs
		store_port=${store_port:-$(free_port)}
		"$store_prog" -scheme http -host 127.0.0.1 -port "$store_port" -backend memory \
			-public-host "127.0.0.1:$store_port" \
			-external-url "http://127.0.0.1:$store_port" "$@" >>"$store_log" 2>&1 &
		store_pid=$!
		CKPTFS_TEST_ENDPOINT=http://127.0.0.1:$store_port
		;;
	esac
	export CKPTFS_TEST_KIND CKPTFS_TEST_ENDPOINT
	if ! wait_for 120 store_answers; then # LocalStack builds an index first
		echo "Bail out! $CKPTFS_TEST_KIND does not answer at $CKPTFS_TEST_ENDPOINT"
		tail -n 40 "$store_log" | sed 's/^/# store: /'
		exit 1
	fi
	case $CKPTFS_TEST_KIND in
	localstack-s3) curl -s -o /dev/null -X PUT "$CKPTFS_TEST_ENDPOINT/$CKPTFS_TEST_BUCKET" ;;
	radosgw) # curl does not sign for a body by itself
		curl -s -o /dev/null --aws-sigv4 aws:amz:us-east-1:s3 --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" \
			-H "x-amz-content-sha256: $(printf '' | sha256sum | cut -d ' ' -f 1)" \
			-X PUT "$CKPTFS_TEST_ENDPOINT/$CKPTFS_TEST_BUCKET"
		;;
	fake-gcs-server)
		curl -s -o /dev/null -H 'Content-Type: application/json' \
			-d "{\"name\": \"$CKPTFS_TEST_BUCKET\"}" "$CKPTFS_TEST_ENDPOINT/storage/v1/b?project=p"
		;;
	esac
}

# storesim picks its port and says so in its first line.
store_start_storesim() {
	case " $* " in
	*' --null '*) ;; # keeps no data
	*) set -- --data "$store_data" "$@" ;;
	esac
	case $CKPTFS_TEST_SCHEME${CKPTFS_TEST_KEYS:+-keys} in
	gs) ;;
	*) set -- --access-key "$AWS_ACCESS_KEY_ID" --secret-key "$AWS_SECRET_ACCESS_KEY" "$@" ;;
	esac
	[ "$CKPTFS_TEST_SCHEME" = s3 ] || set -- --protocol gs "$@"
	: >"$tmp/storesim.out" # what the one before said is no answer
	"$store_prog" --listen "${store_address:-127.0.0.1}:${store_port:-0}" --bucket "$CKPTFS_TEST_BUCKET" "$@" \
		>"$tmp/storesim.out" 2>>"$store_log" &
	store_pid=$!
	wait_for 30 grep -q '^listening on ' "$tmp/storesim.out" || :
	CKPTFS_TEST_ENDPOINT=$(sed -n 's/^listening on //p;q' "$tmp/storesim.out")
	# A directory bucket is in the host's name, and a name below localhost is this machine (RFC 6761).
	case $CKPTFS_TEST_BUCKET in *--x-s3 | *--xa-s3) CKPTFS_TEST_ENDPOINT=http://localhost:${CKPTFS_TEST_ENDPOINT##*:} ;; esac
}

# A certificate for 127.0.0.1 that signs itself: $tmp/tls.pem and $tmp/tls.key.
make_certificate() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
		-subj /CN=ckptfs-test -addext subjectAltName=IP:127.0.0.1 \
		-keyout "$tmp/tls.key" -out "$tmp/tls.pem" 2>/dev/null
}

# The twin ends with the test.
store_tls_twin() {
	make_certificate || { diag "no openssl: TLS is not tested"; return 0; }
	mkdir -p "$tmp/twin"
	case $CKPTFS_TEST_KIND in
	storesim)
		"$store_prog" --listen 127.0.0.1:0 --data "$tmp/twin" --bucket "$CKPTFS_TEST_BUCKET" \
			--access-key "$AWS_ACCESS_KEY_ID" --secret-key "$AWS_SECRET_ACCESS_KEY" \
			--tls-cert "$tmp/tls.pem" --tls-key "$tmp/tls.key" \
			>"$tmp/twin.out" 2>>"$store_log" &
		at_exit "kill $! 2>/dev/null && wait $! 2>/dev/null"
		wait_for 30 grep -q '^listening on ' "$tmp/twin.out" || :
		CKPTFS_TEST_TLS_ENDPOINT=$(sed -n 's/^listening on //p;q' "$tmp/twin.out")
		;;
	versitygw)
		mkdir -p "$tmp/twin/$CKPTFS_TEST_BUCKET"
		twin_port=$(free_port)
		ROOT_ACCESS_KEY_ID=$AWS_ACCESS_KEY_ID ROOT_SECRET_ACCESS_KEY=$AWS_SECRET_ACCESS_KEY \
			"$store_prog" --port "127.0.0.1:$twin_port" --cert "$tmp/tls.pem" \
			--key "$tmp/tls.key" posix "$tmp/twin" >>"$store_log" 2>&1 &
		at_exit "kill $! 2>/dev/null && wait $! 2>/dev/null"
		CKPTFS_TEST_TLS_ENDPOINT=https://127.0.0.1:$twin_port
		;;
	esac
	CKPTFS_TEST_CA=$tmp/tls.pem
	wait_for 30 curl -s -o /dev/null --cacert "$CKPTFS_TEST_CA" "$CKPTFS_TEST_TLS_ENDPOINT/" ||
		diag "the server with TLS does not answer"
	export CKPTFS_TEST_TLS_ENDPOINT CKPTFS_TEST_CA
}

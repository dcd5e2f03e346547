#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# reload.sh: ckptctl reload changes what a mount that runs can change, and names what it cannot.
. "${srcdir:?}/tests/lib/mount.sh"
need_fuse
plan 27
start_store
dir=$tmp/control
cd "$tmp" || exit 1
mkdir "$mnt"
ctl() { timeout 60 "$builddir/ckptctl" -o "control_dir=$dir" "$@"; }
figure() { ctl stats | awk -F '\t' -v name="$1" '$1 == name { print $2 }'; }
memory() { ctl status | sed -n 's/^memory.* of \([^,]*\),.*/\1/p'; }

# Credentials of a program, which notes that it is asked.
cat >"$tmp/give" <<END
#!/bin/sh
echo asked >>"$tmp/asked"
echo '{"Version": 1, "AccessKeyId": "$AWS_ACCESS_KEY_ID", "SecretAccessKey": "$AWS_SECRET_ACCESS_KEY"}'
END
chmod +x "$tmp/give"
printf '[default]\ncredential_process = %s\n' "$tmp/give" >"$tmp/config"
given() {
	env -u AWS_ACCESS_KEY_ID -u AWS_SECRET_ACCESS_KEY AWS_CONFIG_FILE="$tmp/config" "$@"
}
printf 'connections: 8\nmemory: 512M\nattr_ttl: 1h\n' >options.yaml
given "$builddir/ckptfs" -c options.yaml -o "endpoint=$CKPTFS_TEST_ENDPOINT,control_dir=$dir,log=file:$tmp/log" \
	"$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET" "$mnt"
pid=$(ctl list | grep -F "$mnt" | cut -f 4)
at_exit "kill $pid 2>/dev/null"
at_exit "umount -l $mnt 2>/dev/null"

expect_eq "reloaded" "$(ctl reload | sed 's/^the log is opened anew.*/reloaded/')" "nothing is said to change where nothing did"
is_asked_again() { [ "$(wc -l <"$tmp/asked")" -ge 2 ]; }
check "the source of the credentials is asked anew" wait_for 30 is_asked_again

printf 'connections: 4\nmemory: 1G\nattr_ttl: 0\nlog_level: debug\n' >options.yaml
expect_eq "changed memory=, connections=, attr_ttl=, log_level=" "$(ctl reload | sed 's/;.*//')" "what changed is named"
echo bytes >"$mnt/f"
connections_are() { [ "$(figure transfers_most)" = "$1" ]; }
check "fewer connections are used" wait_for 30 connections_are 4
expect_eq "1.0 GiB" "$(memory)" "more memory is used"
cat "$mnt/f" >/dev/null
printf other | store_put f
expect_eq other "$(cat "$mnt/f")" "attributes are believed for the new time"
check "the log has the change" grep -q 'ckptctl reload: changed memory=, connections=, attr_ttl=, log_level=' "$tmp/log"
sed -i 's/memory: 1G/memory: 1T/' options.yaml
ctl reload >/dev/null
check "the log says that memory= is more than there is, also when that is changed" \
	grep -q 'warning: memory= is 1048576 MiB' "$tmp/log"
sed -i 's/connections: 4/connections: auto/; s/memory: 1T/memory: 1G/' options.yaml
ctl reload >/dev/null
head -c 8000000 /dev/urandom >"$tmp/large"
cp "$tmp/large" "$mnt/large"
check "connections=auto begins to look for the best number" connections_are 16
same "files are published across reloads" "$tmp/large" large

# Metrics.
sock=$tmp/metrics
echo "metrics: unix:$sock" >>options.yaml
if ctl reload >"$tmp/out" 2>&1; then
	check "metrics begin to be served" curl -s --max-time 10 --unix-socket "$sock" http://localhost/metrics -o "$tmp/text"
	echo 'metrics_label: cluster=a' >>options.yaml
	ctl reload >/dev/null
	curl -s --max-time 10 --unix-socket "$sock" http://localhost/metrics -o "$tmp/text"
	check "metrics get another label" grep -q 'cluster="a"' "$tmp/text"
	sed -i 's/^metrics_label.*/metrics_label: 1=2/' options.yaml
	ctl reload >"$tmp/out" 2>&1
	curl -s --max-time 10 --unix-socket "$sock" http://localhost/metrics -o "$tmp/text"
	expect_eq "1 1" "$(grep -c 'nothing is changed: metrics_label' "$tmp/out") $(grep -c 'cluster="a"' "$tmp/text" | sed 's/^[1-9].*/1/')" \
		"a label that cannot be leaves metrics as they were"
	served=$(stat -c %z "$sock")
	sed -i 's/^metrics_label.*/metrics_label: cluster=b/' options.yaml
	mv log log.kept
	mkfifo log
	ctl reload >"$tmp/out" 2>&1
	rm log
	mv log.kept log
	expect_eq "1 $served" "$(grep -c 'nothing is changed: log=' "$tmp/out") $(stat -c %z "$sock")" \
		"a log that cannot be leaves whoever serves metrics alone"
	sed -i '/^metrics/d' options.yaml
	ctl reload >/dev/null
	check_fails "metrics are served no more" test -e "$sock"
else
	for name in 'metrics begin to be served' 'metrics get another label' 'a label that cannot be leaves metrics as they were' \
		'a log that cannot be leaves whoever serves metrics alone' \
		'metrics are served no more'; do skip "$name" "built without libmicrohttpd"; done
	sed -i '/^metrics/d' options.yaml
fi

# What needs another mount, and what is broken.
printf 'log_level: error\npart_size: 8M\nthreads: 4\nmemory: 1G\n' >options.yaml
ctl reload >"$tmp/out" 2>"$tmp/err"
expect_eq "1 1" "$? $(grep -c 'nothing is changed, since part_size=, threads= needs another mount' "$tmp/err")" \
	"options that need another mount are named and refused"
expect_eq debug "$(ctl status | sed -n 's/^daemon.*log_level=//p')" "nothing changes when one option cannot be changed"
echo 'memory: 256M' >options.yaml
ctl reload >"$tmp/out" 2>"$tmp/err"
expect_eq "1 1 1.0 GiB" "$? $(grep -c 'less memory= than at the beginning' "$tmp/err") $(memory)" \
	"less memory than parts were planned for is refused"
echo 'log_level: [' >options.yaml
ctl reload >"$tmp/out" 2>"$tmp/err"
expect_eq "1 1" "$? $(grep -c 'nothing is changed: .*options.yaml' "$tmp/err")" "a file that is broken is said to be"
expect_eq "debug 1.0 GiB" "$(ctl status | sed -n 's/^daemon.*log_level=//p') $(memory)" "a file that is broken changes nothing"

# Options that are set one by one do not look at the file.
ctl set log_level=info >"$tmp/out" 2>"$tmp/err"
expect_eq "0 info" "$? $(ctl status | sed -n 's/^daemon.*log_level=//p')" "an option is set although the file is broken"
ctl set part_size=1 >"$tmp/out" 2>&1
expect_eq "1 1" "$? $(ctl status | grep -c 'ckptctl set: nothing is changed: part_size=1 .*: correct it, and set it again$')" \
	"an option that is set wrong is not to be reloaded"
printf 'log_level: error\nmemory: 3G\n' >options.yaml
ctl set log_level=debug >"$tmp/out" 2>"$tmp/err"
set_is=$(memory)
printf 'log_level: error\nmemory: 2G\n' >options.yaml
ctl reload >"$tmp/out" 2>"$tmp/err"
expect_eq "1.0 GiB, then 2.0 GiB debug" "$set_is, then $(memory) $(ctl status | sed -n 's/^daemon.*log_level=//p')" \
	"setting one option changes no other one, and holds over a reload alone"

# What would wait for somebody.
rm options.yaml
mkfifo options.yaml
ctl reload >"$tmp/out" 2>"$tmp/err"
expect_eq "1 1" "$? $(grep -c 'nothing is changed: .*options.yaml: this is not a regular file' "$tmp/err")" \
	"a FIFO in place of the file is refused, and not waited for"
rm options.yaml
echo 'memory: 1G' >options.yaml
mv log log.kept
mkfifo log
ctl reload >"$tmp/out" 2>"$tmp/err"
expect_eq "1 1" "$? $(grep -c 'nothing is changed: log=file:' "$tmp/err")" "a log that is a FIFO without a reader is refused"
mv log.kept log

# Reloads from two sides while files are written.
printf 'connections: 8\nmemory: 1G\n' >options.yaml
(for i in 1 2 3 4 5 6 7 8; do cp "$tmp/large" "$mnt/large$i" || exit 1; done) &
writer=$!
for i in 1 2 3 4 5 6 7 8; do
	kill -HUP "$pid"
	echo "connections: $((i * 3))" >options.yaml.new
	echo 'memory: 1G' >>options.yaml.new
	mv options.yaml.new options.yaml
	ctl reload >/dev/null || break
done
wait "$writer"
expect_eq "0 8" "$? $i" "files are written while the options are read again and again"
same "what was written meanwhile is published" "$tmp/large" large8
umount "$mnt"
wait_for 60 test ! -d "/proc/$pid"

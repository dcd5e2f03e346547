#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# log.sh: where the log goes, what its lines are, and what SIGHUP changes in a mount that runs.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 24
start_store
cd "$tmp" || exit 1
mkdir "$mnt"
url=$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET
ctl() { timeout 60 "$builddir/ckptctl" -o "control_dir=$tmp/control" "$@"; }
at_exit 'while mounted; do umount -l "$mnt"; done'

# In the background, with a file of options that is named relative to where the command is given.
begin() {
	timeout 60 "$builddir/ckptfs" -c options.yaml -o "endpoint=$CKPTFS_TEST_ENDPOINT,control_dir=control,$1" "$url" "$mnt"
	pid=$(ctl list | grep -F "$mnt" | cut -f 4)
	at_exit "kill $pid 2>/dev/null"
}
ends() { umount "$mnt"; wait_for 60 test ! -d "/proc/$pid"; }
# told N PATTERN FILE: the log has so many such lines
told() { [ "$(grep -c "$2" "$3" 2>/dev/null)" = "$1" ]; }
level() { ctl status | sed -n 's/^daemon.*log_level=//p'; }
hup() { kill -HUP "$pid"; }

echo 'log_level: info' >options.yaml
begin log=file:one.log
check "log=file:PATH is a file, relative to where the command was given" told 1 'is mounted on' one.log
mv one.log old.log
hup
check "SIGHUP opens the file anew" wait_for 30 told 1 'SIGHUP: the log is opened anew' one.log
expect_eq 0 "$(grep -c SIGHUP old.log)" "the file that was moved away gets no more lines"
check "the mount goes on" sh -c 'echo right >"$1/f" && grep -q right "$1/f"' sh "$mnt"

# The sample signals every ckptfs of the machine, here this one.
sed "s|^/var/log/ckptfs/.*{|$tmp/one.log {|; s/pkill -HUP -x ckptfs/kill -HUP $pid/" "$srcdir/conf/ckptfs.logrotate" >rotate.conf
expect_eq "ckptfs 1" "$(cat "/proc/$pid/comm") $(grep -c "kill -HUP $pid" rotate.conf)" "the sample for logrotate signals the daemon by its name"
if command -v logrotate >/dev/null; then
	logrotate -s rotated -f rotate.conf
	check "logrotate moves the log away, and the mount writes another" \
		wait_for 30 sh -c 'grep -q "is opened anew" one.log && grep -q "is opened anew" one.log.1'
else
	skip "logrotate moves the log away, and the mount writes another" "logrotate is not installed"
fi

echo 'log_level: debug' >options.yaml
hup
check "SIGHUP reads the file of options" wait_for 30 told 1 'SIGHUP: changed log_level=' one.log
expect_eq debug "$(level)" "the log level is changed"
printf 'log_level: error\npart_size: 8M\nthreads: 4\n' >options.yaml
hup
check "options that need another mount are named" wait_for 30 told 1 'nothing is changed, since part_size=, threads= needs' one.log
expect_eq debug "$(level)" "nothing changes when one option cannot be changed"
echo 'log_level: [' >options.yaml
hup
check "a file that is broken is said to be" wait_for 30 told 1 'SIGHUP: nothing is changed: .*options.yaml' one.log
expect_eq debug "$(level)" "a file that is broken changes nothing"
echo 'log_level: info' >options.yaml
rm one.log
mkdir one.log
hup
sleep 0.5
rmdir one.log
echo 'log_level: warning' >options.yaml
hup
level_is() { [ "$(level)" = "$1" ]; }
check "a mount whose log could not be opened takes the next change" wait_for 30 level_is warning
rm options.yaml
hup
check "a file of options that is gone changes nothing" wait_for 30 told 1 'nothing is changed: .*options.yaml' one.log
ends

echo 'log_format: json' >options.yaml
begin log=two.log
fdo open wct "$mnt/say \"hi\" \\ there" write 100 close >/dev/null
kill -USR1 "$pid"
wait_for 30 told 1 'statistics of' two.log
ends
cat >fields.py <<'END'
import json, sys
lines = [json.loads(l) for l in open(sys.argv[1])]
assert lines
for l in lines:
    assert sorted(l) == ["level", "message", "pid", "program", "time"], l
print(" ".join(sorted({l["level"] + ":" + l["program"] for l in lines})))
END
expect_eq "info:ckptfs" "$(python3 fields.py two.log)" "each line of log_format=json is an object of five fields"

# What is refused: its lines, as objects.
begin log=three.log
if on_gs; then refused=objects.insert; else refused=PutObject; fi
printf '[{"op": "%s", "key": "*denied", "do": "status", "status": 403, "code": "AccessDenied"}]\n' "$refused" >denied.json
set_faults "$PWD/denied.json"
fdo open wct "$mnt/denied" write 100 close >/dev/null
set_faults
cat >about.py <<'END'
import json, sys
for l in map(json.loads, open(sys.argv[1])):
    if l["level"] == "warning":
        assert l["time"] and ("request" not in l or l["request"] in l["message"]), l
        assert l["message"].endswith(": " + l["remedy"]), l
        print(l["operation"], l["file"], "request" if "request" in l else "-", l["remedy"].split()[0])
END
expect_eq "put denied request the publish denied - correct" "$(python3 about.py three.log | xargs)" \
	"a line of a failure has operation, file, request id and remedy as members"
ends

# The journal, by a socket in its place.
cat >journal.py <<'END'
import os, socket, subprocess, sys
os.makedirs("/run/systemd/journal")
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("/run/systemd/journal/socket")
s.settimeout(60)
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
print(s.recv(65536).decode(), end="")
END
journal() {
	unshare -m sh -c 'mount --make-rprivate / && mount -t tmpfs none /run && exec "$@"' sh "$@"
}
if unshare -m true 2>/dev/null; then
	journal python3 journal.py "$builddir/ckptctl" -o "endpoint=$CKPTFS_TEST_ENDPOINT,log=journal,log_level=debug" \
		uploads list "$url" >journal.out 2>&1
	expect_eq "PRIORITY=7
SYSLOG_IDENTIFIER=ckptctl" "$(head -n 2 journal.out)" "log=journal gives the journal level and program"
	check "log=journal gives the journal the message" grep -q '^MESSAGE=.' journal.out
	journal "$builddir/ckptctl" -o "endpoint=$CKPTFS_TEST_ENDPOINT,log=journal" uploads list "$url" >out 2>&1
	expect_eq "1 1" "$? $(grep -c 'log=journal' out)" "log=journal is refused where there is no journal"
else
	for name in 'gives level and program' 'gives the message' 'is refused where there is none'; do
		skip "log=journal $name" "unshare -m is not allowed"
	done
fi

# A syslog that takes a line, and one that stands still; the sockets of a machine of its own.
cat >syslog.py <<'END'
import socket, subprocess, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("/dev/log")
s.settimeout(60)
code = subprocess.run(sys.argv[2:]).returncode
for _ in range(int(sys.argv[1])):
    print(s.recv(65536).decode())
sys.exit(code)
END
syslog() { # NAMESPACES LINES COMMAND...; in a network of its own a socket has room for two lines
	unshare "$1" sh -c '[ "$1" = -m ] || echo 1 >/proc/sys/net/unix/max_dgram_qlen
		mount --make-rprivate / && mkdir -p "$2" && mount -t tmpfs none "$2" || exit
		for f in null zero random urandom; do : >"$2/$f" && mount --bind "/dev/$f" "$2/$f" || exit; done
		mount --move "$2" /dev && shift 2 && exec python3 syslog.py "$@"' sh "$1" "$tmp/dev" "$2" timeout 60 "$builddir/ckptctl" "$3" uploads list "$url"
}
if unshare -mn true 2>/dev/null; then
	syslog -m 1 "-oendpoint=$CKPTFS_TEST_ENDPOINT,log=syslog,log_level=debug" >syslog.out 2>&1
	check "log=syslog gives syslog priority, time, program and text" \
		grep -qE '^<31>[A-Z][a-z]{2} [ 0-9]{2} [0-9:]{8} ckptctl\[[0-9]+\]: debug: .' syslog.out
	syslog -mn 1 "-oendpoint=$CKPTFS_TEST_ENDPOINT,log=syslog,log_level=debug,deadline=2s" >syslog.out 2>&1
	expect_eq "1 1" "$? $(grep -c '^<' syslog.out)" "a syslog that stands still holds up nobody who logs"
else
	skip "log=syslog gives syslog priority, time, program and text" "namespaces are not allowed"
	skip "a syslog that stands still holds up nobody who logs" "namespaces are not allowed"
fi

# A reader that stands still: the pipe has room for a page.
cat >reader.py <<'END'
import fcntl, os, sys, time
fd = os.open("fifo", os.O_RDONLY | os.O_NONBLOCK)
fcntl.fcntl(fd, 1031, 4096)  # F_SETPIPE_SZ
open("reader.is", "w").close()
while not os.path.exists("reader.goes"):
    time.sleep(0.05)
with open("fifo.out", "wb", buffering=0) as out:
    while True:
        try:
            out.write(os.read(fd, 65536))
        except BlockingIOError:
            pass
        time.sleep(0.05)
END
mkfifo fifo
spawn python3 reader.py
wait_for 30 test -e reader.is
echo 'log_level: info' >options.yaml
begin log=file:fifo
for i in 1 2 3 4 5 6 7 8 9; do
	kill -USR1 "$pid" # a line of its figures
	ctl status >status.out || break
done
check "a log whose reader stands still does not hold up the mount" test "$i" = 9 -a -s status.out
expect_eq "right" "$(echo right >"$mnt/g" && cat "$mnt/g")" "files are written and read meanwhile"
: >reader.goes
logs_again() { ctl loglevel info && grep -q 'lines are left out here: who reads the log stood still' fifo.out; }
check "the log says how many lines are left out when its reader goes on" wait_for 60 logs_again
ends

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# systemd.sh: the unit ckptfs@.service is right, and does what it says under a systemd that runs as the first process
# of namespaces of its own, with a cgroup of its own.
. "$srcdir/tests/lib/mount.sh"
need_fuse
for tool in systemd-analyze systemctl python3; do
	command -v $tool >/dev/null || lacks deep "$tool is not installed"
done
plan 13
mkdir "$tmp/units" "$tmp/conf"
unit=$tmp/units/ckptfs@.service
bindir=$(sed -n 's,^ExecStart=\(/.*\)/ckptfs .*,\1,p' "$builddir/conf/ckptfs@.service")
sed "s,$bindir/ckptfs,$builddir/ckptfs,; s,/etc/ckptfs/,$tmp/conf/," "$builddir/conf/ckptfs@.service" >"$unit"
check "systemd finds nothing to complain of" sh -c 'systemd-analyze verify --man=no "$1" >"$2" 2>&1 && [ ! -s "$2" ] || { cat "$2"; false; }' \
	sh "$unit" "$tmp/verify"
# The settings that would hide the mount from everybody else make up 2.1 of what is left.
check "the service may do little beside mounting" systemd-analyze security --offline=yes --threshold=44 "$unit"
check_fails "no setting hides the mount" grep -E '^(Protect(System|Home|Proc|Kernel.*|ControlGroups)|Private[A-Z].*|ReadOnly.*|Bind.*|Temporary.*)=' "$unit"

# The rest runs in namespaces.
cat >"$tmp/enter.sh" <<'END'
# In new namespaces: a /proc, /run and cgroups of its own, and no mount of anybody else's tests.
set -e
mount --make-rshared / # as systemd does where it boots
mount -t proc proc /proc
awk '$3 ~ /^fuse/ { print $2 }' /proc/self/mounts | while read -r other; do umount -l "$other"; done
mount -t tmpfs tmpfs /run
mkdir -p /run/lock /run/systemd/system "$1/none"
umount -l /sys/fs/cgroup
mount -t tmpfs tmpfs /sys/fs/cgroup 2>/dev/null || true
mount -t cgroup2 none /sys/fs/cgroup
mount --bind "$1/none" /etc/systemd/system
cp "$1"/units/* /run/systemd/system
mkdir -p '/run/systemd/system/ckptfs@.service.d'
cp "$1/test.conf" '/run/systemd/system/ckptfs@.service.d'
exec env -i container=other PATH="$PATH" /lib/systemd/systemd --system --unit=test.target --log-target=console --show-status=no </dev/null >"$1/systemd.log" 2>&1
END
cat >"$tmp/units/test.target" <<END
[Unit]
Wants=test.service
END
cat >"$tmp/units/test.service" <<END
[Unit]
DefaultDependencies=no
[Service]
Type=oneshot
TimeoutStartSec=120
ExecStart=/bin/sh $tmp/inside.sh $tmp $mnt
END
# What the machine that tests has not: a network that comes up, a cgroup of devices.
cat >"$tmp/test.conf" <<END
[Unit]
DefaultDependencies=no
[Service]
WatchdogSec=2
StandardError=append:$tmp/daemon.log
RestartSec=0
LoadCredential=aws:$tmp/conf/keys
Environment=AWS_SHARED_CREDENTIALS_FILE=%d/aws
# A service that may not trace cannot look for leaks.
Environment=ASAN_OPTIONS=detect_leaks=0
END
cat >"$tmp/inside.sh" <<'END'
# In the service test: each line of the result is a name and its value.
tmp=$1 mnt=$2
trap 'touch "$tmp/over"' EXIT
tell() { echo "$1 $2" >>"$tmp/result"; }
state() { systemctl show -P ActiveState ckptfs@t; }
pid() { systemctl show -P MainPID ckptfs@t; }
until_is() {
	n=0
	while [ "$($2)" != "$1" ] && [ $n -lt 300 ]; do n=$((n + 1)); sleep 0.1; done
}
systemctl start ckptfs@t
tell start $?
tell state "$(state)"
[ "$(state)" = active ] || exit 1
printf x >"$mnt/file"
tell seen "$(grep -c " $mnt fuse.ckptfs " /proc/1/mounts)"
systemctl reload ckptfs@t
tell reload "$? $(state)"
first=$(pid)
kill -STOP "$first"
replaced() { [ "$(pid)" != "$first" ] && [ "$(pid)" != 0 ] && echo "yes $(state)"; }
until_is "yes active" replaced
tell watchdog "$(replaced)"
printf y >"$mnt/second"
systemctl stop ckptfs@t
tell stop "$? $(state) $(grep -c " $mnt " /proc/1/mounts)"
tell journal "$(systemctl show -P Result ckptfs@t)"
# What others have mounted there.
mount -t tmpfs others "$mnt"
systemctl start ckptfs@t
systemctl stop ckptfs@t
tell refused "$(grep -c "^others $mnt " /proc/1/mounts) $(grep -c " $mnt fuse.ckptfs " /proc/1/mounts)"
umount "$mnt"
END
start_store
mkdir -p "$mnt"
printf '[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n' "$AWS_ACCESS_KEY_ID" "$AWS_SECRET_ACCESS_KEY" >"$tmp/conf/keys"
printf 'CKPTFS_URL=%s\nCKPTFS_MOUNTPOINT=%s\n' "$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET" "$mnt" >"$tmp/conf/t.env"
printf 'endpoint: %s\n' "$CKPTFS_TEST_ENDPOINT" >"$tmp/conf/t.yaml"
mkdir "$tmp/cg"
group=$tmp/cg/ckptfs-test-$$
end_group() {
	[ ! -e "$group/cgroup.kill" ] || echo 1 >"$group/cgroup.kill"
	n=0
	while [ -d "$group" ] && [ $n -lt 100 ]; do
		find "$group" -depth -type d -exec rmdir {} \; 2>/dev/null
		n=$((n + 1))
		sleep 0.1
	done
	umount -l "$tmp/cg" 2>/dev/null
}
why=''
[ -x /lib/systemd/systemd ] || why="systemd is not installed"
[ -n "$why" ] || { mount -t cgroup2 none "$tmp/cg" && at_exit end_group && mkdir "$group" && [ -e "$group/cgroup.kill" ]; } 2>/dev/null ||
	why=${why:-"no cgroup can be made"}
: >"$tmp/result"
if [ -z "$why" ]; then
	# unshare waits for its child whatever it is sent: end_group ends both.
	sh -c 'echo $$ >"$1/cgroup.procs"; exec unshare -C -m -p -f -i -u --kill-child --propagation private sh "$2/enter.sh" "$2"' \
		sh "$group" "$tmp" &
	# A systemd that cannot run here ends, or never comes to the test.
	try_for 20 grep -q '^start ' "$tmp/result" || why="no systemd runs in namespaces here: $(tail -n 1 "$tmp/systemd.log" 2>/dev/null)"
	[ -n "$why" ] || wait_for 120 test -e "$tmp/over"
fi
said() {
	if [ -n "$why" ]; then skip "$3" "$why"; else expect_eq "$1" "$(sed -n "s/^$2 //p" "$tmp/result")" "$3"; fi
}
said 0 start "systemctl start returns when the mount answers"
said active state "the unit is active while it is mounted"
said 1 seen "the mount is seen outside of the service"
said "0 active" reload "a reload leaves it active"
said "yes active" watchdog "a daemon that stands still is replaced by one that answers"
said "0 inactive 0" stop "systemctl stop ends the mount"
said success journal "the service ends well"
said "1 0" refused "a start that is refused leaves alone what is mounted there"
if [ -n "$why" ]; then
	skip "keys of LoadCredential serve" "$why"
	skip "what was closed is at the store" "$why"
else
	expect_eq x "$(store_cat file)" "keys of LoadCredential serve"
	expect_eq y "$(store_cat second)" "what was closed is at the store"
fi
[ "$tap_failed" = 0 ] || sed 's/^/# systemd: /' "$tmp/systemd.log" | tail -n 30
[ "$tap_failed" = 0 ] || sed 's/^/# daemon: /' "$tmp/daemon.log"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# systemd.sh: the unit ckptfs@.service is right, and does what it says under a systemd that runs as the first process
# of namespaces of its own, with a cgroup of its own.
. "$srcdir/tests/lib/mount.sh"
need_fuse
for tool in systemd-analyze systemctl python3; do
	command -v $tool >/dev/null || lacks deep "$tool is not installed"
done
plan 33
mkdir -p "$tmp/units/ckptfs@.service.d" "$tmp/units/ckptfs@bad.service.d" "$tmp/conf"
unit=$tmp/units/ckptfs@.service
bindir=$(sed -n 's,^ExecStart=\(/.*\)/ckptfs .*,\1,p' "$builddir/conf/ckptfs@.service")
sed "s,$bindir/ckptfs,$builddir/ckptfs,; s,/etc/ckptfs/,/run/conf/," "$builddir/conf/ckptfs@.service" >"$unit"
check "systemd finds nothing to complain of" sh -c 'systemd-analyze verify --man=no "$1" >"$2" 2>&1 && [ ! -s "$2" ] || { cat "$2"; false; }' \
	sh "$unit" "$tmp/verify"
check "the service is exposed little" systemd-analyze security --offline=yes --threshold=25 "$unit"

# The rest runs in namespaces.
cat >"$tmp/enter.sh" <<'END'
# In new namespaces: a /proc, /run, /home, /var/log and cgroups of its own, and no mount of anybody else's tests.
set -e
mount --make-rshared / # as systemd does where it boots
mount -t proc proc /proc
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /home
mount -t tmpfs tmpfs /var/log
mkdir -p /run/lock /run/systemd/system "$1/none"
umount -l /sys/fs/cgroup
mount -t tmpfs tmpfs /sys/fs/cgroup 2>/dev/null || true
mount -t cgroup2 none /sys/fs/cgroup
mount --bind "$1/none" /etc/systemd/system
cp -r "$1"/units/* /run/systemd/system
cp -r "$1/conf" /run/conf
# What a machine with the packages has: the helper of mount(8), and keys in the home of root.
mount --bind /usr/sbin "$1/orig"
mount --bind "$1/sbin" /usr/sbin
sed 's,^\(root:.*\):[^:]*:\([^:]*\)$,\1:/run/root:\2,' /etc/passwd >/run/passwd
mount --bind /run/passwd /etc/passwd
mkdir -p /run/root/.aws
cp "$1/conf/keys" /run/root/.aws/credentials
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
TimeoutStartSec=240
ExecStart=/bin/sh $tmp/inside.sh $tmp $mnt $builddir
END
# What the machine that tests has not: a network that comes up. And time.
cat >"$tmp/units/ckptfs@.service.d/test.conf" <<END
[Unit]
DefaultDependencies=no
StartLimitIntervalSec=0
[Service]
WatchdogSec=2
StandardError=append:$tmp/daemon.log
RestartSec=0
LoadCredential=aws:/run/conf/keys
Environment=AWS_SHARED_CREDENTIALS_FILE=%d/aws
# A service that may not trace cannot look for leaks.
Environment=ASAN_OPTIONS=detect_leaks=0
END
# The service has a /tmp of its own.
case $builddir in /tmp/* | /var/tmp/*) echo "BindReadOnlyPaths=$builddir" >>"$tmp/units/ckptfs@.service.d/test.conf" ;; esac
# A daemon that ends before it takes the descriptor.
printf '[Service]\nRestart=no\nExecStart=\nExecStart=/bin/false\n' >"$tmp/units/ckptfs@bad.service.d/bad.conf"
cat >"$tmp/inside.sh" <<'END'
# In the service test: each line of the result is a name and its value.
tmp=$1 mnt=$2 builddir=$3
trap 'touch "$tmp/over"' EXIT
tell() { echo "$1 $2" >>"$tmp/result"; }
state() { systemctl show -P ActiveState "ckptfs@${1-t}"; }
result() { systemctl show -P Result "ckptfs@${1-t}"; }
pid() { systemctl show -P MainPID ckptfs@t; }
stored() { systemctl show -P NFileDescriptorStore "ckptfs@${1-t}"; }
seen() { grep -c " ${1-$mnt} fuse.ckptfs " /proc/1/mounts; }
until_is() {
	n=0
	while [ "$($2)" != "$1" ] && [ $n -lt 300 ]; do n=$((n + 1)); sleep 0.1; done
}
replaced() { [ "$(pid)" != "$first" ] && [ "$(pid)" != 0 ] && echo "yes $(state)"; }
begins_anew() {
	first=$(pid)
	kill "-$1" "$first"
	until_is "yes active" replaced
	echo "$1" >"$mnt/after"
	echo "$(replaced) $(cat "$mnt/after") $(seen)"
}
systemctl start ckptfs@t
tell start $?
tell state "$(state)"
[ "$(state)" = active ] || exit 1
printf x >"$mnt/file"
tell seen "$(seen)"
tell rights "$(sed -n 's/^CapEff:.0*//p' "/proc/$(pid)/status") $([ "$(readlink "/proc/$(pid)/ns/mnt")" = "$(readlink /proc/1/ns/mnt)" ] || echo apart)"
tell stored "$(stored)"
tell writes "$(nsenter -t "$(pid)" -m sh -c 'for d; do [ ! -w "$d" ] || echo "$d"; done' sh / /boot /etc /home /root /run /srv /usr /var /run/ckptfs /var/log/ckptfs /var/tmp | tr '\n' ' ')"
tell ahead "$(cat "/sys/class/bdi/$(mountpoint -d "$mnt")/read_ahead_kb")"
tell found "$("$builddir/ckptctl" list | cut -f 1,3)"
setpriv --reuid 65534 --regid 65534 --clear-groups sh -c 'printf old >"$0"; exec 3>"$0"; printf new >&3; kill -9 $$' "$mnt/killed"
tell killed "$(cat "$mnt/killed")"
systemctl reload ckptfs@t
tell reload "$? $(state)"
systemctl daemon-reload
tell again "$(state) $(seen) $(cat "$mnt/file")"
tell watchdog "$(begins_anew STOP)"
tell kill "$(begins_anew KILL)"

# Another beside it, below a directory that its daemon may only read.
mkdir /home/u
systemctl start ckptfs@u
printf u >/home/u/beside
tell log "$(grep -c 'is mounted on /home/u' /var/log/ckptfs/u.log)"
tell two "$(state) $(state u) $(cat "$mnt/beside")"
printf y >"$mnt/second"
systemctl stop ckptfs@t
tell stop "$? $(state) $(seen)"
tell ends "$(result)"
tell beside "$(state u) $(cat /home/u/second) $("$builddir/ckptctl" list | cut -f 1,3)"
umount /home/u
state_of_u() { state u; }
until_is inactive state_of_u
tell umount "$(state u) $(result u) $(seen /home/u)"

# A line of fstab makes an automount, which mounts when somebody looks, and again after it was taken away.
SYSTEMD_FSTAB=/run/conf/fstab /lib/systemd/system-generators/systemd-fstab-generator /run/systemd/system /run/systemd/system /run/systemd/system
systemctl daemon-reload
systemctl start home-a.automount
tell automount "$? $(systemctl show -P ActiveState home-a.mount) $(seen /home/a)"
tell looked "$(cat /home/a/second) $(systemctl show -P ActiveState home-a.mount) $(seen /home/a)"
systemctl stop home-a.mount
tell anew "$? $(seen /home/a) $(cat /home/a/second) $(seen /home/a)"
systemctl stop home-a.automount
ended=$?
state_of_a() { systemctl show -P ActiveState home-a.mount; }
until_is inactive state_of_a
tell gone "$ended $(state_of_a) $(seen /home/a)"

# Somebody has a file open when it is to stop.
systemctl start ckptfs@t
printf z >"$mnt/third"
exec 3<"$mnt/third"
systemctl stop ckptfs@t
exec 3<&-
tell busy "$(pid) $(seen)"

# Nobody takes the descriptor. Then one does; and one does not find the bucket.
systemctl start ckptfs@bad
tell never "$? $(state bad) $(stored bad) $(seen)"
printf '[Service]\nRestart=no\n' >/run/systemd/system/ckptfs@bad.service.d/bad.conf
systemctl daemon-reload
systemctl start ckptfs@bad
tell then "$? $(cat "$mnt/third")"
systemctl stop ckptfs@bad
echo "CKPTFS_URL=$(sed -n 's/^CKPTFS_URL=//p' /run/conf/t.env)-not" >>/run/conf/bad.env
systemctl start ckptfs@bad
tell bucket "$? $(state bad) $(seen)"

# What others have mounted there.
mount -t tmpfs others "$mnt"
systemctl start ckptfs@t
systemctl stop ckptfs@t
tell refused "$(grep -c "^others $mnt " /proc/1/mounts) $(seen)"
umount "$mnt"
END
start_store
chmod 711 "$tmp"
mkdir -p "$mnt"
printf '[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n' "$AWS_ACCESS_KEY_ID" "$AWS_SECRET_ACCESS_KEY" >"$tmp/conf/keys"
configure() {
	printf 'CKPTFS_URL=%s\nCKPTFS_MOUNTPOINT=%s\n' "$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET" "$2" >"$tmp/conf/$1.env"
	printf 'endpoint: %s\nallow_other: on\ndir_mode: 0777\nattr_ttl: 0s\n' "$CKPTFS_TEST_ENDPOINT" >"$tmp/conf/$1.yaml"
}
configure t "$mnt"
configure u /home/u
configure bad "$mnt"
echo 'log: /var/log/ckptfs/u.log' >>"$tmp/conf/u.yaml"
bindir=$(sed -n 's,.* \(/.*\)/ckptfs .*,\1,p' "$builddir/fs/mount/daemon/mount.ckptfs")
mkdir "$tmp/sbin" "$tmp/orig"
for program in /usr/sbin/*; do ln -s "$tmp/orig/${program##*/}" "$tmp/sbin"; done
sed "s,$bindir/,$builddir/," "$builddir/fs/mount/daemon/mount.ckptfs" >"$tmp/sbin/mount.ckptfs"
chmod 755 "$tmp/sbin/mount.ckptfs"
echo "$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET /home/a ckptfs nofail,x-systemd.automount,endpoint=$CKPTFS_TEST_ENDPOINT,log=file:$tmp/daemon.log 0 0" >"$tmp/conf/fstab"
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
	sh -c 'echo $$ >"$1/cgroup.procs"; exec unshare -C -m -p -f -i -u --kill-child --propagation private sh "$3" sh "$2/enter.sh" "$2"' \
		sh "$group" "$tmp" "$srcdir/tests/lib/alone.sh" &
	# A systemd that cannot run here ends, or never comes to the test.
	try_for 20 grep -q '^start ' "$tmp/result" || why="no systemd runs in namespaces here: $(tail -n 1 "$tmp/systemd.log" 2>/dev/null)"
	[ -n "$why" ] || wait_for 240 test -e "$tmp/over"
fi
said() {
	if [ -n "$why" ]; then skip "$3" "$why"; else expect_eq "$1" "$(sed -n "s/^$2 //p" "$tmp/result")" "$3"; fi
}
said 0 start "systemctl start returns when the mount answers"
said active state "the unit is active while it is mounted"
said 1 seen "the mount is seen outside of the service"
said "80004 apart" rights "the daemon may not mount, and has a namespace of its own"
said 0 stored "systemd does not keep the descriptor that the daemon has"
said "/run/ckptfs /var/log/ckptfs /var/tmp " writes "the daemon writes in directories of its own alone"
said 4096 ahead "the daemon raises the read-ahead of its mount"
said "$mnt	serving" found "ckptctl finds the mount"
said old killed "what another user was writing who was killed is not published"
said "0 active" reload "a reload leaves it active"
said "active 1 x" again "systemctl daemon-reload leaves the mount as it is"
said "yes active STOP 1" watchdog "a daemon that stands still is replaced by one that answers"
said "yes active KILL 1" kill "a daemon that was killed is replaced by one that answers"
said "active active u" two "a second mount runs beside the first"
said 1 log "its log is a file in /var/log/ckptfs"
said "0 inactive 0" stop "systemctl stop ends the mount"
said success ends "the service ends well"
said "active y /home/u	serving" beside "the second mount goes on when the first is stopped"
said "inactive success 0" umount "a umount ends the service"
said "0 inactive 0" automount "an automount of fstab's line waits"
said "y active 1" looked "it mounts when somebody looks"
said "0 0 y 1" anew "it mounts again when what it mounted was taken away"
said "0 inactive 0" gone "the mount goes with the automount"
said "0 0" busy "systemctl stop ends a mount that is in use"
said "1 failed 0 0" never "no mount stays when no daemon takes it"
said "0 z" then "the next start of that service serves"
said "1 failed 0" bucket "no mount stays whose bucket is not there"
said "1 0" refused "a start that is refused leaves alone what is mounted there"
if [ -n "$why" ]; then
	skip "the daemon takes system calls from itself" "$why"
	skip "keys of LoadCredential serve" "$why"
	skip "what was closed is at the store" "$why"
else
	check_fails "the daemon takes system calls from itself" grep 'takes no filter of system calls' "$tmp/daemon.log"
	expect_eq x "$(store_cat file)" "keys of LoadCredential serve"
	expect_eq y "$(store_cat second)" "what was closed is at the store"
fi
[ "$tap_failed" = 0 ] || sed 's/^/# systemd: /' "$tmp/systemd.log" | tail -n 30
[ "$tap_failed" = 0 ] || sed 's/^/# daemon: /' "$tmp/daemon.log"

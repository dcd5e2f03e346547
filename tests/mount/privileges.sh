#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# privileges.sh: what a daemon gives up of its rights, and what it keeps from other processes.
. "${srcdir:?}/tests/lib/namespace.sh"
. "$srcdir/tests/lib/mount.sh"
need_fuse
let_users_mount || :
command -v python3 >/dev/null || skip_all "python3 is not installed"
as_user() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; } # fusermount3 wants one that has a name
as_user true 2>/dev/null || skip_all "setpriv cannot change the user"
plan 31
chmod 711 "$tmp"
start_store
ctl() { timeout 60 "$builddir/ckptctl" -o "control_dir=$tmp/control" "$@"; }
# field NAME: the values that the threads of the daemon have, each once
field() { sed -n "s/^$1:[[:space:]]*//p" "/proc/$mount_pid"/task/*/status | sort -u | xargs; }
# Of what the test has: CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_NET_BIND_SERVICE, CAP_SYS_PTRACE, CAP_SYS_ADMIN.
had=$(sed -n 's/^CapPrm:[[:space:]]*//p' /proc/self/status)
kept=$(printf '%016x' $((0x$had & (1 << 1 | 1 << 2 | 1 << 10 | 1 << 19 | 1 << 21))))
[ $((0x$had & 1 << 19)) = 0 ] || had=$kept # without CAP_SYS_PTRACE the daemon keeps all

# A program of credentials runs with what the daemon has left, and tries what a mount does not need.
cat >"$tmp/calls.py" <<'END'
import ctypes, os, sys
c = ctypes.CDLL(None, use_errno=True)
parent = os.getppid()
if sys.argv[1] == "trace":
    sys.exit(c.ptrace(0x4206, parent, 0, 0) < 0)  # PTRACE_SEIZE
if sys.argv[1] == "write":
    sys.exit(c.process_vm_writev(parent, None, 0, None, 0, 0) < 0)
clone = {"x86_64": 56, "aarch64": 220}[os.uname().machine]
pid = c.syscall(clone, 0x10000000 | 17, 0, 0, 0, 0)  # CLONE_NEWUSER, SIGCHLD
if pid == 0:
    os._exit(0)
sys.exit(pid < 0)
END
cat >"$tmp/helper" <<END
#!/bin/sh
try() {
	name=\$1; shift
	if "\$@" >/dev/null 2>&1; then echo "\$name done"; else echo "\$name refused"; fi
}
{
	sed -n 's/^\\(CapEff\\|CapBnd\\|NoNewPrivs\\):[[:space:]]*/\\1 /p' /proc/self/status
	try mount mount -t tmpfs none "$tmp/other"
	umount "$tmp/other" 2>/dev/null
	try unshare unshare -m true
	try clone python3 "$tmp/calls.py" clone
	try trace python3 "$tmp/calls.py" trace
	try write python3 "$tmp/calls.py" write
	try chown chown 1001 "$tmp/file"
	try mknod mknod "$tmp/node.\$\$" c 1 3
	try user setpriv --reuid 1001 true
	try read cat "$tmp/secret"
} >"$tmp/tried.new"
mv "$tmp/tried.new" "$tmp/tried"
echo '{"Version": 1, "AccessKeyId": "$AWS_ACCESS_KEY_ID", "SecretAccessKey": "$AWS_SECRET_ACCESS_KEY"}'
END
chmod 755 "$tmp/helper"
mkdir "$tmp/other" "$tmp/control"
printf x >"$tmp/file"
printf x >"$tmp/secret"
chown 1002 "$tmp/secret"
chmod 600 "$tmp/secret"
printf '[default]\ncredential_process = %s\n' "$tmp/helper" >"$tmp/config"
keys="$AWS_ACCESS_KEY_ID $AWS_SECRET_ACCESS_KEY"
unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
AWS_CONFIG_FILE=$tmp/config
mount_ckptfs "control_dir=$tmp/control"
tried() { sed -n "s/^$1 //p" "$tmp/tried"; }
ask_again() {
	rm -f "$tmp/tried"
	ctl reload "$mnt" >/dev/null
	wait_for 30 test -e "$tmp/tried"
}

check "the mount writes, reads and renames with few privileges" \
	sh -c 'echo right >"$1/f" && mv "$1/f" "$1/g" && grep -q right "$1/g" && rm "$1/g"' sh "$mnt"
expect_eq "$had" "$(field CapEff)" "each thread keeps the capabilities of a mount alone"
expect_eq "$had $kept 0000000000000000" "$(field CapPrm) $(field CapBnd) $(field CapInh)" \
	"no thread can get another capability back"
expect_eq 1 "$(field NoNewPrivs)" "no thread gets privileges by running a program"
expect_eq 2 "$(field Seccomp)" "each thread is under the filter of system calls"
ask_again
expect_eq "$kept $kept 1" "$(tried CapEff) $(tried CapBnd) $(tried NoNewPrivs)" \
	"a program of credentials has no more rights than the daemon"
for act in mount unshare clone trace write chown mknod user; do
	if [ $act = trace ] && sanitized; then
		skip "a program of credentials is refused what a mount does not need: $act" "LeakSanitizer traces"
		continue
	fi
	expect_eq refused "$(tried $act)" "a program of credentials is refused what a mount does not need: $act"
done
expect_eq "done" "$(tried read)" "a program of credentials reads files of other users"
umount_ckptfs "a daemon with few privileges unmounts and ends well"

mount_ckptfs "control_dir=$tmp/control" privileges=keep
ask_again
expect_eq "0 0" "$(field NoNewPrivs) $(field Seccomp)" "privileges=keep takes nothing away"
expect_eq "done done done" "$(tried user) $(tried chown) $(tried trace)" "privileges=keep lets a program of credentials become another user"
umount_ckptfs
AWS_ACCESS_KEY_ID=${keys% *} AWS_SECRET_ACCESS_KEY=${keys#* }
export AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY

# dies OPTION...: the files that a crash leaves in the directory where the daemon was started
dies() {
	rm -rf "$tmp/cwd"
	mkdir "$tmp/cwd"
	cd "$tmp/cwd" || exit 1
	ulimit -c unlimited 2>/dev/null
	mount_ckptfs "$@"
	kill -ABRT "$mount_pid"
	{ mount_wait; } 2>/dev/null
	umount -l "$mnt"
	: >"$mount_log"
	left=$(ls "$tmp/cwd" | wc -l)
	cd "$tmp" || exit 1
}
can_dump=no
case $(cat /proc/sys/kernel/core_pattern) in */* | '|'*) ;; *) sanitized || ! (ulimit -c unlimited) 2>/dev/null || can_dump=yes ;; esac
dies
expect_eq 0 "$left" "a daemon that crashes writes no core"
if [ $can_dump = yes ]; then
	dies core_dumps
	expect_eq 1 "$left" "core_dumps=on lets a crash write a core"
else
	skip "core_dumps=on lets a crash write a core" "a core of this build, or on this machine, goes elsewhere or nowhere"
fi

# The same user: mounted by fusermount3, which has to become root again to unmount.
mkdir "$tmp/own" "$tmp/own/control"
chown -R 65534 "$tmp/own"
mount_by_user() {
	mkdir -p "$mnt"
	chown 65534 "$mnt"
	setpriv --reuid 65534 --regid 65534 --clear-groups "$builddir/ckptfs" -f -o "endpoint=$CKPTFS_TEST_ENDPOINT,control_dir=$tmp/own/control,spill_dir=$tmp/own$1" \
		"$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET" "$mnt" 2>>"$mount_log" &
	mount_pid=$!
	wait_for 60 mounted_or_dead
	wait_for 60 grep -q 'is mounted on' "$mount_log"
}
seen() {
	for what in environ maps mem fd/2 cwd; do
		if as_user sh -c 'readlink "$0" || exec <"$0"' "/proc/$mount_pid/$what" >/dev/null 2>&1; then echo $what; fi
	done | xargs
}
if [ ! -u "$(command -v fusermount3)" ] || ! as_user sh -c ': <>/dev/fuse' 2>/dev/null; then
	for name in "the memory a user's daemon shows" "who attaches to a user's daemon" "the capabilities of a user's daemon" \
		"a user's reads and writes" "root at a user's mount" "ckptctl at a user's mount" "SIGTERM to a user's daemon" \
		"what a user's daemon leaves" "core_dumps=on by a user" "fusermount3 -u by a user"; do
		skip "$name" "users cannot mount here"
	done
	exit 0
fi
mount_by_user ''
expect_eq "" "$(seen)" "no other process of the user sees environment, memory or open files"
attaches() { as_user $python -c 'import ctypes, sys; sys.exit(ctypes.CDLL(None).ptrace(0x4206, int(sys.argv[1]), 0, 0) < 0)' "$mount_pid"; }
python=/usr/bin/python3 # one of root's home is not for others
as_user $python -c '' 2>/dev/null || python=''
if [ -n "$python" ]; then
	check_fails "no other process of the user attaches to the daemon" attaches
else
	skip "no other process of the user attaches to the daemon" "there is no python3 for all users"
fi
expect_eq 0000000000000000 "$(field CapEff)" "the daemon of a user has no capability"
check "the user writes and reads" as_user sh -c 'echo right >"$1/f" && grep -q right "$1/f"' sh "$mnt"
check_fails "root, too, has to be let in" cat "$mnt/f"
check "ckptctl of the user reaches the daemon" as_user "$builddir/ckptctl" -o "control_dir=$tmp/own/control" status "$mnt"
kill -TERM "$mount_pid"
mount_ended "SIGTERM ends the daemon of a user, which unmounts by fusermount3"
check_fails "nothing is mounted after that" mounted
mount_by_user ,core_dumps
expect_eq "environ maps mem fd/2 cwd" "$(seen)" "core_dumps=on lets a user debug the daemon"
as_user fusermount3 -u "$mnt"
mount_ended "fusermount3 -u ends the daemon of a user"

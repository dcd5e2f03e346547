#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# uring.sh: with io_uring=on requests come by rings, nothing else changes, and where that cannot be they come by
# /dev/fuse, and the log says why.
. "${srcdir:?}/tests/lib/namespace.sh"
. "$srcdir/tests/lib/mount.sh"
need_fuse
command -v python3 >/dev/null || skip_all "python3 is not installed"
plan 42
parameter=/sys/module/fuse/parameters/enable_uring
possible=/sys/devices/system/cpu/possible
start_store
head -c 12000000 /dev/urandom >"$tmp/data"

works() {
	check "$1: the mount writes, reads and renames" \
		sh -c 'echo right >"$1/f" && mv "$1/f" "$1/g" && grep -q right "$1/g" && rm "$1/g"' sh "$mnt"
	check_fails "$1: no request comes by io_uring" grep -q 'requests come by io_uring' "$mount_log"
	umount_ckptfs "$1: the mount ends well"
}
told() {
	check "$1: the log tells cause and remedy" wait_for 20 grep -qE "io_uring=on: requests come by /dev/fuse: $2" "$mount_log"
}
# What the daemon asks of the kernel it asks between the mount and its line in the log.
stands() { [ "$(grep -c 'is mounted on' "$mount_log")" -gt "$stood" ]; }
mount_whole() {
	stood=$(cat "$mount_log" 2>/dev/null | grep -c 'is mounted on')
	mount_ckptfs "$@" && wait_for 30 stands
}
# with FILE TEXT OPTION...: a mount that sees the text in that file of the kernel's
with() {
	printf '%s\n' "$2" >"$tmp/seen"
	mount --bind "$tmp/seen" "$1"
	shift 2
	mount_whole "$@"
	umount "$possible" 2>/dev/null || umount "$parameter"
}

# --- where there are no rings
mount_ckptfs io_uring=off
works "io_uring=off"

# A filter as containers have it.
cat >"$tmp/forbid.py" <<'END'
# Runs the rest of argv without io_uring_setup().
import ctypes, os, struct, sys
steps = [(0x20, 0, 0, 0), (0x15, 0, 1, 425), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)]
program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *s) for s in steps))
head = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(program)))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, head):
    sys.exit(os.strerror(ctypes.get_errno()))
os.execv(sys.argv[1], sys.argv[1:])
END
mkdir "$tmp/forbidden"
printf '#!/bin/sh\nexec python3 "%s" "%s/ckptfs" "$@"\n' "$tmp/forbid.py" "$builddir" >"$tmp/forbidden/ckptfs"
chmod 755 "$tmp/forbidden/ckptfs"
built=$builddir
builddir=$tmp/forbidden
mount_ckptfs io_uring=on
builddir=$built
told "forbidden" 'Operation not permitted: .*kernel.io_uring_disabled or the container'
works "forbidden"

if [ -z "${CKPTFS_IN_NAMESPACE-}" ]; then
	for what in "128 cores" "cores that are not told"; do
		for check in told writes rings ends; do skip "$what: $check" "no mount namespace can be made"; done
	done
else
	with "$possible" 0-127 memory=1G io_uring=on
	told "128 cores" 'a quarter of memory= is too little for 128 cores: give memory=1536M'
	works "128 cores"
	with "$possible" 0-3,8-11 io_uring=on
	told "cores that are not told" 'the kernel does not tell how many cores'
	works "cores that are not told"
fi

if [ ! -e "$parameter" ]; then
	mount_ckptfs io_uring=on
	told "an old kernel" 'this kernel has no FUSE by io_uring: Linux 6.14 has'
	works "an old kernel"
	skip_rest "requests by io_uring" "this kernel does not have it"
fi

# --- where there are: other tests change the parameter, too, one at a time
set_parameter() { echo "$1" 2>/dev/null >"$parameter"; }
# allowing Y|N OPTION...
allowing() {
	exec 9<"$parameter"
	flock 9
	was=$(cat "$parameter")
	at_exit "[ -z \"\$was\" ] || echo \"\$was\" >$parameter"
	set_parameter "$1" || may_not=yes
	shift
	[ -n "$may_not" ] || mount_whole "$@"
	set_parameter "$was"
	was=''
	flock -u 9
	exec 9<&-
}
may_not=''
allowing N io_uring=on
[ -z "$may_not" ] || skip_rest "requests by io_uring" "$parameter cannot be written"
told "not allowed" 'the kernel does not allow it: as root, echo Y'
works "not allowed"

# A program of credentials has what the daemon has left.
cat >"$tmp/helper" <<END
#!/bin/sh
python3 -c 'import ctypes
c = ctypes.CDLL(None, use_errno=True)
for call in ((425, 1, ctypes.create_string_buffer(120)), (427, -1, 0, None, 0)): # io_uring_setup, io_uring_register
    print(c.syscall(*call), ctypes.get_errno())' | xargs >"$tmp/tried.new"
mv "$tmp/tried.new" "$tmp/tried"
echo '{"Version": 1, "AccessKeyId": "$AWS_ACCESS_KEY_ID", "SecretAccessKey": "$AWS_SECRET_ACCESS_KEY"}'
END
chmod 755 "$tmp/helper"
printf '[default]\ncredential_process = %s\n' "$tmp/helper" >"$tmp/config"
mkdir "$tmp/control"
if ! on_gs; then
	(
		unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
		AWS_CONFIG_FILE=$tmp/config
		export AWS_CONFIG_FILE
		allowing Y io_uring=on "control_dir=$tmp/control"
		ls "$mnt" >"$tmp/listed"
		rm -f "$tmp/tried"
		timeout 60 "$builddir/ckptctl" -o "control_dir=$tmp/control" reload "$mnt" >/dev/null
		wait_for 30 test -e "$tmp/tried"
		grep -q 'requests come by io_uring' "$mount_log" && : >"$tmp/used"
		umount "$mnt"
		mount_wait
		: >"$mount_log"
		trap - EXIT
	)
	expect_eq "-1 1 -1 1 used" "$(cat "$tmp/tried") $([ ! -e "$tmp/used" ] || echo used)" \
		"no ring can be made once the mount stands"
else
	skip "no ring can be made once the mount stands" "the credentials are of no program"
fi

allowing Y io_uring=on memory=64M part_size=5M attr_ttl=0
fdo src "$tmp/data" open wct "$mnt/large" write 12000000 close >"$tmp/out"
expect_eq "ok ok ok ok" "$(cat "$tmp/out")" "a large file is written"
check "requests come by io_uring" wait_for 20 \
	grep -qE 'requests come by io_uring, up to [0-9]+ at a time from each of [0-9]+ cores' "$mount_log"
check_fails "the log tells of no other way" grep -q 'by /dev/fuse' "$mount_log"
same "a large file is published" "$tmp/data" large
check "a file that came by io_uring is read back" cmp "$tmp/data" "$mnt/large"
check "a file that came by io_uring is read back past the page cache" \
	sh -c 'dd if="$1" bs=1M iflag=direct status=none | cmp - "$2"' sh "$mnt/large" "$tmp/data"
check "300 files of a directory are made, renamed and listed" sh -c 'mkdir "$1/many" &&
	for i in $(seq 300); do echo $i >"$1/many/$i" || exit; done && mv "$1/many" "$1/more" &&
	[ "$(ls "$1/more" | wc -l)" = 300 ] && [ "$(cat "$1"/more/* | sort -n | tail -n 1)" = 300 ]' sh "$mnt"
check "attributes are set and read" \
	sh -c 'setfattr -n user.a -v 1 "$1/large" && [ "$(getfattr --only-values --absolute-names -n user.a "$1/large")" = 1 ]' sh "$mnt"
for i in 1 2 3 4 5 6 7 8; do
	cp "$tmp/data" "$mnt/copy$i" &
	eval "copy$i=\$!"
done
for i in 1 2 3 4 5 6 7 8; do eval "wait \$copy$i"; done
check "8 writers at once write each their own" \
	sh -c 'for i in 1 2 3 4 5 6 7 8; do cmp "$1/copy$i" "$2" || exit; done' sh "$mnt" "$tmp/data"
expect_log 'killed: not published'
(fdo src "$tmp/data" open wct "$mnt/killed" write 12000000 kill 9) >/dev/null 2>&1
no_upload() { [ -z "$(store_uploads)" ]; }
check "no upload of a killed writer is left" wait_for 10 no_upload
expect_eq "" "$(store_ls killed)" "nothing of a killed writer is published"

# More wait than the rings have entries. Half of them catch a signal first, of which alone the kernel tells.
field() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f1; }
gone() { case $(field "$1") in Z | '') ;; *) return 1 ;; esac; }
waits() { case $(field "$1") in S | D) ;; *) return 1 ;; esac; }
cores=$(getconf _NPROCESSORS_CONF)
freeze "$store_pid"
crowd='' caught=''
for i in $(seq $((40 * cores))); do
	"$tools/tests/lib/fdo" size "$mnt/absent$i" >/dev/null 2>&1 &
	crowd="$crowd $!"
	"$tools/tests/lib/fdo" alarms size "$mnt/absent$i.caught" >/dev/null 2>&1 &
	crowd="$crowd $!"
done
bad=0
for pid in $crowd; do wait_for 20 waits "$pid" || bad=$((bad + 1)); done
sleep 1.5 # the alarms come
# shellcheck disable=SC2086 # pids
kill -KILL $crowd
for pid in $crowd; do
	wait_for 20 gone "$pid" || bad=$((bad + 1))
	wait "$pid" 2>/dev/null
done
expect_eq 0 $bad "a kill ends each of a crowd that waits for the store"
thaw "$store_pid"
check "the mount goes on after a crowd of its callers was killed" sh -c 'echo x >"$1/then" && grep -q x "$1/then"' sh "$mnt"

# The kernel asks for nothing any more, and replies are to be sent still.
set_faults put_late
fdo open wct "$mnt/close_late" write 1000 close >"$tmp/out" &
closing=$!
wait_held PutObject
kill -TERM "$mount_pid"
wait_for 20 grep -q ': unmounting ' "$mount_log"
set_faults
mount_ended "SIGTERM ends the daemon while a file is closed"
wait $closing
expect_eq "ok ok ok" "$(cat "$tmp/out")" "the close is told of success"
expect_eq 1000 "$(objects size close_late)" "a file that is closed while the daemon ends is published"

allowing Y io_uring=on attr_ttl=0
ls "$mnt" >"$tmp/listed"
umount_ckptfs "umount ends the daemon"

# Who makes a file may have its name in a page that is to be read from the mount, by the core that waits for the name.
allowing Y io_uring=on
made() { timeout -k 5 120 python3 "$srcdir/tests/mount/names_in_pages.py" "$mnt" 2>&1; }
expect_eq "300 300" "$(made)" "files are made whose names are read from the mount itself"
umount_ckptfs "a mount ends whose files had their names in it"

allowing Y io_uring=on attr_ttl=0
fdo_begin open wct "$mnt/lost" write 1000 pause write 1000 close
kill -KILL "$mount_pid"
mount_wait 2>/dev/null
: >"$mount_log"
: >"$tmp/fdo/go"
check "a kill of the daemon ends what its programs wait for" wait_for 20 gone "$fdo_pid"
wait "$fdo_pid"
check "programs of a daemon that is killed get an error" grep -q 'E[A-Z][A-Z]' "$tmp/fdo/out"
umount -l "$mnt"
expect_eq "" "$(store_ls lost)" "nothing half written is published"

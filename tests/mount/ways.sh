#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ways.sh: in whatever way a process executes, spawns, passes, duplicates or ends with a file open, no close
# hangs, and when all have let go the file is published as it was written.
. "$srcdir/tests/lib/mount.sh"
need_fuse
ways=$("$tools/tests/mount/ways" names)
plan $((2 * $(echo "$ways" | wc -l) + 2 * 6 + 2 * 9 + 2 * 4 + 2))
start_store
mount_ckptfs attr_ttl=0
head -c 3000 /dev/zero | tr '\0' x >"$tmp/want"

is_published() { store_cat "$1" 2>/dev/null | cmp -s - "$tmp/want"; }

# ends NAME COMMAND...: it ends well and soon, and what it wrote to the file NAME is published
ends() {
	file=$1; shift
	timeout -k 5 20 "$@" >"$tmp/said" 2>&1
	expect_eq "0 " "$? $(cat "$tmp/said")" "$file: nothing hangs and each call succeeds"
	check "$file: what was written is published" wait_for 10 is_published "$file"
}

for way in $ways; do ends "$way" "$tools/tests/mount/ways" "$way" "$mnt/$way"; done

python() {
	ends "python_$1" python3 -c "
import os, subprocess, sys, multiprocessing
f = open(sys.argv[1], 'wb')
f.write(b'x' * 2000); f.flush()
$2
f.write(b'x' * 1000)
f.close()" "$mnt/python_$1"
}
python system 'os.system("true")'
python run 'subprocess.run(["true"], check=True)'
python popen_that_has_it 'subprocess.run(["true"], close_fds=False, check=True)'
python spawn 'os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)'
python fork 'p = multiprocessing.get_context("fork").Process(target=len, args=([],)); p.start(); p.join()'
python forkserver 'p = multiprocessing.get_context("spawn").Process(target=len, args=([],)); p.start(); p.join()'

bytes='head -c 3000 /dev/zero | tr "\0" x'
shell() { ends "shell_$1" sh -c "$2" sh "$mnt/shell_$1"; }
shell group "{ /bin/true; $bytes; /bin/true; } >\"\$1\""
shell subshell "( /bin/true; $bytes ) >\"\$1\""
shell exec_redirection "exec 3>\"\$1\"; $bytes >&3; /bin/true; exec 3>&-; /bin/true"
shell exec_last "exec >\"\$1\"; $bytes; exec /bin/true"
shell background "{ $bytes & /bin/true; wait; } >\"\$1\""
shell substitution "{ : \$(/bin/true); $bytes; } >\"\$1\""
shell loop "for i in 1 2 3; do head -c 1000 /dev/zero | tr '\\0' x; /bin/true; done >\"\$1\""
shell append "for i in 1 2 3; do head -c 1000 /dev/zero | tr '\\0' x >>\"\$1\"; done"
shell here_document "cat >\"\$1\" <<END
$(cat "$tmp/want")
END
truncate -s 3000 \"\$1\""

# io_uring lets go of what is in its own table some time after the call.
for way in plain direct synced copy; do
	"$tools/tests/mount/ring" $way "$mnt/ring_$way.first" >/dev/null
	if [ $? -ne 77 ]; then
		# promise: ring.table
		ends "ring_$way" "$tools/tests/mount/ring" $way "$mnt/ring_$way"
	else
		skip "ring_$way: nothing hangs and each call succeeds" "there is no io_uring"
		skip "ring_$way: what was written is published" "there is no io_uring"
	fi
done
check "no process hangs for a file of the mount" timeout 10 ps ax
umount_ckptfs

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kill_ways.sh: however a writer dies and whoever holds its file then, nothing of it is published, and
# nothing is published before the last writer closes.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 39
start_store
mount_ckptfs part_size=5M attr_ttl=0
head -c 12000000 /dev/urandom >"$tmp/data"

gone() { [ ! -e "$mnt/$1" ]; }
no_upload() { [ -z "$(store_uploads)" ]; }

# died SIGNAL WAY: $? is the writer's status
died() { expect_eq $((128 + $1)) $? "a writer dies $2"; }

# nothing_of FILE WAY
nothing_of() {
	check "no upload is left of a writer that died $2" wait_for 20 no_upload
	check "the name of a writer that died $2 goes" wait_for 20 gone "$1"
	# promise: kill.nothing
	expect_eq "" "$(store_ls "$1")" "nothing is at the store of a writer that died $2"
}

for signal in 9 15 11; do
	(ulimit -c 0; fdo threads 8 src "$tmp/data" open wct "$mnt/many$signal" write 12000000 \
		kill $signal) >/dev/null 2>&1
	died $signal "by signal $signal with many threads"
	nothing_of many$signal "by signal $signal with many threads"
done

(fdo src "$tmp/data" threadopen wct "$mnt/thread" write 12000000 forkorphan threads 2 kill 9) \
	>/dev/null 2>&1
died 9 "while a child holds the file, which ends cleanly"
nothing_of thread "while a child held the file, which ends cleanly"

# A group with little memory, of either hierarchy.
group=''
for root in /sys/fs/cgroup/memory /sys/fs/cgroup; do
	[ -z "$group" ] && mkdir "$root/ckptfs-test.$$" 2>/dev/null || continue
	group=$root/ckptfs-test.$$
	at_exit "rmdir '$group'"
	echo 0 >"$group/memory.swappiness"
	echo 48M >"$group/memory.limit_in_bytes" || echo 48M >"$group/memory.max" || group=''
done 2>/dev/null
eater() {
	echo 0 >"$group/cgroup.procs" || exit 1
	fdo src "$tmp/data" open wct "$mnt/oom" write 12000000 eat 200000000
}
if [ -n "$group" ] && { (eater) >"$tmp/eaten" 2>/dev/null; [ $? -eq 137 ]; }; then
	nothing_of oom "for lack of memory"
else
	rm -f "$mnt/oom"
	for name in "no upload is left of a writer that died for lack of memory" "the name of a writer that died for lack of memory goes" \
		"nothing is at the store of a writer that died for lack of memory"; do
		skip "$name" "there is no memory control group to be killed in"
	done
fi

# The opener ends while a child that has not written yet holds the file.
unpublished() { [ -z "$(store_ls "$1")" ]; }
mkfifo "$tmp/go"
sh -c '(exec 3<"$1/go"; cat "$1/data") & exec head -c 10 /dev/zero' sh "$tmp" >"$mnt/later"
check "the end of the opener publishes nothing while a child holds the file" unpublished later
: >"$tmp/go"
{ head -c 10 /dev/zero; cat "$tmp/data"; } >"$tmp/want"
published() { store_cat "$1" 2>/dev/null | cmp -s - "$2"; }
# promise: kill.inherited
check "the end of the last child publishes" wait_for 30 published later "$tmp/want"

# Two children of an opener that is gone; the one that ends first never wrote.
mkfifo "$tmp/first"
sh -c '(exec 3<"$1/go"; cat "$1/data") & (exec 3<"$1/first") &' sh "$tmp" >"$mnt/two"
: >"$tmp/first"
check "of two children of a gone opener the first to end publishes nothing" unpublished two
: >"$tmp/go"
check "the last child of a gone opener publishes" wait_for 30 published two "$tmp/data"

# Two opens of one process, and a child that inherited both and ends.
fdo_begin src "$tmp/data" open wct "$mnt/twice" slot 1 open w "$mnt/twice" write 6000000 forkclose \
	pause write 6000000 close slot 0 close
# promise: kill.inherited
check "a child that inherited two opens publishes nothing at its end" unpublished twice
fdo_ends "ok ok ok ok ok 0 ok ok ok ok ok" "the process writes on"
same "what a process wrote after its child's end is published" "$tmp/data" twice

# A process whose first thread has ended.
fdo_begin mainends src "$tmp/data" open wct "$mnt/headless" write 6000000 dupclose pause write 6000000 close
check "a copy closed by a process whose first thread has ended publishes nothing" unpublished headless
fdo_ends "ok ok ok ok ok ok ok" "a process whose first thread has ended writes on"
same "what a process whose first thread has ended wrote is published" "$tmp/data" headless
(fdo mainends src "$tmp/data" open wct "$mnt/beheaded" write 12000000 kill 9) >/dev/null 2>&1
nothing_of beheaded "when its first thread had ended"

# A script goes on after one of its commands died.
sh -c 'sh -c "echo one; kill -KILL \$\$"; echo two' >"$mnt/script" 2>/dev/null
# promise: kill.writers
expect_eq "one two" "$(store_cat script | tr '\n' ' ' | sed 's/ $//')" \
	"a script of which one command died publishes what it and the others wrote"
fdo src "$tmp/data" open wct "$mnt/forked" write 6000000 forkclose write 6000000 close >"$tmp/out"
expect_eq "ok ok ok 0 ok ok" "$(cat "$tmp/out")" "a child that closes its copy ends nothing"
same "what is written after a child closed its copy is published" "$tmp/data" forked

# Who inherits a file and only changes its size writes it, too.
resized() {
	python3 - "$mnt/$1" "$2" "$3" <<'END' 2>/dev/null
import os, sys, time
who, how = sys.argv[2:]
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
os.write(fd, b"0123456789")
opener, (closed, closes) = os.getpid(), os.pipe()
if os.fork():
    if who == "opener":
        os.kill(opener, 9)
    os.fsync(fd)
    os.close(fd)
    os.write(closes, b"x")
    os.wait()
    os._exit(0)
while who == "opener" and os.getppid() == opener:
    time.sleep(0.01)
if who == "heir":
    os.read(closed, 1)
os.ftruncate(fd, 4) if how == "cut" else os.posix_fallocate(fd, 0, 20)
if who == "heir":
    os.kill(os.getpid(), 9)
os.close(fd)
END
}
has_bytes() { [ "$(objects size "$1" 2>/dev/null)" = "$2" ]; }
resized cut_on opener cut
check "who cuts the file of a killed process publishes it" wait_for 30 has_bytes cut_on 4
resized grown_on opener grow
check "who makes the file of a killed process longer publishes it" wait_for 30 has_bytes grown_on 20
resized cut_off heir cut
wait_for 30 grep -q ' cut_off: not published' "$mount_log"
expect_eq 10 "$(objects size cut_off)" "nothing is published of who was killed after it had cut the file"
expect_log 'not published, the version before it stands: Operation canceled'
umount_ckptfs

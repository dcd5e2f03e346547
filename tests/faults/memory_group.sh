#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# memory_group.sh: a mount in a control group with a limit of memory (a container, a unit with MemoryMax=): it says
# where memory= is more than the group may use; the kill that follows publishes nothing half, and the next mount works.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 16

# limits GROUPS FILE=LIMIT...: what the machine's limits would be with these lines in /proc/self/cgroup and these files
limits() {
	mkdir -p "$tmp/groups"
	printf '%b' "$1" >"$tmp/group"; shift
	for file; do
		mkdir -p "$tmp/groups/$(dirname "${file%=*}")"
		echo "${file#*=}" >"$tmp/groups/${file%=*}"
	done
	# shellcheck disable=SC2016 # the words of the shell in the namespace
	unshare -m sh -c 'mount --bind "$1/group" /proc/$$/cgroup && mount --bind "$1/groups" /sys/fs/cgroup && exec "$2" doctor' \
		sh "$tmp" "$builddir/ckptctl" 2>&1 | sed -n 's/^broken\tmemory\t.* has \([0-9]*\) MiB: .*/\1/p'
	rm -rf "$tmp/groups"
}
if unshare -m true 2>/dev/null; then
	expect_eq 100 "$(limits '0::/a/b\n' a/b/memory.max=104857600 a/memory.max=max)" "the limit of the own group is found"
	expect_eq 50 "$(limits '0::/a/b\n' a/b/memory.max=104857600 a/memory.max=52428800)" "the limit of a group above it is found"
	expect_eq 70 "$(limits '0::/\n' memory.max=73400320)" "the limit of a container that sees its group as the root is found"
	expect_eq 60 "$(limits '5:cpu:/x\n4:memory:/docker/1\n0::/\n' memory/memory.limit_in_bytes=62914560)" \
		"the limit of a container that knows its group by the name outside is found"
	expect_eq "" "$(limits '4:memory:/a\n0::/\n' memory/a/memory.limit_in_bytes=9223372036854771712 a/memory.max=1)" \
		"no limit, and that of another group, are none"
else
	for name in own above root outside none; do skip "limit: $name" "no namespaces can be made"; done
fi

# A group with 256 MiB, of either version of control groups; the shell joins it to start what has to be in it.
group='' home=''
for root in /sys/fs/cgroup/memory /sys/fs/cgroup; do
	[ -z "$group" ] && mkdir "$root/ckptfs-test.$$" 2>/dev/null || continue
	group=$root/ckptfs-test.$$
	home=$root$(sed -n 's/^[0-9]*:memory:\(.*\)/\1/p' /proc/self/cgroup)
	[ "$home" != "$root" ] || home=$root$(sed -n 's/^0:://p' /proc/self/cgroup)
	[ -d "$home" ] || home=$root
	at_exit 'leave; rmdir "$group"'
	echo 0 >"$group/memory.swappiness"
	echo 0 >"$group/memory.swap.max"
	echo 256M >"$group/memory.limit_in_bytes" || echo 256M >"$group/memory.max" || { rmdir "$group"; group=''; }
done 2>/dev/null
join() { echo $$ >"$group/cgroup.procs"; }
leave() { [ -z "$group" ] || echo $$ >"$home/cgroup.procs"; }
eater() { echo 0 >"$group/cgroup.procs" && exec "$tools/tests/lib/fdo" eat 400000000; }
if sanitized || [ -z "$group" ] || { (eater) >"$tmp/eaten" 2>/dev/null; [ $? -ne 137 ]; }; then
	for i in 1 2 3 4 5 6 7 8 9 10 11; do skip "a mount in a group of little memory: check $i" "no memory control group can be made, or a sanitizer takes more than it has"; done
	exit 0
fi

start_store
head -c 400000000 /dev/urandom >"$tmp/data"
printf closed >"$tmp/closed"
# A file of parts of which none is whole, so that none can be sent.
with_holes() {
	set -- src "$tmp/data" open +ct "$1"
	for i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21; do set -- "$@" pwrite 15000000 $((i * 16777216 + 1000)); done
	"$tools/tests/lib/fdo" "$@" close
}

# What fits goes on, however much is written.
join
mount_ckptfs part_size=16M memory=64M spill_dir="$tmp"
leave
said=$(with_holes "$mnt/holes")
case $said in *E[A-Z]*) not_ok "a mount of memory= that its group has takes a file that is larger"; diag "$said" ;;
*) ok "a mount of memory= that its group has takes a file that is larger" ;; esac
cp "$tmp/data" "$mnt/whole"
same "a file that is larger than the group's memory is published" "$tmp/data" whole
umount_ckptfs "nothing is warned of where the group has the memory"
objects rm holes
objects rm whole

# What does not is said, and is killed.
join
mount_ckptfs part_size=16M memory=1G spill_dir="$tmp"
leave
# promise: memory.group
expect_eq 1 "$(grep -c 'warning: memory= is 1024 MiB, .* and this container or service has 256 MiB: give less or raise the limit' "$mount_log")" \
	"memory= above that of the control group is warned of, once"
cp "$tmp/closed" "$mnt/closed"
said=$(with_holes "$mnt/half")
# promise: memory.group
case $said in *E[A-Z]*) ok "a program whose mount is killed is told" ;; *) not_ok "a program whose mount is killed is told"; diag "$said" ;; esac
mount_wait
expect_eq 137 $? "the kernel ends a mount that takes more than its group has"
while mounted; do umount -l "$mnt"; done
expect_eq closed "$(store_ls | tr '\n' ' ' | sed 's/ $//')" "nothing that was not closed is published by the kill"
same "what was closed before the kill is whole" "$tmp/closed" closed
mount_log=$tmp/mount2.log
: >"$mount_log"
mount_ckptfs part_size=16M memory=64M spill_dir="$tmp"
check "the next mount reads what was closed" cmp "$tmp/closed" "$mnt/closed"
cp "$tmp/data" "$mnt/half"
same "the next mount publishes the file that was lost" "$tmp/data" half
umount_ckptfs

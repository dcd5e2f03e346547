#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# walks.sh: a program that reads all names and then looks at one after the other does not wait for each,
# and what is asked for ahead of it is little and never old.
. "$srcdir/tests/lib/mount.sh"
need_fuse
command -v python3 >/dev/null || skip_all "python3 looks at names here"
plan 22
start_store --ttfb 20ms --fill d/f=2000
mount_ckptfs attr_ttl=600s stall_timeout=120s

# walk CODE...: python with all names read: `names`, `entries` of os.scandir(), and look(name)
walk() {
	timeout 200 python3 -c 'import os, random, sys, time
d = sys.argv[1]
entries = list(os.scandir(d))
names = [e.name for e in entries]
def look(name):
    try:
        s = os.lstat(d + "/" + name)
    except OSError as e:
        return os.strerror(e.errno)
    return "%o %d %d" % (s.st_mode, s.st_size, s.st_mtime)
def until(name, want):
    end = time.time() + 60
    while look(name) != want and time.time() < end:
        time.sleep(0.05)
    return look(name)
'"$1" "$mnt/d"
}
# keys that were asked for since the mark, each time
heads() { tail -n "+$(($(cat "$requests.mark") + 1))" "$requests" | awk '$2 == "HeadObject" && $4 ~ /^d\/f/ { print $4 }'; }
# the most that were on their way at once
at_once() {
	tail -n "+$(($(cat "$requests.mark") + 1))" "$requests" | awk '$2 == "HeadObject" && $4 ~ /^d\/f/ {
		split(substr($1, 12), t, /[:Z]/)
		us = ((t[1] * 60 + t[2]) * 60 + t[3]) * 1000000
		printf "%.0f 1\n%.0f -1\n", us, us + $9
	}' | sort -n | awk '{ n += $2; if (n > most) most = n } END { print most + 0 }'
}

# Some are not like the others.
for n in 40 777 1999; do
	f=$mnt/d/$(printf 'f%08d' $n)
	printf "%${n}s" '' >"$f"
	chmod 640 "$f"
	touch -d @1000000000 "$f"
done
ln -sf target "$mnt/d/f00000500"
umount_ckptfs "some files are not like the others"

mount_ckptfs attr_ttl=600s stall_timeout=120s
requests_mark
walk 'for name in names: print(name, look(name))' >"$tmp/got"
seq -f 'f%08g 100644 0' 0 1999 | sed '41s/.*/f00000040 100640 40/; 778s/.*/f00000777 100640 777/
	501s/.*/f00000500 120777 6/; 2000s/.*/f00001999 100640 1999/' >"$tmp/want"
cut -d' ' -f1-3 "$tmp/got" >"$tmp/cut"
check "a walk sees each file as it is" cmp "$tmp/want" "$tmp/cut"
expect_eq 3 "$(grep -c ' 1000000000$' "$tmp/got")" "a walk sees each file with its time"
expect_eq "2000 2000" "$(heads | wc -l) $(heads | sort -u | wc -l)" "a walk costs one request a file"
# promise: list.ahead
check "a walk has many requests on their way at once ($(at_once))" test "$(at_once)" -gt 8
requests_mark
walk 'for name in names: print(name, look(name))' >"$tmp/again"
check "a second walk sees the same" cmp "$tmp/got" "$tmp/again"
expect_eq 0 "$(heads | wc -l)" "a second walk asks for nothing"
umount_ckptfs

# fts looks in the order of the inodes when there are very many.
mount_ckptfs attr_ttl=600s stall_timeout=120s
requests_mark
walk 'for e in sorted(entries, key=lambda e: e.inode())[:600]: assert " " in look(e.name)'
looked=$(heads | wc -l)
check "a walk in the order of inodes has few files too many asked for ($looked for 600)" \
	test "$looked" -ge 600 -a "$looked" -le $((600 + 64 + 75))
check "a walk in the order of inodes asks for many at once ($(at_once))" test "$(at_once)" -gt 8
umount_ckptfs

mount_ckptfs attr_ttl=600s stall_timeout=120s
requests_mark
walk 'random.seed(7)
random.shuffle(names)
for name in names[:60]: look(name)'
looked=$(heads | wc -l)
# promise: list.ahead
check "looks in no order have few files too many asked for ($looked for 60)" test "$looked" -ge 60 -a "$looked" -le $((60 + 64))
requests_mark
walk 'for name in names[1:90:3]: look(name)'
looked=$(heads | wc -l)
check "looks that leave files out have few files too many asked for ($looked for 30)" test "$looked" -ge 30 -a "$looked" -le $((30 + 64))
umount_ckptfs

# What others change while somebody walks, and what is changed here.
mount_ckptfs attr_ttl=1s
OBJECTS=$tools/tests/lib/objects walk 'objects = os.environ["OBJECTS"]
for name in names[100:120]: look(name)
os.system(objects + " rm d/f00000121; printf longer | " + objects + " put d/f00000122")
os.unlink(d + "/f00000123")
os.rename(d + "/f00000124", d + "/f00000125")
os.chmod(d + "/f00000126", 0o600)
with open(d + "/f00000127", "w") as f: f.write("four")
def here(): print([look("f0000012" + str(n))[:9] for n in (3, 4, 5, 6, 7)])
here()
gone = os.strerror(2)
print(until("f00000121", gone) == gone)
end = time.time() + 60
while look("f00000122")[:8] != "100644 6" and time.time() < end: time.sleep(0.05)
print(look("f00000122")[:8])
for name in names[128:300]: look(name)
here()' >"$tmp/got" 2>&1
here="['No such f', 'No such f', '100644 0 ', '100600 0 ', '100644 4 ']"
expect_eq "$here|True|100644 6|$here|" "$(tr '\n' '|' <"$tmp/got")" "what changes while somebody walks is seen, here at once"
umount_ckptfs

# What was asked for ahead is deleted while it is open.
none_kept() { [ -z "$(store_ls .ckptfs/unlinked/)" ]; }
mount_ckptfs attr_ttl=600s stall_timeout=120s
requests_mark
walk 'for name in names[400:440]: look(name)
for name in names[420:430]:
    fd = os.open(d + "/" + name, os.O_RDONLY)
    os.unlink(d + "/" + name)
    os.close(fd)'
check "nothing of files that were asked for ahead is left at the store after the last close" wait_for 20 none_kept
umount_ckptfs

# No answer is believed: none is asked for ahead.
for option in attr_ttl=0 consistency=strict; do
	mount_ckptfs $option
	requests_mark
	walk 'for name in names[1000:1008]: look(name)'
	expect_eq 8 "$(heads | grep f000010 | sort -u | wc -l)" "nothing is asked for ahead with $option"
	umount_ckptfs
done

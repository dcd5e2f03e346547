#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# file_handle.sh: a handle (name_to_handle_at(2), as fanotify(7) and NFS servers keep it) leads to its file or nowhere.
. "$srcdir/tests/lib/mount.sh"
need_fuse
command -v python3 >/dev/null || skip_all "python3 is not installed"
plan 5
start_store
mount_ckptfs attr_ttl=0
cat >"$tmp/handle.py" <<'END'
import ctypes, errno, os, sys
libc = ctypes.CDLL(None, use_errno=True)
mnt = os.open(sys.argv[1], os.O_RDONLY)


class Handle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_uint), ("type", ctypes.c_int), ("handle", ctypes.c_ubyte * 128)]


def make(name):
    with open(name, "w", opener=lambda path, flags: os.open(path, flags, dir_fd=mnt)) as file:
        file.write(name)


def handle_of(name):
    handle, mount = Handle(128), ctypes.c_int()
    if libc.name_to_handle_at(mnt, name.encode(), ctypes.byref(handle), ctypes.byref(mount), 0):
        sys.exit("name_to_handle_at: " + errno.errorcode[ctypes.get_errno()])
    return handle


def bytes_by(handle):
    fd = libc.open_by_handle_at(mnt, ctypes.byref(handle), os.O_RDONLY)
    if fd < 0:
        return errno.errorcode[ctypes.get_errno()]
    with os.fdopen(fd) as file:
        return file.read()


make("kept")
kept = handle_of("kept")
if bytes_by(kept) == "EPERM":
    sys.exit(77)
print("kept:", bytes_by(kept))
os.rename("kept", "renamed", src_dir_fd=mnt, dst_dir_fd=mnt)
print("renamed:", bytes_by(kept))

# What the daemon knew of a file is freed when the kernel has forgotten it, and what it knows of the next is put there.
handles = []
for i in range(100):
    make(f"gone{i}")
    handles.append((handle_of(f"gone{i}"), f"gone{i}"))
for i in range(100):
    os.unlink(f"gone{i}", dir_fd=mnt)
for i in range(300):
    make(f"new{i}")
others = {bytes_by(handle) for handle, name in handles} - {name for handle, name in handles}
print("gone:", *sorted(others - {"ESTALE", "ENOENT"}))
END
timeout 100 python3 "$tmp/handle.py" "$mnt" >"$tmp/out"
rc=$?
if [ $rc -eq 77 ]; then
	for name in "a handle opens its file" "a handle opens its file by any name" "a handle of a removed file opens no other" \
		"each handle is tried"; do skip "$name" "this user may not open handles here"; done
else
	expect_eq "kept: kept" "$(grep ^kept "$tmp/out")" "a handle opens its file"
	expect_eq "renamed: kept" "$(grep ^renamed "$tmp/out")" "a handle opens its file by any name"
	expect_eq "gone:" "$(grep ^gone "$tmp/out")" "a handle of a removed file opens no other"
	expect_eq 0 $rc "each handle is tried"
fi
umount_ckptfs

# SPDX-License-Identifier: Apache-2.0
"""Makes 300 files whose names lie in pages of a file of the same mount, which two threads have the kernel forget.

usage: names_in_pages.py MOUNT

Prints how many were made, and how many are listed."""
import ctypes, os, sys, threading
mnt, many = sys.argv[1], 300
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
os.mkdir(mnt + "/named")
with open(mnt + "/names", "wb") as f:
    for i in range(many):
        f.write(f"{mnt}/named/{i}".encode().ljust(4096, b"\0"))
fd, size = os.open(mnt + "/names", os.O_RDONLY), ctypes.c_size_t(many * 4096)
names = libc.mmap(None, size, 1, 1, fd, ctypes.c_long(0))
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
def forget():
    while True:
        libc.madvise(ctypes.c_void_p(names), size, 4)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
for _ in range(2):
    threading.Thread(target=forget, daemon=True).start()
made = 0
for i in range(many):
    new = libc.open(ctypes.c_void_p(names + i * 4096), os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o644)
    made += new >= 0
    os.close(new)
print(made, len(os.listdir(mnt + "/named")), flush=True)
os._exit(0)

# SPDX-License-Identifier: Apache-2.0
"""Kills a writer whose child, which has become another user, has written to its file as well, and has the child close
that after the writer. Meanwhile 60 other processes of the writer's user close one descriptor after the other.

usage: kill_order.py DIRECTORY UID"""
import mmap, os, sys, time
where, uid, many = sys.argv[1], int(sys.argv[2]), 60

def create(name):
    fd = os.open(f"{where}/{name}", os.O_WRONLY | os.O_CREAT, 0o644)
    os.write(fd, b"x")
    return fd

def fork(child):
    pid = os.fork()
    if not pid:
        try:
            child()
        finally:
            os._exit(0)
    return pid

closed, written, close = (os.pipe() for _ in range(3))
over = mmap.mmap(-1, 1)

def one_of_many(i):
    fd = create(f"other{i}")
    copies = [os.dup(fd) for _ in range(200)]
    while copies and not over[0]:
        os.write(fd, b"x")
        os.close(copies.pop())
        os.write(closed[1], b"x")

def inherit(fd):
    os.setgid(uid)
    os.setuid(uid)
    os.write(fd, b"y")
    os.write(written[1], b"%d\n" % os.getpid())
    os.read(close[0], 1)
    try:
        os.close(fd)
    except InterruptedError:
        print("the close says that nothing was published")

def write():
    fd = create("killed")
    fork(lambda: inherit(fd))
    time.sleep(1000)

def state(pid):
    with open(f"/proc/{pid}/stat") as f:
        return f.read().rpartition(")")[2].split()[0]

# Its descriptors are gone, and it waits for their closes.
def is_closing(pid):
    try:
        return not os.listdir(f"/proc/{pid}/fd") and state(pid) != "R"
    except OSError:
        return True

writer = fork(write)
heir = int(os.read(written[0], 20))
others = [fork(lambda: one_of_many(i)) for i in range(many)]
for _ in others:
    os.read(closed[0], 1)
os.kill(writer, 9)
while not is_closing(writer):
    pass
os.write(close[1], b"x")
os.waitpid(writer, 0)
while os.path.exists(f"/proc/{heir}"):
    time.sleep(0.01)
over[0] = 1
for _ in others:
    os.wait()

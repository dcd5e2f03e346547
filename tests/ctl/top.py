# SPDX-License-Identifier: Apache-2.0
"""Plays a terminal for `ckptctl top`: prints the screens it drew, one file each, and its exit status.

usage: top.py FOLDER ROWSxCOLUMNS KEYS COMMAND...   (KEYS: after each key, which may be none, or '=ROWSxCOLUMNS' that the
terminal is resized to, the next screen is awaited)"""
import fcntl, os, pty, re, select, signal, struct, sys, termios, time

folder, size, keys, command = sys.argv[1], sys.argv[2], sys.argv[3].split(","), sys.argv[4:]


def resize(fd, text):
    rows, columns = map(int, text.split("x"))
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


pid, fd = pty.fork()
if not pid:
    resize(0, size)
    os.execvp(command[0], command)
text = b""
screens = 0


def read(until):
    global text
    while time.time() < until:
        ready, _, _ = select.select([fd], [], [], 0.2)
        if ready:
            try:
                more = os.read(fd, 65536)
            except OSError:
                return False
            text += more
            return True
    return True


def keep():
    """Waits for a whole screen that was drawn from now on: another follows it, or nothing for a second."""
    global text, screens
    until = time.time() + 30
    text = b""
    last, since = text, time.time()
    while time.time() < until:
        if text != last:
            last, since = text, time.time()
        drawn = text.split(b"\x1b[H")
        if len(drawn) > 2 or (len(drawn) == 2 and time.time() > since + 1):
            with open(f"{folder}/screen{screens}.raw", "wb") as f:
                f.write(drawn[1])
            with open(f"{folder}/screen{screens}", "wb") as f:
                f.write(re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", drawn[1]).replace(b"\r", b""))
            screens += 1
            return
        if not read(until):
            return


keep()
for key in keys:
    if key.startswith("="):
        resize(fd, key[1:])
        os.kill(pid, signal.SIGWINCH)
    else:
        os.write(fd, key.encode())
    if key != "q":
        keep()
text = b""
while read(time.time() + 30):
    if b"1049l" in text:
        break
_, status = os.waitpid(pid, 0)
print(os.waitstatus_to_exitcode(status), screens, "restored" if b"\x1b[?1049l" in text else "left")

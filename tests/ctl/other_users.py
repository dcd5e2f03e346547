# SPDX-License-Identifier: Apache-2.0
# other_users.py: sockets of another user's, for tests/ctl/other_users.sh: one says that it serves a mount, of an endpoint
# of its own and with nothing unpublished; others say nothing.
#
#   other_users.py DIR MOUNTPOINT URL ENDPOINT SILENT READY
import os
import socket
import sys

os.setgroups([])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
where, mountpoint, url, endpoint, silent, ready = sys.argv[1:]


def listen(name):
    s = socket.socket(socket.AF_UNIX)
    s.bind(os.path.join(where, name))
    s.listen(64)
    return s


held = [listen(f"{1000 + i}-1") for i in range(int(silent))]
fields = {"mountpoint": mountpoint, "url": url, "pid": 1, "state": "serving", "mounted_ms": 1, "writers": 0, "dirty": 0,
          "uploading": 0, "busy": 0}
text = "ok\n" + "".join(f"{name}\t{value}\n" for name, value in fields.items())
door = listen("1-1")
with open(ready, "w"):
    pass
while True:
    peer, _ = door.accept()
    request = peer.recv(4096)
    more = f"option\tendpoint\t{endpoint}\n" if request.startswith(b"options") else ""
    peer.sendall((text + more + "end\n").encode())
    peer.close()

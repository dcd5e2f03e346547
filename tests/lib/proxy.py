# SPDX-License-Identifier: Apache-2.0
"""An HTTP proxy that leads every request, whatever host it is for, to one server.

    proxy.py HOST:PORT LOG [PORT]

Prints "listening on 127.0.0.1:PORT", a free one if none is given, and notes in LOG the method and the target of each
request.
"""
import socket
import sys
import threading

LIMIT = 65536


def pump(source, target):
    try:
        while data := source.recv(LIMIT):
            target.sendall(data)
    except OSError:
        pass
    try:
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def serve(client, server_address, log):
    with client:
        head = b""
        while b"\r\n\r\n" not in head and len(head) < LIMIT:
            data = client.recv(LIMIT)
            if not data:
                return
            head += data
        line, rest = head.split(b"\r\n", 1)
        method, target, version = line.decode().split(" ")
        with open(log, "a") as f:
            print(method, target, file=f)
        with socket.create_connection(server_address) as server:
            if method == "CONNECT":
                client.sendall(b"HTTP/1.1 200 here it is\r\n\r\n")
            else:
                path = "/" + target.split("/", 3)[3] if target.count("/") > 2 else "/"
                server.sendall(f"{method} {path} {version}\r\nConnection: close\r\n".encode() + rest)
            back = threading.Thread(target=pump, args=(server, client), daemon=True)
            back.start()
            pump(client, server)
            back.join()


def main():
    host, port = sys.argv[1].rsplit(":", 1)
    own_port = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    with socket.create_server(("127.0.0.1", own_port)) as door:
        print("listening on 127.0.0.1:%d" % door.getsockname()[1], flush=True)
        while True:
            client, _ = door.accept()
            args = (client, (host, int(port)), sys.argv[2])
            threading.Thread(target=serve, args=args, daemon=True).start()


main()

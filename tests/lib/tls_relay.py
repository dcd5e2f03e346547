# SPDX-License-Identifier: Apache-2.0
"""The TLS side of a server that speaks HTTP alone, with the habits of a difficult one.

    tls_relay.py HOST:PORT CERTIFICATE KEY VERSION LOG [PORT]

VERSION is TLSv1_2 or TLSv1_3. Replies arrive as the network may bring them: many records of odd sizes at once, and
then nothing. Prints "listening on 127.0.0.1:PORT", a free one if none is given, and notes in LOG "full" or "resumed"
for each connection.
"""
import select
import socket
import ssl
import sys
import threading

BURST, QUIET, SIZES = 96 << 10, 0.02, (1, 16384, 100, 5000, 16384, 16384)


class Relay:
    def __init__(self, argv):
        host, port = argv[1].rsplit(":", 1)
        self.server, self.log = (host, int(port)), argv[5]
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(argv[2], argv[3])
        version = getattr(ssl.TLSVersion, argv[4])
        self.context.minimum_version = self.context.maximum_version = version


class Connection:
    def __init__(self, relay, client):
        self.relay, self.client = relay, client
        self.bytes_in, self.bytes_out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = relay.context.wrap_bio(self.bytes_in, self.bytes_out, server_side=True)
        self.turn = 0

    def flush(self):
        if data := self.bytes_out.read():
            self.client.sendall(data)

    def receive(self):
        data = self.client.recv(1 << 16)
        self.bytes_in.write(data)
        return bool(data)

    def shake_hands(self):
        while True:
            try:
                self.tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                self.flush()
                if not self.receive():
                    return False
        self.flush()
        with open(self.relay.log, "a") as f:
            print("resumed" if self.tls.session_reused else "full", file=f)
        return True

    def send(self, data):
        while data:
            n = SIZES[self.turn % len(SIZES)]
            self.turn += 1
            self.tls.write(data[:n])
            data = data[n:]
        self.flush()

    def plain(self):
        """What the client sent and is decrypted; None at its end."""
        data = b""
        try:
            while piece := self.tls.read(1 << 16):
                data += piece
            return data or None
        except ssl.SSLWantReadError:
            return data

    def forward(self, server):
        """Hands on what the client sent; false when there is nothing to go on with."""
        data = self.plain()
        if data:
            server.sendall(data)
        return data is not None

    def serve(self, server):
        waiting, on = b"", self.forward(server) # a request may come with the handshake's last word
        while on:
            ready = select.select([self.client, server], [], [], QUIET if waiting else None)[0]
            if self.client in ready:
                on = self.receive() and self.forward(server)
            if server in ready:
                data = server.recv(1 << 16)
                waiting += data
                if not data:
                    self.send(waiting)
                    on = False
            if on and waiting and (len(waiting) >= BURST or not ready):
                self.send(waiting)
                waiting = b""


def serve(relay, client):
    try:
        with client, socket.create_connection(relay.server) as server:
            connection = Connection(relay, client)
            if connection.shake_hands():
                connection.serve(server)
    except OSError: # of TLS, too: who does not trust us goes
        pass


def main():
    relay = Relay(sys.argv)
    own_port = int(sys.argv[6]) if len(sys.argv) > 6 else 0
    with socket.create_server(("127.0.0.1", own_port)) as door:
        print("listening on 127.0.0.1:%d" % door.getsockname()[1], flush=True)
        while True:
            client, _ = door.accept()
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=serve, args=(relay, client), daemon=True).start()


main()

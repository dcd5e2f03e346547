# SPDX-License-Identifier: Apache-2.0
"""A server of S3 whose listings never end: endless.py FILE writes its address to FILE.

What is below round/ comes in pages that begin again after the third; below new/ there is always another record of a
change, with a long name. Other requests find nothing.
"""
import http.server
import sys
import urllib.parse

PAGE = 1000


def listing(query):
    prefix = query.get("prefix", [""])[0]
    turn = int(query.get("continuation-token", ["0"])[0])
    goes_round = prefix.startswith("round/")
    begin = 0 if goes_round else turn * PAGE
    following = (turn + 1) % 3 if goes_round else turn + 1
    names = (str(i).zfill(9 if goes_round else 990) for i in range(begin, begin + PAGE))
    keys = "".join(f"<Contents><Key>{prefix}{name}</Key><Size>1</Size></Contents>" for name in names)
    if not goes_round and not prefix.endswith("/kept/"):
        return b"<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>"
    return (
        f"<ListBucketResult><IsTruncated>true</IsTruncated>{keys}"
        f"<NextContinuationToken>{following}</NextContinuationToken></ListBucketResult>"
    ).encode()


class Endless(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def reply(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        if "uploads" in urllib.parse.urlsplit(self.path).query:
            self.reply(200, b"<ListMultipartUploadsResult><IsTruncated>false</IsTruncated></ListMultipartUploadsResult>")
        elif "list-type" in query:
            self.reply(200, listing(query))
        else:
            self.reply(404, b"")

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endless) as server:
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        print(f"http://127.0.0.1:{server.server_address[1]}", file=file)
    server.serve_forever()

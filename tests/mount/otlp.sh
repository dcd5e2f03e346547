#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# otlp.sh: a collector of OpenTelemetry gets the metrics of a mount, as metrics.def names them.
. "$srcdir/tests/lib/mount.sh"
need_fuse
plan 26
start_store
python=$CKPTFS_PEERS/clients/bin/python
"$python" -c 'import opentelemetry.proto' 2>/dev/null || python=python3

# A collector: keeps each body in a file, and answers as the file `says` has it.
cat >"$tmp/collector.py" <<'END'
import email.utils, http.server, os, sys, time

class Collector(http.server.BaseHTTPRequestHandler):
    n = 0

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        Collector.n += 1
        name = f"{sys.argv[1]}/{Collector.n:04d}"
        with open(name + ".part", "wb") as f:
            f.write(body)
        with open(name + ".head", "w") as f:
            print(self.path, self.headers["Content-Type"], file=f)
        with open(name + ".more", "w") as f:
            print(time.monotonic(), *(self.headers.get(n, "-") for n in ("api-key", "x-team")), file=f)
        os.rename(name + ".part", name + ".json")
        says = open(sys.argv[1] + "/says").read().strip().split(" ", 1)
        while says[0] == "nothing" and os.path.exists(sys.argv[1] + "/hangs"):
            time.sleep(0.1)
        status = 200 if says[0] == "nothing" else int(says[0])
        reply = (says[1] if len(says) > 1 else "{}").encode()
        self.send_response(status)
        after = open(sys.argv[1] + "/after").read().split() if os.path.exists(sys.argv[1] + "/after") else []
        if after:
            until = email.utils.formatdate(time.time() + float(after[1]), usegmt=True) if after[0] == "date" else after[0]
            self.send_header("Retry-After", until)
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *args):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
with open(sys.argv[1] + "/port.part", "w") as f:
    print(server.server_port, file=f)
os.rename(sys.argv[1] + "/port.part", sys.argv[1] + "/port")
server.serve_forever()
END

# What a request has, by the types of OpenTelemetry where those are installed.
cat >"$tmp/look.py" <<'END'
import json, re, sys

text = open(sys.argv[1]).read()
table = open(sys.argv[2]).read()
try:
    from google.protobuf import json_format
    from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2
    message = json_format.Parse(text, metrics_service_pb2.ExportMetricsServiceRequest())
    said = json.loads(json_format.MessageToJson(message))
except ImportError:
    said = json.loads(text)
(of,) = said["resourceMetrics"]
(scoped,) = of["scopeMetrics"]
attributes = {a["key"]: a["value"]["stringValue"] for a in of["resource"]["attributes"]}
metrics = {m["name"]: m for m in scoped["metrics"]}
want = [f"ckptfs_{n}" for n in re.findall(r"^METRIC(?:_TIMES|_REPLIES)?\((\w+),", table, re.M)]
odd = []
if sorted(want) != sorted(m["name"] for m in scoped["metrics"]):
    odd.append("names")
for name, kind in re.findall(r"^METRIC\((\w+), (\w+),", table, re.M):
    m = metrics[f"ckptfs_{name}"]
    if (kind == "COUNTER") != ("sum" in m) or (kind == "GAUGE") != ("gauge" in m):
        odd.append(name)
for m in metrics.values():
    data = m.get("sum") or m.get("gauge") or m["histogram"]
    if "gauge" not in m and data["aggregationTemporality"] not in (2, "AGGREGATION_TEMPORALITY_CUMULATIVE"):
        odd.append(m["name"] + " temporality")
    if "sum" in m and not data["isMonotonic"]:
        odd.append(m["name"] + " monotonic")
    for p in data.get("dataPoints", []):
        if not 0 < int(p["startTimeUnixNano"]) <= int(p["timeUnixNano"]):
            odd.append(m["name"] + " times")
        if "histogram" in m:
            counts = [int(n) for n in p["bucketCounts"]]
            if len(counts) != len(p["explicitBounds"]) + 1 or sum(counts) != int(p["count"]):
                odd.append(m["name"] + " buckets")
value = lambda name: metrics[name]["sum"]["dataPoints"][0]["asInt"]
flush = [p for p in metrics["ckptfs_fuse_request"]["histogram"].get("dataPoints", [])
         if {"key": "operation", "value": {"stringValue": "flush"}} in p["attributes"]]
for name, m in metrics.items():
    for point in next(m[k] for k in ("sum", "gauge", "histogram") if k in m).get("dataPoints", []):
        labels = {a["key"]: a["value"]["stringValue"] for a in point["attributes"]}
        if labels.get("mount") != attributes["mount"] or labels.get("bucket") != attributes["bucket"]:
            odd.append(name + " without labels")
if attributes.get("service.instance.id") != attributes.get("host.name", "") + ":" + attributes["mount"]:
    odd.append("nobody")
print("odd:" + " ".join(odd))
print(attributes["service.name"], attributes["mount"], attributes["bucket"], attributes.get("cluster"))
print("written", value("ckptfs_written_bytes"), metrics["ckptfs_written_bytes"]["unit"], metrics["ckptfs_requests"]["unit"],
      "flushes", len(flush))
END
look() { "$python" "$tmp/look.py" "$1" "$srcdir/fs/base/metrics.def"; }

mkdir "$tmp/got"
echo 200 >"$tmp/got/says"
spawn python3 "$tmp/collector.py" "$tmp/got"
wait_for 30 test -e "$tmp/got/port"
url=http://127.0.0.1:$(cat "$tmp/got/port")
unset http_proxy HTTP_PROXY
newest() { find "$tmp/got" -name '*.json' | sort | tail -n 1; }
exports() { find "$tmp/got" -name '*.json' | wc -l; }

mount_ckptfs "metrics_otlp=$url" metrics_interval=1s 'metrics_label=cluster=a"b\c'
printf 12345 >"$mnt/file"
has_written() { [ -n "$(newest)" ] && look "$(newest)" 2>/dev/null | grep -q "^written $1 "; }
check "the collector gets what was written, again and again" wait_for 60 has_written 5
look "$(newest)" >"$tmp/said" 2>&1
expect_eq "odd:" "$(sed -n 1p "$tmp/said")" "each metric of the table is exported once, with its kind, times and buckets"
expect_eq "ckptfs $mnt $CKPTFS_TEST_BUCKET a\"b\\c" "$(sed -n 2p "$tmp/said")" \
	"mount, bucket and the label that was given are attributes of the resource"
expect_eq "written 5 By {requests} flushes 1" "$(sed -n 3p "$tmp/said")" "units are those of UCUM, and times are by operation"
expect_eq "/v1/metrics application/json" "$(cat "$(newest | sed 's/json$/head/')")" "the metrics are JSON, at the usual path"

# Collectors that do not take them.
echo 503 >"$tmp/got/says"
n=$(exports)
more_exports() { [ "$(exports)" -ge $((n + 4)) ]; }
wait_for 60 more_exports
expect_eq 1 "$(grep -c 'warning: metrics_otlp=.*it says 503: see the collector.s log' "$mount_log")" \
	"a collector that refuses is said to, once, and asked again"
expect_log 'it says 503'
echo 200 >"$tmp/got/says"
check "a collector that takes them again is said to" wait_for 60 grep -q 'the collector takes the metrics again' "$mount_log"
# A collector that asks to be left alone, in seconds or until a date, for longer than the next export is away.
left_alone() { # SECONDS RETRY-AFTER
	rm -f "$tmp/got/"*.more
	echo "$2" >"$tmp/got/after"
	n=$(exports) again=$(grep -c 'takes the metrics again' "$mount_log")
	echo 429 >"$tmp/got/says"
	wait_for 60 refused_twice
	rm "$tmp/got/after"
	echo 200 >"$tmp/got/says"
	wait_for 60 awk -v least="$1" 'NR > 1 && $1 - was >= least { found = 1 } { was = $1 } END { exit !found }' \
		"$tmp/got/"*.more || return 1
	wait_for 60 taken_again
}
refused_twice() { [ "$(exports)" -ge $((n + 2)) ]; }
taken_again() { [ "$(grep -c 'takes the metrics again' "$mount_log")" -gt "$again" ]; }
check "a collector that asks for seconds without a request gets none" left_alone 3 3
check "a collector that asks for none until a date gets none" left_alone 5 'date 6'
expect_log 'it says 429'
# advised STATUS REMEDY: what the log advises when the collector replies with that.
advised() {
	again=$(grep -c 'takes the metrics again' "$mount_log")
	echo "$1" >"$tmp/got/says"
	wait_for 60 grep -q "warning: metrics_otlp=.*: $2" "$mount_log" || return 1
	echo 200 >"$tmp/got/says"
	wait_for 60 taken_again
}
check "a collector that wants a key is said to, and where it goes" \
	advised 401 "it says 401: put the collector's key into OTEL_EXPORTER_OTLP_HEADERS"
expect_log 'it says 401'
check "a URL that is no collector's is said to" advised 404 'it says 404: correct the URL'
expect_log 'it says 404'
echo '200 {"partialSuccess": {"rejectedDataPoints": "1", "errorMessage": "too old"}}' >"$tmp/got/says"
check "what a collector does not take of an export is said" wait_for 60 grep -q 'it did not take all: too old' "$mount_log"
expect_eq 0 "$(grep -c 'too old: start the collector' "$mount_log")" "a collector that took a part need not be started"
expect_log 'it did not take all'
echo nothing >"$tmp/got/says"
: >"$tmp/got/hangs"
n=$(exports)
hangs() { [ "$(exports)" -gt "$n" ]; }
wait_for 60 hangs
expect_eq "ok ok ok" "$(fdo open wct "$mnt/beside" write 100 close)" "files are written while the collector does not answer"
umount_ckptfs "a mount ends although the collector does not answer"
rm "$tmp/got/hangs"
echo 200 >"$tmp/got/says"

mount_ckptfs "metrics_otlp=$url/other/path" metrics_interval=1h
printf 1234567 >"$mnt/last"
umount_ckptfs
expect_eq "written 7" "$(look "$(newest)" | sed -n '3s/ By.*//p')" "the end of a mount is exported"
expect_eq "/other/path application/json" "$(cat "$(newest | sed 's/json$/head/')")" "a path that is given is the collector's"

mkdir -p "$mnt"
timeout 60 "$builddir/ckptfs" -o "endpoint=$CKPTFS_TEST_ENDPOINT,metrics_otlp=127.0.0.1:4318" \
	"$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET" "$mnt" >"$tmp/out" 2>&1
expect_eq "1 1" "$? $(grep -c "metrics_otlp=127.0.0.1:4318: give the collector's URL" "$tmp/out")" "a collector without a scheme is refused"
timeout 60 "$builddir/ckptfs" -o "endpoint=$CKPTFS_TEST_ENDPOINT,metrics_otlp=$url?key=secret" \
	"$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET" "$mnt" >"$tmp/out" 2>&1
expect_eq "1 1 0" "$? $(grep -c 'with a user or a query' "$tmp/out") $(grep -c secret "$tmp/out")" \
	"a URL with a key is refused, and not shown"
echo '200 {"partialSuccess": {"rejectedDataPoints": "3"}}' >"$tmp/got/says"
mount_ckptfs "metrics_otlp=$url" metrics_interval=1s
check "an export of which a part is rejected is said to without a reason" \
	wait_for 60 grep -q 'it did not take all: it does not say why' "$mount_log"
expect_log 'it did not take all'
umount_ckptfs

# What a collector wants to be sent, by the variables of OpenTelemetry.
echo 200 >"$tmp/got/says"
export OTEL_EXPORTER_OTLP_HEADERS='api-key=general'
export OTEL_EXPORTER_OTLP_METRICS_HEADERS=' api-key = a%20secret%3D , x-team=train'
mount_ckptfs "metrics_otlp=$url" metrics_interval=1h
umount_ckptfs "a mount with headers for its collector warns of nothing"
expect_eq "a secret= train" "$(cut -d ' ' -f 2- "$(newest | sed 's/json$/more/')")" \
	"the collector gets the headers that are set for metrics, decoded"
export OTEL_EXPORTER_OTLP_METRICS_HEADERS='api-key=a%0d%0asecret'
timeout 60 "$builddir/ckptfs" -o "endpoint=$CKPTFS_TEST_ENDPOINT,metrics_otlp=$url" \
	"$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET" "$mnt" >"$tmp/out" 2>&1
expect_eq "1 1 0" "$? $(grep -c 'OTEL_EXPORTER_OTLP_METRICS_HEADERS has a value with' "$tmp/out") $(grep -c secret "$tmp/out")" \
	"headers that cannot be are refused, and not shown"
export OTEL_EXPORTER_OTLP_METRICS_HEADERS='api-key='
timeout 60 "$builddir/ckptfs" -o "endpoint=$CKPTFS_TEST_ENDPOINT,metrics_otlp=$url" \
	"$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET" "$mnt" >"$tmp/out" 2>&1
expect_eq "1 1" "$? $(grep -c 'OTEL_EXPORTER_OTLP_METRICS_HEADERS has a header without a value' "$tmp/out")" \
	"a header without a value is refused"

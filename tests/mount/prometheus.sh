#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# prometheus.sh: a real Prometheus gets the metrics of a mount that works; the dashboard and the alerts of
# conf/prometheus ask it for what there is.
. "$srcdir/tests/lib/mount.sh"
need_fuse
grep -q '^#define HAVE_LIBMICROHTTPD 1' "$builddir/config.h" || lacks deep "ckptfs is built without libmicrohttpd"
for tool in prometheus promtool curl python3; do
	command -v $tool >/dev/null || lacks deep "$tool is not installed"
done
plan 9
conf=$srcdir/conf/prometheus
cp "$conf/prometheus.yaml" "$conf/ckptfs.rules.yaml" "$srcdir/tests/mount/prometheus.rules.yaml" "$tmp"
check "promtool takes the sample configuration and its rules" promtool check config "$tmp/prometheus.yaml"
check "each alert fires when it is to, and not before" promtool test rules "$tmp/prometheus.rules.yaml"
check "each alert has a test" sh -c 'sed -n "s/.*- alert: //p" "$1" | sort >"$3" && [ -s "$3" ] &&
	grep -o "alertname: Ckptfs[A-Za-z]*" "$2" | sed "s/.* //" | sort -u | diff "$3" -' sh \
	"$tmp/ckptfs.rules.yaml" "$tmp/prometheus.rules.yaml" "$tmp/alerts"

start_store
mount_ckptfs metrics=127.0.0.1:0
wait_for 10 grep -q 'served at port' "$mount_log"
port=$(sed -n 's/.*metrics are served at port //p' "$mount_log")

# It is told of port 0 only what it listens at, by its log.
sed "s/127.0.0.1:9469/127.0.0.1:$port/; s/scrape_interval: .*/scrape_interval: 1s/" "$conf/prometheus.yaml" >"$tmp/prometheus.yaml"
free=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
spawn env -u http_proxy -u HTTP_PROXY prometheus --config.file="$tmp/prometheus.yaml" --storage.tsdb.path="$tmp/tsdb" \
	--web.listen-address="127.0.0.1:$free" >"$tmp/prometheus.log" 2>&1
ask() { curl -sS --max-time 30 --noproxy 127.0.0.1 -G --data-urlencode "query=$1" "http://127.0.0.1:$free/api/v1/query"; }
is_up() { ask 'up == 1' | grep -q "127.0.0.1:$port"; }
check "a Prometheus that runs gets the metrics" wait_for 60 is_up || diag "$(tail -n 5 "$tmp/prometheus.log")"

# Work of every sort, until two samples of it are there.
work() {
	head -c 6000000 /dev/zero >"$mnt/big" && cat "$mnt/big" >"$mnt/copy" && mkdir -p "$mnt/dir" && ls -l "$mnt" &&
		mv "$mnt/copy" "$mnt/dir/$1" && rm "$mnt/dir/$1" && stat "$mnt/none$1"
	true
}
turn=0
seen() {
	turn=$((turn + 1))
	work "$turn" >/dev/null 2>&1
	ask 'min by (job) (count_over_time(ckptfs_store_request_seconds_count{operation="put"}[1m]) > 3)' | grep -q ckptfs
}
check "Prometheus keeps samples while the mount works" wait_for 60 seen

cat >"$tmp/queries.py" <<'END'
import json, subprocess, sys
def queries(o):
    if isinstance(o, dict):
        if "expr" in o:
            yield o["expr"]
        for v in o.values():
            yield from queries(v)
    elif isinstance(o, list):
        for v in o:
            yield from queries(v)
kind, path, at = sys.argv[1:]
if kind == "dashboard":
    exprs = list(queries(json.load(open(path))))
else:
    exprs = [l.split("expr: ", 1)[1].strip() for l in open(path) if "expr: " in l]
bad = 0
for expr in exprs:
    asked = expr.replace("$mount", ".*").replace("$__rate_interval", "1m").replace("$__range", "1h")
    out = subprocess.run(["curl", "-sS", "--max-time", "30", "--noproxy", "127.0.0.1", "-G", "--data-urlencode",
                          "query=" + asked, at], capture_output=True, text=True).stdout
    reply = json.loads(out)
    values = [s["value"][1] for s in reply["data"]["result"]] if reply["status"] == "success" else []
    if reply["status"] != "success" or (kind == "dashboard" and not any(v != "NaN" for v in values)):
        bad += 1
        print(asked, "->", out[:300])
print(len(exprs), "queries")
sys.exit(1 if bad or len(exprs) < 10 else 0)
END
check "every query of the dashboard finds samples" python3 "$tmp/queries.py" dashboard "$conf/dashboard.json" \
	"http://127.0.0.1:$free/api/v1/query"
names() { curl -sS --max-time 30 --noproxy 127.0.0.1 "http://127.0.0.1:$free/api/v1/label/__name__/values"; }
expect_eq "" "$(names | grep -o '"ckptfs_[a-z_]*"' | sed 's/"//g; s/_\(bucket\|count\|sum\)$//' | sort -u |
	tee "$tmp/kept" | while read -r name; do grep -q "$name\(_bucket\|_count\|\)[^a-z_]" "$conf/dashboard.json" || echo "$name"; done
	[ -s "$tmp/kept" ] || echo 'no metrics')" "the dashboard shows each metric"
check "every query of an alert can be asked" python3 "$tmp/queries.py" rules "$conf/ckptfs.rules.yaml" \
	"http://127.0.0.1:$free/api/v1/query"
umount_ckptfs

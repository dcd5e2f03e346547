# SPDX-License-Identifier: Apache-2.0
# speed.awk: the speed table from the lines "figure, system, value" of speed.sh; the median counts.

BEGIN { FS = "\t" }
{ v[$1, $2, ++n[$1, $2]] = $3; if (!($2 in seen)) { seen[$2]; order[++systems] = $2 } }

function median(what, who,    i, j, t, k, a) {
	k = n[what, who]
	if (!k) return ""
	for (i = 1; i <= k; i++) a[i] = v[what, who, i] + 0
	for (i = 2; i <= k; i++)
		for (j = i; j > 1 && a[j - 1] > a[j]; j--) { t = a[j]; a[j] = a[j - 1]; a[j - 1] = t }
	return k % 2 ? a[(k + 1) / 2] : (a[k / 2] + a[k / 2 + 1]) / 2
}

# One line: what, the figure, what it must reach (if anything), its aim; `less` when smaller is better.
function line(what, figure, unit, must, aim, less,    ok) {
	if (figure == "") return
	ok = less ? figure <= must : figure >= must
	printf "%-48s %8.2f %-9s %8s %8s  %s\n", what, figure, unit, must, aim, must == "" ? "" : ok ? "reached" : "MISSED"
}

# What system a does over what b does, there or in another row.
function ratio(what, a, b, other,    x, y) { x = median(what, a); y = median(other ? other : what, b); return y > 0 ? x / y : "" }
function share(what,    l) { l = median("limit " what, "machine"); return l > 0 ? median(what, "ckptfs") / l : "" }

END {
	printf "%-48s %8s %-9s %8s %8s\n", "what", "figure", "unit", "must", "aim"
	line("one file, write", median("write", "ckptfs"), "GB/s", 2.4, 3.4)
	line("one file, write, over Mountpoint", ratio("write", "ckptfs", "mount-s3"), "x", 2.5, "")
	line("one file, read", median("read", "ckptfs"), "GB/s", 1.9, 2.6)
	line("one file, read, over Mountpoint", ratio("read", "ckptfs", "mount-s3"), "x", 2.5, "")
	line("one file, write in blocks of 64 KiB", median("write 64K", "ckptfs"), "GB/s", 1.6, 2.4)
	line("one file, write in blocks of 4 KiB", median("write 4K", "ckptfs"), "GB/s", 0.30, 0.38)
	line("four files at once, write", median("four write", "ckptfs"), "GB/s", 2.4, 3.2)
	line("four files at once, read", median("four read", "ckptfs"), "GB/s", 2.0, 2.6)
	line("CPU of the daemon, write", median("write.cpu", "ckptfs"), "CPU-s/GB", 0.45, 0.35, 1)
	line("CPU of the daemon, read", median("read.cpu", "ckptfs"), "CPU-s/GB", 0.50, 0.40, 1)
	line("share of the limit, write", share("write"), "", 0.75, 0.9)
	line("share of the limit, read", share("read"), "", 0.75, 0.9)
	line("50 MB/s a connection, 20 ms: write, over direct", ratio("rate write", "mount", "s3"), "x", 0.95, 0.98)
	line("50 MB/s a connection, 20 ms: read, over direct", ratio("rate read", "mount", "s3"), "x", 0.95, 0.98)
	line("peak RSS, one 32 GiB file, memory=512M", median("rss 32 GiB file", "ckptfs"), "MiB", 640, 560, 1)
	line("peak RSS, 16 files of 1 GiB, memory=512M", median("rss 16 files", "ckptfs"), "MiB", 640, 560, 1)
	line("first byte, over the store's own", median("first byte over store", "ckptfs"), "ms", 1, 0.3, 1)
	line("HTTPS, one file, write", median("tls write", "ckptfs"), "GB/s", 1.0, 1.5)
	line("HTTPS, one file, read", median("tls read", "ckptfs"), "GB/s", 1.0, 1.3)
	line("ls -l of 100,000 objects, over libstore", median("ls over libstore", "ckptfs"), "x", 2, 1.2, 1)
	line("one file by eight readers, over four files", ratio("threads read", "ckptfs", "ckptfs", "four read"), "x", 0.9, "")
	line("a size set first, over plain writes", ratio("uptrunc", "ckptfs", "ckptfs", "plain"), "x", 0.95, "")
	line("10,000 files of 4 KiB, 16 threads, over libstore", median("small over libstore", "ckptfs"), "x", 0.8, "")
	line("rename of 10,000 objects, over round trips", median("rename over round trips", "ckptfs"), "x", 1.3, "", 1)
	line("append of 1 KiB and fsync: time", median("append seconds", "ckptfs"), "s")
	line("append of 1 KiB and fsync: requests", median("append requests", "ckptfs"), "")
	line("append of 1 KiB and fsync: sent", median("append KiB", "ckptfs"), "KiB")
	line("find, 100,000 objects in 1,000 directories", median("find seconds", "ckptfs"), "s")
	line("gs: one file, write", median("gs write", "ckptfs"), "GB/s", 2.4, 3.4)
	line("gs: one file, read", median("gs read", "ckptfs"), "GB/s", 1.9, 2.6)
	line("gs: four files at once, write", median("gs four write", "ckptfs"), "GB/s", 2.4, 3.2)
	line("gs: four files at once, read", median("gs four read", "ckptfs"), "GB/s", 2.0, 2.6)
	line("gs: 50 MB/s a connection: write, over direct", ratio("gs rate write", "mount", "gcs"), "x", 0.95, 0.98)
	line("gs: 50 MB/s a connection: read, over direct", ratio("gs rate read", "mount", "gcs"), "x", 0.95, 0.98)
	line("gs: the same, one file, write, over gcsfuse", ratio("gs rate file", "ckptfs", "gcsfuse"), "x", 10, "")
	line("gs: 48 MiB, multipart upload over composed", ratio("gs upload few", "multipart", "compose"), "x")
	line("gs: 1 GiB, multipart upload over composed", ratio("gs upload many", "multipart", "compose"), "x")
	line("gs: 1 GiB, multipart upload over resumable", ratio("gs upload many", "multipart", "resumable"), "x")
	line("gs: 1 GiB, requests, multipart over composed", ratio("gs upload many requests", "multipart", "compose"), "x")
	line("gs: rename of 10,000 objects, over round trips", median("gs rename over round trips", "ckptfs"), "x", 1.3, "", 1)
	line("storage s3 over awscrt, save, GB/s a CPU-second", ratio("client save.cpu", "s3", "awscrt"), "x", 1.5, "")
	line("storage s3 over awscrt, load, GB/s a CPU-second", ratio("client load.cpu", "s3", "awscrt"), "x", 1.5, "")
	line("storage s3 over awscrt, save, GB/s", ratio("client save", "s3", "awscrt"), "x")
	line("storage s3 over awscrt, load, GB/s", ratio("client load", "s3", "awscrt"), "x")
	line("storage s3 over libs3, save, GB/s a CPU-second", ratio("client save.cpu", "s3", "libs3"), "x")
	line("storage s3 over libs3, load, GB/s a CPU-second", ratio("client load.cpu", "s3", "libs3"), "x")
	line("storage null over memcpy of the same bytes", median("null over memcpy", "machine"), "x", 0.9, "")
	line("async: blocked, over the staging copy", median("blocked over staged", "s3"), "x", 1.1, "", 1)
	line("restore=shared: fetched, over unique bytes", median("restore over unique", "s3"), "x", 1, "", 1)
	print ""
	printf "%-12s %8s %8s %8s %8s %8s %8s\n", "GB/s", "write", "read", "4 write", "4 read", "CPU w", "CPU r"
	for (i = 1; i <= systems; i++) {
		s = order[i]
		if (n["write", s])
			printf "%-12s %8.2f %8.2f %8.2f %8.2f %8.2f %8.2f\n", s, median("write", s), median("read", s), median("four write", s), median("four read", s), median("write.cpu", s), median("read.cpu", s)
	}
}

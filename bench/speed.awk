# SPDX-License-Identifier: Apache-2.0
# speed.awk: the speed table from the lines "figure, system, value" of speed.sh; the median counts.
# One table: ckptfs with the lowest and highest figure of its rounds, what must be reached, each peer that has the
# row with what ckptfs is over it, and the limit of the machine (ckptbench ceiling) with the share of it.

BEGIN { FS = "\t" }
{ v[$1, $2, ++n[$1, $2]] = $3; if (!($2 in seen)) { seen[$2]; order[++systems] = $2 } }

# Sorts the figures into sorted[1..k], and returns k.
function sort(what, who,    i, j, t, k) {
	k = n[what, who]
	for (i = 1; i <= k; i++) sorted[i] = v[what, who, i] + 0
	for (i = 2; i <= k; i++)
		for (j = i; j > 1 && sorted[j - 1] > sorted[j]; j--) { t = sorted[j]; sorted[j] = sorted[j - 1]; sorted[j - 1] = t }
	return k
}
function median(what, who,    k) {
	k = sort(what, who)
	return !k ? "" : k % 2 ? sorted[(k + 1) / 2] : (sorted[k / 2] + sorted[k / 2 + 1]) / 2
}
function spread(what, who,    k) {
	k = sort(what, who)
	return k > 1 ? sprintf("%.2f-%.2f", sorted[1], sorted[k]) : ""
}

# One line: what, the figure, its spread, what it must reach (if anything); `less` when smaller is better.
function line(what, figure, unit, must, less, range, others,    ok, text) {
	if (figure == "") return
	ok = less ? figure <= must : figure >= must
	text = sprintf("%-48s %7.2f %-11s %-8s %5s %-7s %s", what, figure, range, unit, must,
		must == "" ? "" : ok ? "reached" : "MISSED", others)
	sub(/ +$/, "", text)
	print text
}

# The line of a figure of ckptfs itself, with that of each peer and, where `limit` names one, the share of the limit.
function own(what, name, unit, must, less, limit,    i, x, l, others) {
	x = median(name, "ckptfs")
	for (i = 1; i <= peers; i++)
		others = others (n[name, peer[i]] ? sprintf(" %6.2f %5.2fx", median(name, peer[i]),
			median(name, peer[i]) > 0 ? x / median(name, peer[i]) : 0) : sprintf(" %13s", ""))
	l = limit == "" ? "" : median("limit " limit, "machine")
	if (l > 0) others = others sprintf(" %6.2f %5.2f", l, x / l)
	line(what, x, unit, must, less, spread(name, "ckptfs"), others)
}

# What system a does over what b does, there or in another row.
# Nothing where one of the two was not measured.
function ratio(what, a, b, other,    y) {
	y = median(other ? other : what, b)
	return n[what, a] && y > 0 ? median(what, a) / y : ""
}

END {
	for (i = 1; i <= systems; i++) # those that have files of their own
		if (order[i] != "ckptfs" && n["write", order[i]] + n["four write", order[i]]) peer[++peers] = order[i]
	heads = ""
	for (i = 1; i <= peers; i++) heads = heads sprintf(" %13s", peer[i])
	if (n["limit write", "machine"] && n["write", "ckptfs"] + n["four write", "ckptfs"]) heads = heads sprintf(" %6s %5s", "limit", "share")
	printf "%-48s %7s %-11s %-8s %5s %7s%s\n", "what", "ckptfs", "spread", "unit", "must", "", heads
	own("one file, write", "write", "GB/s", 2.4, "", "write")
	own("one file, read", "read", "GB/s", 1.9, "", "read")
	own("one file, write in blocks of 64 KiB", "write 64K", "GB/s", 1.6)
	own("one file, write in blocks of 4 KiB", "write 4K", "GB/s", 0.30)
	line("the same, over a null FUSE file system", ratio("write 4K", "ckptfs", "machine", "null write 4K"), "x", 3)
	own("four files at once, write", "four write", "GB/s", 2.4, "", "write")
	own("four files at once, read", "four read", "GB/s", 2.0, "", "read")
	own("CPU of the daemon, write", "write.cpu", "CPU-s/GB", 0.35, 1)
	own("CPU of the daemon, read", "read.cpu", "CPU-s/GB", 0.35, 1)
	line("50 MB/s a connection, 20 ms: write, over direct", ratio("rate write", "mount", "s3"), "x", 0.95)
	line("50 MB/s a connection, 20 ms: read, over direct", ratio("rate read", "mount", "s3"), "x", 0.95)
	own("peak RSS, one 32 GiB file, memory=512M", "rss 32 GiB file", "MiB", 640, 1)
	own("peak RSS, 16 files of 1 GiB, memory=512M", "rss 16 files", "MiB", 640, 1)
	own("first byte, over the store's own", "first byte over store", "ms", 0.3, 1)
	own("HTTPS, one file, write", "tls write", "GB/s", 1.0)
	own("HTTPS, one file, read", "tls read", "GB/s", 1.0)
	line("HTTPS over HTTP, one file, write", ratio("tls write", "ckptfs", "ckptfs", "write"), "x", 0.7)
	line("HTTPS over HTTP, one file, read", ratio("tls read", "ckptfs", "ckptfs", "read"), "x", 0.7)
	own("ls -l of 100,000 objects, over libstore", "ls over libstore", "x", 1.5, 1)
	own("the same where a request takes 20 ms", "ls over libstore, 20 ms", "x", 1.5, 1)
	line("one file by eight readers, over four files", ratio("threads read", "ckptfs", "ckptfs", "four read"), "x", 0.9)
	line("a size set first, over plain writes", ratio("uptrunc", "ckptfs", "ckptfs", "plain"), "x", 0.95)
	own("2,000 files of 4 KiB, 16 threads, over libstore", "small over libstore", "x", 0.8)
	own("the same where a request takes 20 ms", "small over libstore, 20 ms", "x", 0.8)
	own("rename of 10,000 objects, over round trips", "rename over round trips", "x", 1.3, 1)
	own("append of 1 KiB and fsync: time", "append seconds", "s")
	own("append of 1 KiB and fsync: requests", "append requests", "")
	own("append of 1 KiB and fsync: sent", "append KiB", "KiB")
	own("find, 100,000 objects in 1,000 directories", "find seconds", "s")
	own("gs: one file, write", "gs write", "GB/s", 2.4)
	own("gs: one file, read", "gs read", "GB/s", 1.9)
	own("gs: four files at once, write", "gs four write", "GB/s", 2.4)
	own("gs: four files at once, read", "gs four read", "GB/s", 2.0)
	line("gs: 50 MB/s a connection: write, over direct", ratio("gs rate write", "mount", "gcs"), "x", 0.95)
	line("gs: 50 MB/s a connection: read, over direct", ratio("gs rate read", "mount", "gcs"), "x", 0.95)
	line("gs: the same, one file, write, over gcsfuse", ratio("gs rate file", "ckptfs", "gcsfuse"), "x", 10)
	line("gs: 48 MiB, multipart upload over composed", ratio("gs upload few", "multipart", "compose"), "x")
	line("gs: 1 GiB, multipart upload over composed", ratio("gs upload many", "multipart", "compose"), "x")
	line("gs: 1 GiB, multipart upload over resumable", ratio("gs upload many", "multipart", "resumable"), "x")
	line("gs: 1 GiB, requests, multipart over composed", ratio("gs upload many requests", "multipart", "compose"), "x")
	own("gs: rename of 10,000 objects, over round trips", "gs rename over round trips", "x", 1.3, 1)
	line("storage s3 over awscrt, save, GB/s a CPU-second", ratio("client save.cpu", "s3", "awscrt"), "x", 1.5)
	line("storage s3 over awscrt, load, GB/s a CPU-second", ratio("client load.cpu", "s3", "awscrt"), "x", 1.5)
	line("storage s3 over awscrt, save, GB/s", ratio("client save", "s3", "awscrt"), "x")
	line("storage s3 over awscrt, load, GB/s", ratio("client load", "s3", "awscrt"), "x")
	line("storage s3 over libs3, save, GB/s a CPU-second", ratio("client save.cpu", "s3", "libs3"), "x")
	line("storage s3 over libs3, load, GB/s a CPU-second", ratio("client load.cpu", "s3", "libs3"), "x")
	line("storage null over memcpy of the same bytes", median("null over memcpy", "machine"), "x", 0.9)
	line("async: blocked, over the staging copy", median("blocked over staged", "s3"), "x", 1.1, 1)
	line("restore=shared: fetched, over unique bytes", median("restore over unique", "s3"), "x", 1, 1)
}

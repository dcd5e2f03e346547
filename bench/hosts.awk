# SPDX-License-Identifier: Apache-2.0
# hosts.awk: what N hosts ask of a store, by a model, beside what hosts.sh measured.
#
# A host has f files of s MiB, each of so many parts (or ranges that are read). A phase takes it q0 + qf * f + qp * parts
# requests, of reads and of writes, and t0 + tf * f + tm * MiB seconds. The three figures of each come from the three
# single mounts: of 1 file, of 2, and of 1 of twice the size. N hosts take N times the requests, and as long as the slowest of
# these: the host itself; the MiB of all, by the bandwidth of the store; in say_large() the reads and the writes of all, by
# the requests a second that the store takes of a prefix.
#
#   awk -f hosts.awk [-v large=1] hosts.tsv    large: what 16 to 1,024 hosts would take of S3, by the same parameters
BEGIN {
	FS = "\t"
	PART = 5 # MiB, as hosts.sh has them
	STORE["shared"] = 80 # MiB/s
}
function up(x) { return x == int(x) ? x : int(x) + 1 }
function most(a, b) { return a > b ? a : b }
# The three parameters of what `one`, `two` and `twice` were, where a file has n units.
function fit(key, one, two, twice, n) {
	unit[key] = (twice - one) / n
	file[key] = two - twice
	base[key] = one - file[key] - unit[key] * n
}
function of_host(key, files, n) { return base[key] + files * (file[key] + unit[key] * n) }

$3 == 1 {
	key = $1 SUBSEP $2
	n = ++single[key]
	size[key, n] = $5; t[key, n] = $6; r[key, n] = $7; w[key, n] = $8
	if (n == 3) {
		fit(key SUBSEP "t", t[key, 1], t[key, 2], t[key, 3], size[key, 1])
		fit(key SUBSEP "r", r[key, 1], r[key, 2], r[key, 3], up(size[key, 1] / PART))
		fit(key SUBSEP "w", w[key, 1], w[key, 2], w[key, 3], up(size[key, 1] / PART))
	}
	next
}
{
	key = $1 SUBSEP $2
	reads = $3 * of_host(key SUBSEP "r", $4, up($5 / PART))
	writes = $3 * of_host(key SUBSEP "w", $4, up($5 / PART))
	seconds = of_host(key SUBSEP "t", $4, $5)
	if ($1 in STORE)
		seconds = most(seconds, of_host(key SUBSEP "t", $4, 0) + $3 * $4 * $5 / STORE[$1])
	predicted = (reads + writes) / seconds
	measured = ($7 + $8) / $6
	if (!large)
		printf "%-8s %-8s %3d hosts  %7.1f requests/s measured  %7.1f predicted  %+4.0f %%\n", $1, $2, $3, measured,
			predicted, 100 * (predicted / measured - 1)
}

# 8 files of 1 GiB a host, 2 GiB/s a host; S3 takes 3,500 writes and 5,500 reads a second of a prefix.
function say_large(hosts, part,   phase, key, reads, writes, host, store, n) {
	printf "%5d hosts, parts and ranges of %3d MiB", hosts, part
	for (n = 1; n <= 3; n++) {
		phase = n == 1 ? "save" : n == 2 ? "load" : "restore"
		key = "free" SUBSEP phase
		reads = hosts * of_host(key SUBSEP "r", 8, up(1024 / part))
		writes = hosts * of_host(key SUBSEP "w", 8, up(1024 / part))
		host = of_host(key SUBSEP "t", 8, 0) + 8 * 1024 / 2048
		store = most(reads / 5500, writes / 3500)
		printf "  %s %.0f/s %.0f s (S3 %.0f s)", phase, (reads + writes) / host, host, store
	}
	print ""
}
END {
	for (hosts = 16; large && hosts <= 1024; hosts *= 8)
		for (part = 8; part <= 512; part *= 2)
			say_large(hosts, part)
}

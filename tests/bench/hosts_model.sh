#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hosts_model.sh: the model of many hosts finds the parameters that single mounts show, and what limits many.
. "$srcdir/tests/lib/tap.sh"
plan 4
model() { awk "$@" -f "$srcdir/bench/hosts.awk" "$tmp/figures"; }

# A host takes 2 reads, and 1 read and 2 writes for each file and 1 write for each part of 5 MiB; 1 s, 2 s for each file and
# 0.1 s for each MiB. The mounts are as the model says, but for 16 that share what the store has.
awk 'BEGIN {
	OFS = "\t"
	n = split("1 1 40,1 2 40,1 1 80,4 3 20,16 3 20", run, ",")
	for (c = 1; c <= 2; c++)
		for (i = 1; i <= n; i++) {
			split(run[i], v, " ")
			hosts = v[1]; files = v[2]; mib = v[3]
			reads = hosts * (2 + files); writes = hosts * files * (2 + mib / 5)
			own = 1 + files * (2 + 0.1 * mib)
			if (hosts == 16 && c == 2) own = 1 + files * 2 + hosts * files * mib / 80
			print c == 1 ? "free" : "shared", "save", hosts, files, mib, own, reads, writes
		}
}' >"$tmp/figures"
model >"$tmp/said"
diag "$(cat "$tmp/said")"
expect_eq 4 "$(wc -l <"$tmp/said")" "the single mounts are parameters, each other mount is predicted"
for case in free shared; do
	expect_eq "+0 +0" "$(awk -v c=$case '$1 == c { print $(NF - 1) }' "$tmp/said" | xargs)" \
		"what follows the model is predicted ($case)"
done
# 49,152 writes and 10,240 reads in 1 + 8 * 2 + 4 s; of writes S3 takes 3,500 a second.
expect_eq "save 2828/s 21 s (S3 14 s)" "$(model -v large=1 | sed -n 's/^ 1024 hosts.* 256 MiB  \(save.*\)  load.*/\1/p')" \
	"1,024 hosts are predicted from single mounts"

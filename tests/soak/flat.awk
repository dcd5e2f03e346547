# SPDX-License-Identifier: Apache-2.0
# flat.awk: what grew while one mount worked, of the samples of soak.c. The median of the last quarter of the time may
# be above that of the quarter before by no more than an allowance; a line for each column says both, and GROWS for
# what is more.
#
#	awk -f flat.awk SAMPLES
function median(from, to,    n, i, j, t, v) {
	for (i = from; i <= to; i++)
		v[++n] = value[i]
	for (i = 2; i <= n; i++)
		for (j = i; j > 1 && v[j - 1] > v[j]; j--) {
			t = v[j]
			v[j] = v[j - 1]
			v[j - 1] = t
		}
	return v[int((n + 1) / 2)]
}
BEGIN {
	# By how much each may be above, and by what share. The kernel forgets names when it likes, so that nodes go up
	# and down; those of which the programs have no name do not.
	more["heap_kib"] = 512; share["heap_kib"] = 0.05
	more["pool_kib"] = 2048; share["pool_kib"] = 0.05
	more["descriptors"] = 16; share["descriptors"] = 0
	more["threads"] = 0; share["threads"] = 0
	more["nameless"] = 4; share["nameless"] = 0
	more["log_bytes"] = 0; share["log_bytes"] = 0
}
NR == 1 { for (c = 1; c <= NF; c++) name[c] = $c; columns = NF; next }
$2 { rows++; for (c = 1; c <= NF; c++) cell[rows, c] = $c }
END {
	if (rows < 24) {
		print "too few samples: " rows + 0
		exit 1
	}
	for (first = 1; cell[first, 1] < cell[rows, 1] / 2; first++)
		;
	for (last = first; cell[last, 1] < cell[rows, 1] * 0.75; last++)
		;
	for (c = 3; c < columns; c++) {
		for (i = first; i <= rows; i++)
			value[i] = cell[i, c]
		was = median(first, last - 1)
		is = median(last, rows)
		grows = (name[c] in more) && is > was * (1 + share[name[c]]) + more[name[c]]
		bad += grows
		printf "%s %d %d%s\n", name[c], was, is, grows ? " GROWS" : ""
	}
	exit bad > 0
}

# SPDX-License-Identifier: Apache-2.0
# flat.awk: what grew while one mount worked, of the samples of soak.c: the medians of the last three sixths of the time
# are compared, and each may be above the one before by no more than an allowance. A line for each column says all three,
# and GROWS for what is more.
# The heap goes up and down by the buffers of one of curl's handles, 1 MiB, and makes a step of as much when more
# transfers run at once than ever before. So the level that a tenth of its samples exceeds is compared, and it grows when
# that is higher in the second of the three than in the first, and in the third than in the second.
#
#	awk -f flat.awk SAMPLES
function level(share, from, to,    n, i, j, t, v) {
	for (i = from; i <= to; i++)
		v[++n] = value[i]
	for (i = 2; i <= n; i++)
		for (j = i; j > 1 && v[j - 1] > v[j]; j--) {
			t = v[j]
			v[j] = v[j - 1]
			v[j - 1] = t
		}
	return v[int(share * (n - 1)) + 1]
}
function above(c, was, is) {
	return (name[c] in more) && is > was * (1 + share[name[c]]) + more[name[c]]
}
BEGIN {
	# By how much each may be above, and by what share. The kernel forgets names when it likes, so that nodes go up
	# and down; those of which the programs have no name do not.
	more["heap_kib"] = 256; share["heap_kib"] = 0.025; may_step["heap_kib"] = 1
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
	for (part = 0; part <= 3; part++) {
		begins[part] = part ? begins[part - 1] : 1
		while (begins[part] <= rows && (part == 3 || cell[begins[part], 1] < cell[rows, 1] * (3 + part) / 6))
			begins[part]++
	}
	for (c = 3; c < columns; c++) {
		for (i = begins[0]; i <= rows; i++)
			value[i] = cell[i, c]
		for (part = 0; part < 3; part++)
			m[part] = level(name[c] in may_step ? 0.9 : 0.5, begins[part], begins[part + 1] - 1)
		grows = above(c, m[1], m[2]) && (!(name[c] in may_step) || above(c, m[0], m[1]))
		bad += grows
		printf "%s %d %d %d%s\n", name[c], m[0], m[1], m[2], grows ? " GROWS" : ""
	}
	exit bad > 0
}

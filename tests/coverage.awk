# SPDX-License-Identifier: Apache-2.0
# coverage.awk: from llvm-cov's lcov report, a table of the rooms of fs/, and the file `missed`: what no
# test reached. -v top=DIR/ is the folder of the sources; status 1 when less is reached than -v lines=
# and -v branches= want, in percent.
function percent(part, all) { return all ? sprintf("%6.1f", 100 * part / all) : "     -" }
function row(name, k) {
	printf "%-22s %7d %s %8d %s\n", name, all_lines[k], percent(hit_lines[k], all_lines[k]), all_branches[k],
		percent(hit_branches[k], all_branches[k])
}
function count(all, hit, n, reached) {
	all[room] += n; all["fs"] += n; hit[room] += reached; hit["fs"] += reached
}
function end_of_range() {
	if (from) print "line " file ":" from (last > from ? "-" last : "") >missed
	from = 0
}

/^SF:/ {
	file = substr($0, 4)
	while (sub(/\/[^\/]+\/\.\.\//, "/", file)) { }
	ours = index(file, top "fs/") == 1
	file = substr(file, length(top) + 1)
	room = file
	sub(/\/[^\/]*$/, "", room)
	if (ours && !(room in seen)) rooms[++nrooms] = room
	seen[room] = 1
}
!ours { next }
/^FNDA:/ {
	split(substr($0, 6), f, ",")
	name = f[2]
	sub(/.*:/, "", name)
	entered[file ":" name] += f[1]
}
/^DA:/ {
	split(substr($0, 4), f, ",")
	count(all_lines, hit_lines, 1, f[2] > 0)
	if (f[2] > 0) end_of_range()
	else if (!from) from = f[1]
	last = f[1]
}
# Of each condition, the one way and the other.
/^BRDA:/ {
	n = split($0, f, ",")
	count(all_branches, hit_branches, 1, f[n] != "-" && f[n] > 0)
}
/^end_of_record/ { end_of_range() }

END {
	if (!nrooms) { print "coverage: nothing of fs/ was run" >"/dev/stderr"; exit 2 }
	for (name in entered) if (!entered[name]) { print "function " name >missed; never++ }
	printf "%-22s %7s %6s %8s %6s\n", "room", "lines", "%", "branches", "%"
	for (i = 1; i <= nrooms; i++) row(rooms[i], rooms[i])
	row("all of fs", "fs")
	printf "functions never entered: %d\n", never
	exit 100 * hit_lines["fs"] < lines * all_lines["fs"] || 100 * hit_branches["fs"] < branches * all_branches["fs"]
}

# SPDX-License-Identifier: Apache-2.0
# promises.awk: docs/promises.md, from the promises of a manual page and the tests that name them.
#
#	LC_ALL=C awk -f tests/docs/promises.awk man/ckptfs.1 tests/*/*.sh
#
# In the page a comment `.\" promise NAME` begins a promise, which ends with the next one or its paragraph. In a test
# a line `# promise: NAME, NAME` stands above the check that shows it. A promise without a test, and a test of no
# promise, are said on standard error, and the exit status is 1.
function fault(what) { print what >"/dev/stderr"; faults = 1 }

# A check's name: the first argument of most, the last of expect_eq and fdo_ends, which may be on the next line.
function name_of(line,    first, name) {
	first = line ~ /^[\t ]*(check|check_fails|check_is|same|skip|agree|changed|expect_requests|run|history_one|reads|told)[ _]/
	if (!match(line, first ? "\"[^\"]*\"" : "\"[^\"]*\"[^\"]*$")) return ""
	name = substr(line, RSTART + 1)
	sub(/".*/, "", name)
	sub(/^\$\{?[a-z_0-9]+\}?: /, "", name)
	sub(/ \(?\$\{?[a-z_0-9]+\}?\)?$/, "", name)
	if (line ~ /^[\t ]*expect_eq "/ && gsub(/"/, "\"", line) < 3) return "" # the result that is wanted
	return name !~ /^\$\(/ && name ~ /^['A-Za-z0-9$-][^|<>]* [A-Za-z$][^|<>]* / && name !~ /^(ok|E[A-Z]+|[dl-][rwxs-]+) / ? name : ""
}

# A line of mdoc as text.
function text_of(line,    n, w, i, out, joined, closing) {
	if (line !~ /^\./) { gsub(/\\&/, "", line); return line }
	n = split(substr(line, 2), w, " ")
	for (i = 1; i <= n; i++) {
		if (w[i] ~ /^(Er|Dv|Cm|Pa|Ic|Ev|Ar|No)$/) continue
		if (w[i] == "Nm") { out = out " ckptfs"; continue }
		if (w[i] == "Fl") { out = out " -"; joined = 1; continue }
		if (w[i] == "Xr") { out = out " " w[i + 1] "(" w[i + 2] ")"; i += 2; continue }
		if (w[i] == "Pq") { out = out " ("; joined = 1; closing = ")"; continue }
		if (w[i] ~ /^(Ql|Sq)$/) { out = out " '"; joined = 1; closing = "'"; continue }
		if (w[i] == "Po") { out = out " ("; joined = 1; continue }
		if (w[i] == "Pc") { out = out ")"; continue }
		if (w[i] == "Ns") { joined = 1; continue }
		if (w[i] ~ /^(Bl|El|Pp|It|Bq|Dl)$/) return ""
		if (i == n && w[i] ~ /^[,.;:)]$/) { out = out closing; closing = "" }
		out = out (joined || w[i] ~ /^[,.;:)]$/ ? "" : " ") w[i]
		joined = 0
	}
	out = out closing
	sub(/^ /, "", out)
	gsub(/\\&/, "", out)
	return out
}

FNR == 1 { page = FILENAME ~ /^man\// || FILENAME ~ /\/man\//; id = ""; tags = ""; depth = 0 }

page && /^\.Sh / { section = substr($0, 5); id = ""; next }
page && /^\.\\" promise / {
	id = $3
	if (id in text) fault(FILENAME ": " id " is there twice")
	order[++count] = id
	section_of[id] = section
	text[id] = ""
	next
}
# Each item of these sections is a promise.
page && /^\.It$/ { id = ""; item = section ~ /^(PROMISES|SEMANTICS)$/; next }
page && (/^\.It / || /^\.(Ss|Pp|El|Bl)/) { id = ""; next }
page && item && id == "" { fault(FILENAME ":" FNR ": an item that begins no promise"); }
page { item = 0 }
page && id != "" {
	said = text_of($0)
	if (said != "") text[id] = text[id] (text[id] ~ /(^|\()$/ || said ~ /^[,.;:)]/ ? "" : " ") said
	next
}
page { next }

/^[\t ]*# promise: / {
	tags = $0
	sub(/.*# promise: /, "", tags)
	next
}
tags != "" {
	name = name_of($0)
	if (name == "" && ++depth < 6) next
	if (name == "") fault(FILENAME ":" FNR ": no check follows")
	file = FILENAME
	sub(/^.*tests\//, "", file)
	n = split(tags, tag, /, */)
	for (i = 1; i <= n; i++) {
		if (!(tag[i] in text)) fault(FILENAME ":" FNR ": no promise is called " tag[i])
		shown[tag[i]] = shown[tag[i]] "  - `tests/" file "`: " name "\n"
	}
	tags = ""
	depth = 0
}

END {
	print "# Promises and their tests\n"
	print "Made by `tests/docs/promises.awk` from ckptfs(1) and the tests; `tests/docs/promises.sh` compares. A promise is"
	print "kept by more checks than are named here."
	for (i = 1; i <= count; i++) {
		id = order[i]
		if (section_of[id] != last) print "\n## " (last = section_of[id]) "\n"
		if (!(id in shown)) fault("the promise " id " has no test: a line '# promise: " id "' above a check")
		words = split("- **" id "** " text[id], word, " ")
		line = ""
		for (w = 1; w <= words; w++) {
			if (length(line) + length(word[w]) > 115) { print line; line = " " }
			line = line (line == "" ? "" : " ") word[w]
		}
		print line
		printf "%s", shown[id]
	}
	exit faults
}

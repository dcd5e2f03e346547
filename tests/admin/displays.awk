# SPDX-License-Identifier: Apache-2.0
# displays.awk: what stands apart in a page, in order, as files of the folder `out`:
#   N.kind   root (a command after "# "), user (after "$ ") or text (a file, or a line of one)
#   N.text   the command or the text
#   N.shown  what the page shows as the command's output
#   N.at     page and line
# A page is in mdoc, or in Markdown, where each line of a block is a command of root, and so is what a row of a table
# has in backquotes and begins with ckptbench.

function begin(kind, text) {
	n++
	base = sprintf("%s/%03d", out, n)
	print kind >(base ".kind")
	print page ":" FNR >(base ".at")
	print text >(base ".text")
	printf "" >(base ".shown")
	last = kind
}

function flush() {
	for (suffix in suffixes)
		close(base suffixes[suffix])
}

# A line of a display: a command, more of it, its output, or text.
function line(s) {
	if (s ~ /^[$#] /) {
		flush()
		begin(s ~ /^#/ ? "root" : "user", substr(s, 3))
	} else if (s ~ /^> / && last != "text" && !is_new) {
		print substr(s, 3) >(base ".text")
	} else if (!is_new) {
		print s >(base (last == "text" ? ".text" : ".shown"))
	} else {
		flush()
		begin("text", s)
	}
	is_new = 0
}

# What mdoc writes for a character.
function plain(s) {
	gsub(/\\&/, "", s)
	gsub(/\\-/, "-", s)
	gsub(/\\\(dq/, "\"", s)
	gsub(/\\\(aq/, "'", s)
	gsub(/\\e/, "\\", s)
	return s
}

BEGIN { split(".kind .at .text .shown", suffixes) }
FNR == 1 { markdown = FILENAME ~ /\.md$/; page = FILENAME; sub(/.*\//, "", page); inside = 0 }
markdown && /^    / { # a block of shell: more of the command before it, or the next one
	s = substr($0, 5)
	if (continues)
		print s >(base ".text")
	else {
		flush()
		begin("root", s)
	}
	continues = s ~ /\\$/
	next
}
markdown && /^\| / {
	cells = split($0, cell, "`")
	for (i = 2; i <= cells; i += 2)
		if (cell[i] ~ /^ckptbench /) {
			flush()
			begin("root", cell[i])
		}
}
markdown { continues = 0; next }
/^\.Dl / { is_new = 1; line(plain(substr($0, 5))); next }
/^\.Bd -literal/ { inside = is_new = 1; next }
/^\.Ed/ { inside = 0; next }
inside { line(plain($0)) }
END { print n + 0 }

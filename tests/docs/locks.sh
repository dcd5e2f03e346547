#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Clang's analysis (quickstart, stage thread-safety) sees only what is annotated: each mutex names
# what it guards, and each function whose name says so wants a lock held.
. "${srcdir:?}/tests/lib/tap.sh"
plan 5
cd "$srcdir" || exit 1
find fs bench \( -name '*.[ch]' -o -name '*.cu' \) >"$tmp/files"
cat >"$tmp/bare.h" <<'END_OF_C'
struct a {
        struct mutex mtx, other;
        int n GUARDED_BY(&mtx);
};
static struct mutex alone = MUTEX_INITIALIZER(LOCK_LOG);
static int bare_locked(struct a *a);
static int
wrapped_locked(struct a *a, int n)
        REQUIRES(&a->mtx)
{
        return n + bare_locked(a);
}
END_OF_C

# Mutexes that guard nothing, as far as their file says.
unguarded() {
	awk '
		FNR == 1 { report() }
		/^[[:space:]]*(static )?struct mutex [a-z_, ]+[;=]/ {
			line = $0; sub(/^.*struct mutex /, "", line); sub(/[;=].*/, "", line)
			n = split(line, names, /, */)
			for (i = 1; i <= n; i++) { sub(/ .*/, "", names[i]); mutex[names[i]] = FILENAME ":" FNR }
		}
		/GUARDED_BY\(/ { for (m in mutex) if (index($0, "GUARDED_BY(&" m ")")) delete mutex[m] }
		function report(  m) { for (m in mutex) { print mutex[m] ": " m; delete mutex[m] } }
		END { report() }' "$@"
}
# Functions whose name ends in _locked, and which neither their file nor a header declares with the lock.
unannotated() {
	awk '
		function ended(  name) {
			name = text; sub(/_locked\(.*/, "_locked", name); sub(/.*[ *]/, "", name)
			if (text ~ /(REQUIRES|ASSERTS)\(/) says[at, name] = 1
			else lacks[at, name] = file ":" line
			text = ""
		}
		FNR == 1 { text = "" }
		!text && /^[a-z][a-z0-9_ *]*( |\*)[a-z0-9_]+_locked\(/ || (!text && /^[a-z0-9_]+_locked\(/) {
			file = FILENAME; line = FNR; at = FILENAME ~ /\.h$/ ? "" : FILENAME
		}
		text || (file == FILENAME && line == FNR) { text = text " " $0; if ($0 ~ /[;{]/ || $0 ~ /^\{/) ended() }
		END { for (k in lacks) { split(k, part, SUBSEP); if (!(k in says) && !(("", part[2]) in says)) print lacks[k] ": " part[2] } }
	' "$@"
}
expect_eq "$tmp/bare.h:2: other $tmp/bare.h:5: alone" "$(unguarded "$tmp/bare.h" | sort | paste -sd ' ')" \
	"a mutex that guards nothing is found in a sample"
expect_eq "$tmp/bare.h:6: bare_locked" "$(unannotated "$tmp/bare.h")" "a function that names no lock is found in a sample"
# shellcheck disable=SC2046 # names of our own files
set -- $(cat "$tmp/files")
# A reload swaps some options of struct params and leaves the others, which all threads read, as they are. The
# tree's mutex is private to tree.c and has another name outside, tree_mutex.
expect_eq "fs/mount/core/mount.h: options fs/mount/tree/tree.c: mtx" \
	"$(unguarded "$@" | sed 's/:[0-9]*:/:/' | sort | paste -sd ' ')" "each mutex says what it guards"
expect_eq "" "$(unannotated "$@")" "each function whose name ends in _locked says which lock it wants held"
expect_eq "" "$(grep -nE 'pthread_(mutex|rwlock|spin)_' "$@" | grep -v '^fs/base/mutex\.h:')" \
	"each lock is one that the analysis knows"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every option stands in manual, sample and help, and nothing else stands there as an option.
. "${srcdir:?}/tests/lib/tap.sh"
plan 10

gen="$builddir/fs/base/gen_docs"
"$gen" names | sort >"$tmp/table"

sed -n '/^\.Sh OPTIONS/,/^\.Sh METRICS/s/^\.It Cm \([a-z_0-9]*\) Ns = .*/\1/p' \
	"$builddir/man/ckptfs.conf.5" | sort >"$tmp/manual"
check "ckptfs.conf(5) has the options of the table and no others" diff "$tmp/table" "$tmp/manual"

sed -n 's/^#\([a-z_0-9]*\): .*/\1/p' "$srcdir/conf/ckptfs.yaml" | sort >"$tmp/sample"
check "the sample has the options of the table and no others" diff "$tmp/table" "$tmp/sample"

"$gen" yaml >"$tmp/yaml"
check "the sample is what the table makes (else: make update-docs)" \
	diff "$srcdir/conf/ckptfs.yaml" "$tmp/yaml"

ckptfs="$builddir/ckptfs"
if [ -x "$ckptfs" ]; then
	"$ckptfs" -o help 2>&1 | sed -n 's/^  \([a-z_0-9]*\)=.*/\1/p' | sort >"$tmp/help"
	check "-o help has the options of the table and no others" diff "$tmp/table" "$tmp/help"
else
	skip "-o help has the options of the table and no others" "ckptfs is not built"
fi

# Options that the pages mention elsewhere must exist.
sed -n 's/.*-o \([a-z_0-9]*=[^ ]*\) .*/\1/p' "$srcdir"/man/ckptfs.1 | tr , '\n' | sed 's/=.*//' |
	sort -u >"$tmp/used"
check "the examples of ckptfs(1) use options of the table" \
	sh -c '[ -s "$1" ] && [ -z "$(comm -13 "$0" "$1")" ]' "$tmp/table" "$tmp/used"

sed -n -e 's/^KEY([a-z_0-9]*, "\([a-z_0-9.]*\)".*/\1/p' -e 's/^KEY_OF("[^"]*", [a-z_0-9]*, "\([a-z_0-9.]*\)".*/\1/p' \
	-e 's/^    [a-z_0-9]*, "\([a-z_0-9.]*\)", [A-Z]*,.*/\1/p' "$srcdir/bench/core/keys.def" | sort >"$tmp/keys"
sed -n '/^\.Sh KEYS/,/^\.Sh MEASURING/s/^\.It Cm \([a-z_0-9.]*\) Ns = .*/\1/p' \
	"$builddir/man/ckptbench.1" | sort >"$tmp/bench-manual"
check "ckptbench(1) has the keys of the table and no others" diff "$tmp/keys" "$tmp/bench-manual"
"$builddir/ckptbench" help keys 2>&1 | sed -n 's/^  \([a-z_0-9.]*\)=.*/\1/p' | sort >"$tmp/bench-help"
check "ckptbench help keys has the keys of the table and no others" diff "$tmp/keys" "$tmp/bench-help"

if [ -x "$builddir/storesim" ]; then
	"$builddir/storesim" --help | grep -o -- ' --[a-z-]* ' | tr -d ' ' | sort -u >"$tmp/sim-help"
	sed -n '/^\.Sh DESCRIPTION/,/^\.Sh FAULTS/s/^\.It //p' "$srcdir/man/storesim.1" |
		grep -o 'Fl -[a-z-]*' | sed 's/Fl -/--/' | sort -u >"$tmp/sim-manual"
	check "storesim(1) has the options of --help and no others" diff "$tmp/sim-help" "$tmp/sim-manual"
else
	skip "storesim(1) has the options of --help and no others" "storesim is not built"
fi
sed -n '/fields\[\] = {/,/};/s/"\([a-z_]*\)",*/\n\1\n/gp' "$srcdir/bench/sim/http/fault.c" |
	grep '^[a-z]' | sort -u >"$tmp/fields"
# The inner list holds the words of "do".
sed -n '/^\.Sh FAULTS/,/^\.Sh IDENTITY/p' "$srcdir/man/storesim.1" |
	sed '/^\.Bl .*-compact/,/^\.El/d' | sed -n 's/^\.It //p' |
	sed 's/Cm //g; s/ , /\n/g' | sort -u >"$tmp/fields-manual"
check "storesim(1) has the fields of a rule and no others" diff "$tmp/fields" "$tmp/fields-manual"

check "each metric is counted somewhere" sh -c '
	metrics=$(sed -n "s/^METRIC(\([a-z_]*\),.*/\1/p" "$1/fs/base/metrics.def")
	[ -n "$metrics" ] || exit 1
	for m in $metrics; do
		grep -rqE "METRIC_(ADD|SUB|SET|MAX)\($m," "$1/fs" || { echo "$m"; exit 1; }
	done' sh "$srcdir"

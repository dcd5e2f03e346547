#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each scenario of ckptbench has a file in bench/scenario, a sample in conf and a section in ckptbench(1).
. "${srcdir:?}/tests/lib/tap.sh"
plan 5

"$builddir/ckptbench" help scenarios | sed -n 's/^  \([a-z_]*\)$/\1/p' | sort >"$tmp/names"
check "ckptbench lists scenarios" test -s "$tmp/names"

find "$srcdir/bench/scenario" -name '*.c' -exec cat {} + | grep -o '"[a-z_]*"' | tr -d '"' | sort -u >"$tmp/in-files"
check "each scenario is made in bench/scenario" sh -c '[ -z "$(comm -23 "$0" "$1" | tee /dev/stderr)" ]' "$tmp/names" "$tmp/in-files"

ls "$srcdir/conf" | sed -n 's/\.yaml$//p' | sort >"$tmp/samples"
check "each scenario has a sample in conf" sh -c '[ -z "$(comm -23 "$0" "$1" | tee /dev/stderr)" ]' "$tmp/names" "$tmp/samples"

sed -n '/^\.Sh SCENARIOS/,/^\.Sh KEYS/s/^\.Ss \([a-z_]*\)$/\1/p' "$builddir/man/ckptbench.1" | sort >"$tmp/sections"
check "each scenario has a section in ckptbench(1), and no other stands there" diff "$tmp/names" "$tmp/sections"

# What a sample leaves to its user.
given="path=. mount.path=. s3.uri=s3://b/p s3.bucket=b gcs.uri=gs://b/p world_size=1"
check "each sample can be planned" sh -c '
	while read -r name; do
		case $name in
		load) more=file=x ;;
		*_load) more=checkpoint.suffix=x ;;
		datagen) more=image_format=PPM ;;
		dataset) more=sharding=off ;;
		*) more= ;;
		esac
		out=$("$1" "$name" -cd "$2" --dry-run $3 $more 2>&1 </dev/null) && continue
		case $out in # what this machine lacks, not the sample
		*"B free and "* | *"B are free"* | *"is no mounted file system"*) continue ;;
		esac
		echo "$name: $out"
		exit 1
	done <"$4"' sh "$builddir/ckptbench" "$srcdir/conf" "$given" "$tmp/names"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bad_input.sh: what is wrong is one line with cause and remedy, and nothing is made.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/bench.sh"
plan 24
cd "$tmp" || exit 1

# refused PATTERN arguments...: fails, one line on stderr that matches, no results
refused() {
	pattern=$1; shift
	if bench "$@" >out 2>err; then not_ok "$* is refused"; else
		check "$* is refused" grep -q -- "$pattern" err
	fi
	expect_eq 1 "$(wc -l <err)" "with one line"
}
refused "unknown key 'siz': did you mean 'size'" shards siz=1
refused "storage 'disc' is unknown: give one of" shards storage=disc
refused "needs a directory: give path=DIR" shards storage=disk
refused "path=/nonexistent: No such file" shards storage=disk path=/nonexistent
refused "is no mounted file system" shards storage=mount mount.path="$tmp"
refused "give 2064" shards model=gpt-xl model.hidden=2048 storage=null
refused "model 'gpt' is unknown: give auto" shards model=gpt storage=null
refused "scenario 'shard' is unknown: give one of shards" shard storage=null
refused "give suffix=" shards storage=null phase=load
refused "s3.endpoint holds credentials" shards storage=null s3.endpoint=http://a:b@127.0.0.1/
expect_eq "" "$(find multirun -type f 2>/dev/null)" "no result was made"
check "--help lists every key" sh -c '"$1" --help | grep -q "null.slow_rank"' sh "$builddir/ckptbench"
bench shards --dry-run size=8GiB storage=null >dry 2>&1
expect_eq 0 $? "--dry-run says what would be done"
check "with model and size" grep -q 'gpt-large, 25 layers.* 8.6' dry

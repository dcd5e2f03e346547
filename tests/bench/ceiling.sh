#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ceiling.sh: every row is measured, or left out with its reason; the limit follows from the rows.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
plan 8
cd "$tmp" || exit 1
mkdir disk

TMPDIR=$tmp bench ceiling path=disk size=32M out=all >all.out 2>&1
expect_eq 0 $? "all is measured in one run"
diag "$(cat all.out)"
run=$(echo all/ceiling/*/run_results.json)
jq '.job_results[0]' "$run" >job
check "memory and disk have speeds" jq -e '.metrics | .memcpy.gb_per_s > 0 and
	.disk_write.gb_per_s > 0 and .disk_read.block_bytes == 1048576' job
check "HTTP alone has speeds and CPU time" jq -e '.metrics
	| .http_put.gb_per_s > 0 and .http_get.cpu_processes_s_per_gb > 0' job
if [ -w /dev/fuse ]; then
	check "the null FUSE has speeds at three block sizes" jq -e '.metrics
		| .fuse_write_1m.gb_per_s > 0 and .fuse_write_64k.gb_per_s > 0
		and .fuse_read_4k.gb_per_s > 0' job
	# 10 ms are the finest the kernel counts: on a fast machine a short measurement may cost nothing
	check "the limit is cores over the sum of costs" jq -e '.metrics
		| (.fuse_write_1m.cpu_machine_s_per_gb) as $fuse | (.http_put.cpu_machine_s_per_gb) as $http
		| if $fuse == 0 or $http == 0 then .limit_write == null
		else .limit_write.gb_per_s - .cores / ($fuse + $http) | fabs < 1e-9 end' job
else
	skip "the null FUSE has speeds at three block sizes" "/dev/fuse cannot be opened"
	skip "the limit is cores over the sum of costs" "/dev/fuse cannot be opened"
fi
check "no mount and no file is left" sh -c '[ -z "$(ls "$1"/disk)" ] && [ ! -e "$1"/ckptbench-c* ]' sh "$tmp"
TMPDIR=$tmp bench ceiling path=disk size=1M drop=none out=kept >kept.out 2>&1
expect_eq "disk, read, page cache kept" "$(jq -r .job_results[0].metrics.disk_read.text kept/*/*/run_results.json)" \
	"a read of the disk whose pages were not dropped is told as that"
TMPDIR=$tmp bench ceiling size=1M out=less >less.out 2>&1
check "what cannot be measured is left out with its reason" \
	grep -q 'left out: disk: .*give path=DIR' less.out

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hold.sh: a model larger than the memory that a process may have: with hold=off it is made and
# verified in pieces, in each format.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/bench.sh"
[ "${SANITIZERS:-no}" = no ] || skip_all "sanitizers take memory of their own"
plan 8
cd "$tmp" || exit 1
mkdir disk

# The stacks of threads count, too.
small() { sh -c 'ulimit -s 1024 && ulimit -d 40960 && exec "$@"' sh "$builddir/ckptbench" "$@" size=96M path=disk out=out; }
check_fails "96 MiB that are held do not fit into 40" small shards hold=on warmup=0
for format in raw safetensors torch; do
	check "96 MiB in pieces fit into 40, as $format" small shards format=$format hold=off warmup=0
done
check "a directory of 96 MiB in pieces fits into 40" small dcp_fsdp_save optimizer=on hold=off
check "a directory of pieces is loaded" small dcp_fsdp_load optimizer=on hold=off suffix="$(ls disk)"
check "a model in pieces is restored" small restore optimizer=on hold=off
check "a model in pieces is saved as one file" small pytorch_checkpointing optimizer=on epochs=1 hold=off

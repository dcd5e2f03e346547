#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bad_input.sh: what is wrong is one line with cause and remedy, and nothing is made.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/bench.sh"
plan 148
cd "$tmp" || exit 1

# refused PATTERN arguments...: fails, one line on stderr that matches, no results
refused() {
	pattern=$1; shift
	if bench "$@" >out 2>err; then not_ok "$* is refused"; else
		check "$* is refused" grep -q -- "$pattern" err
	fi
	expect_eq 1 "$(wc -l <err)" "the refusal is one line: $*"
}
refused "unknown key 'siz': did you mean 'size'" shards siz=1
refused "storage 'disc' is unknown: give one of" shards storage=disc
refused "needs a directory: give path=DIR" shards storage=disk
refused "path=/dev/null: Not a directory: give a directory" shards storage=disk path=/dev/null
refused "path=none/deeper/: No such file or directory: give a directory, or one to be made in a directory that is there" \
	shards storage=disk path=none/deeper/
expect_eq "no" "$([ -e none ] && echo made || echo no)" "of a path that is refused nothing is made"
bench shards storage=disk path=fresh/ size=1M out=made >out 2>err
expect_eq "0 1 0" "$? $(grep -c '^path=fresh/ is not there: it is made$' out) $(wc -l <err)" "a directory that is made is told in a line"
bench shards storage=disk path=fresh size=1M out=made >out 2>err
expect_eq "0 0" "$? $(grep -c 'it is made' out)" "a directory that is there is told in none"
rm -r made fresh
refused "block=4097: O_DIRECT moves multiples of 4096 bytes: give one, or direct=off" \
	shards storage=disk path="$tmp" size=1M direct=on block=4097
refused "out='': Invalid argument: give out= another directory" shards storage=null out=
refused "path=none/x: No such file or directory: give a directory" ceiling path=none/x
TMPDIR=$tmp/none && export TMPDIR
refused "TMPDIR=$tmp/none: No such file or directory: name a directory that is there" \
	lightning_checkpointing storage=disk path="$tmp" size=1M
unset TMPDIR
mkdir little
if [ "$(id -u)" = 0 ] && unshare -m --propagation private mount -t tmpfs -o size=8M none little 2>/dev/null; then
	# shellcheck disable=SC2016
	TMPDIR=$tmp/little unshare -m --propagation private sh -c 'mount -t tmpfs -o size=8M none little && exec "$@"' sh \
		"$builddir/ckptbench" lightning_checkpointing storage=disk path="$tmp" size=16M out=full >out 2>err
	expect_eq "1 1 1" "$? $(wc -l <err) $(grep -c 'little has 8.39 MB free and 16.5 MB would lie there: set TMPDIR' err)" \
		"a TMPDIR without room for what Lightning stages is refused"
	expect_eq "" "$(ls -d full 2>/dev/null)" "a TMPDIR without room is refused before a job begins"
else
	for what in refused "refused before a job begins"; do
		skip "a TMPDIR without room is $what" "no mount namespace here"
	done
fi
if [ "$(id -u)" = 0 ] && unshare -m --propagation private mount --bind -o ro /proc/sys /proc/sys 2>/dev/null; then
	# shellcheck disable=SC2016
	unshare -m --propagation private sh -c 'mount --bind -o ro /proc/sys /proc/sys && exec "$@"' sh "$builddir/ckptbench" \
		shards size=1M storage=disk path="$tmp" drop=caches out=dropped >out 2>err
	expect_eq "1 1 1" "$? $(wc -l <err) $(grep -c 'drop_caches: Read-only file system: root may not in this container: give drop=file' err)" \
		"root is not told to be root"
	rm -rf dropped
else
	skip "root is not told to be root" "no mount namespace here"
fi
refused "is no mounted file system" shards storage=mount mount.path="$tmp"
refused "give 2064" shards model=gpt-xl model.hidden=2048 storage=null
refused "model 'gpt-smol' is unknown: did you mean 'gpt-small'" shards model=gpt-smol storage=null
refused "model 'gpt-xx' is unknown: did you mean 'gpt-xxl'" shards model=gpt-xx storage=null
refused "model 'LLaMa7' is unknown: give one of auto, gpt-mini, .*L7b, .*mlperf-1t$" shards model=LLaMa7 storage=null
refused "size=1048576: L7b with one layer has 7[0-9]* bytes: give as much" shards model=L7b size=1M storage=null
refused "scenario 'shard' is unknown: did you mean 'shards'" shard storage=null
refused "scenario 'trian' is unknown: did you mean 'train'" trian storage=null
refused "scenario 'bench' is unknown: give one of shards" bench storage=null
refused "'size' has no value: give size=VALUE" shards size storage=null
refused "file=../x leaves what path, mount.path or the uri names" load file=../x storage=disk path=.
refused "^ckptbench: -o needs the name of a page behind it" report . -o
refused "resume=a/../../x leaves what path" train model=gpt-mini resume=a/../../x storage=disk path=.
refused "give suffix=" shards storage=null phase=load
refused "s3.endpoint holds credentials" shards storage=null s3.endpoint=http://a:b@127.0.0.1/
refused "is no mounted file system" shards storage=null,mount mount.path="$tmp" # before the first job
refused "out of bounds: give 1 to 10000" shards storage=null epochs=0
refused "none/shard-.*: No such file or directory: give suffix=" shards storage=disk path="$tmp" phase=load suffix=none size=1M
refused "gcs.endpoint holds credentials" restore storage=disk path="$tmp" gcs.endpoint=http://a:b@127.0.0.1/
refused "hands nothing from GPU to GPU" shards storage=null backend=nccl
# keys of other scenarios, which would only multiply jobs
refused "thread_count is for dcp\*, .*, and shards does not read it" shards storage=null thread_count=1,2
refused "dataloader.batch_size is for dataset, and shards" shards storage=null dataloader.batch_size=8
refused "epochs is for shards, .*, and train does not read it: leave it out" train epochs=2
refused "epochs is for .*, and async does not read it" async epochs=2
refused "optimizer is for .*, and train does not read it" train optimizer=off
refused "phase is for .*, and train does not read it" train phase=load
refused "suffix is for .*, and train does not read it" train suffix=x
refused "warmup is for shards, and train does not read it" train warmup=1M
refused "drop is for .*, and async does not read it" async drop=caches
refused "payload is for shards, and restore does not read it" restore payload=null
refused "unknown key 'nothing': ckptbench help keys lists every key" train nothing=1
NUM_SAVE_CALLS=2 && export NUM_SAVE_CALLS
refused "num_save_calls of the environment is for lightning_multinode, and lightning_async" lightning_async storage=null
unset NUM_SAVE_CALLS
refused "strategy=fsspec_fsdp moves one stream to a bucket" lightning_multinode storage=disk path="$tmp" strategy=fsspec_fsdp
refused "take lightning_async" lightning_multinode storage=disk path="$tmp" strategy=async_dataflux_fsdp
refused "give checkpoint.sharded=on" lightning_checkpointing storage=null thread_count=2
refused "num_labels is of model=vit" dataset dataset=x path="$tmp" num_labels=10
refused "checkpoint.save_last is for lightning_checkpointing" pytorch_checkpointing storage=null checkpoint.save_last=on
# what no save has left, in each scenario that loads
refused "none/model-rank_00000.pt: No such file" mlperf model.hidden=64 model.layers=2 model.ffn=128 model.vocab=256 epochs=1 \
	storage=disk path="$tmp" phase=load suffix=none drop=none
refused "none/ckpt_0.ckpt/.metadata: No such file" lightning_multinode storage=disk path="$tmp" num_save_calls=0 suffix=none model.layers=1
refused "none/.metadata: No such file" dcp_fsdp_load model=gpt-mini storage=disk path="$tmp" checkpoint.suffix=none/
refused "none.safetensors: No such file or directory: give the name of a file that is there" load storage=disk path="$tmp" file=none.safetensors
refused "file=$tmp/x is a name below path.*: give it without" load storage=disk path="$tmp" file="$tmp/x"
refused "needs a directory: give path=DIR, or storage=mount for mount.path" load mount.path="$tmp" file=x
refused "needs the directory that a save made: give checkpoint.suffix=" dcp_ddp_load storage=null
refused "give suffix=" mlperf storage=disk path="$tmp" phase=load
refused "give suffix=, or CKPT_RESTORE_PATH" lightning_multinode storage=disk path="$tmp" num_save_calls=0
refused "world_size=3 is more than the 1 rank of this job: start it with mpirun -n 3" dcp_fsdp_save storage=null world_size=3
refused "s3.uri= names no bucket" shards storage=s3 size=1M
mkdir conf
# yaml TEXT PATTERN: a file with that text is refused
yaml() {
	printf -- "$1" >conf/bad.yaml
	refused "$2" shards storage=null -cd conf -cn bad
}
yaml 'epochs: many\n' "epochs=many is not a count: give a whole number"
yaml 'epochs: [1, 2]\n' "epochs"
yaml 'verify: 7\n' "verify=7 is neither on nor off"
yaml '- epochs\n' "conf/bad.yaml:1: the file is a list"
yaml 'epochs: {a: 1}\n' "unknown key 'epochs.a'"
yaml 'epochs: "1\n' "conf/bad.yaml:.*: this is not YAML"
refused "conf/none.yaml: No such file" shards storage=null -cd conf -cn none
expect_eq "" "$(find multirun -type f 2>/dev/null)" "no result was made"
check "help keys lists every key" sh -c '"$1" help keys | grep -q "null.slow_rank"' sh "$builddir/ckptbench"
bench shards --dry-run size=1K,8M storage=null >dry 2>&1
expect_eq 1 "$(grep -c '^size=1024: the smallest model of model=auto has 41[0-9]* bytes, which are taken$' dry)" \
	"a size that no model is as small as is told in a line"
expect_eq "0 0" "$(bench shards --dry-run size=8M storage=null | grep -c smallest) $(
	bench shards --dry-run size=1K model=gpt-mini storage=null 2>/dev/null | grep -c smallest)" "sizes of other models are not"
bench shards --dry-run size=8GiB storage=null >dry 2>&1
expect_eq 0 $? "--dry-run says what would be done"
check "--dry-run tells model and size" grep -q 'gpt-large, 25 layers.* 8.6' dry
expect_eq "89.9 million,6.89 billion,1.01 trillion" \
	"$(bench shards --dry-run storage=null model=gpt-small,L7b,gpt-1t hold=off 2>&1 | sed -n 's/.* layers, \(.*\) parameters, .*/\1/p' | paste -sd ,)" \
	"--dry-run counts the parameters of a model as people do"

# A disk that is full behind standard output.
lost() {
	bench "$@" >/dev/full 2>err
	expect_eq "1 1 1" "$? $(wc -l <err) $(grep -c '^ckptbench: standard output cannot be written: free space there$' err)" \
		"text that is lost is told, and is no success: $*"
}
lost --version
lost help keys
lost shards --dry-run size=8M storage=null
lost shards storage=null size=1M out=runs progress=0
lost compare runs runs
lost report runs -o page.html
bench shards storage=null null.delay_us=200000 progress=20ms out=closed >&- 2>err
expect_eq "1 1 0" "$? $(grep -c '^ckptbench: standard output cannot be written' err) $(cat closed/*/*/0/benchmark.log | grep -vc '^\[20')" \
	"text for a standard output that is closed goes to no other file"

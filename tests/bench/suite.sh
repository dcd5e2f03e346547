#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# suite.sh: the configuration files of the S3 connector's suite run as they are published, on a disk and
# a store; what the command line says beside them makes the models small and the ranks few. dataset.sh
# has the file of datasets. Then what else users of Hydra write.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/store.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
plan 34
cd "$tmp" || exit 1
mkdir disk
conf=$srcdir/tests/bench/suite
store_start storesim

# suite SCENARIO arguments...
suite() {
	sc=$1; shift
	bench "$sc" -cd "$conf" -cn "$sc" s3.region=us-east-1 s3.uri=s3://$CKPTFS_TEST_BUCKET/p \
		s3.endpoint="$CKPTFS_TEST_ENDPOINT" path=disk "$@"
}
tiny="model=gpt-mini world_size=1 backend=gloo thread_count=2"
result() { jq -r "$2" "$1"/*/*/run_results.json; }
# jobs, those that failed, their storages, how many times each has
jobs() {
	result "$1" '[.job_results | length, (map(select(.error)) | length), (map(.config.storage) | unique | join(",")),
		(map(.metrics | (.save_times_s // .processing_durations_s) | length) | unique | map(tostring) | join(","))]
		| map(tostring) | join(" ")'
}

for kind in ddp fsdp; do
	suite dcp_${kind}_save $tiny out=$kind >$kind.out 2>$kind.err
	expect_eq "0 2 0 disk,s3 4" "$? $(jobs $kind)" "dcp_${kind}_save makes four epochs on two storages"
	expect_eq "1 1" "$(grep -c collate_results $kind.err) $(grep -c "'aws/dynamodb' is left out" $kind.err)" \
		"dcp_${kind}_save has a line about each thing that is not used"
	for i in 0 1; do
		storage=$(result $kind ".job_results[$i].config.storage")
		suite dcp_${kind}_load model=gpt-mini world_size=1 backend=gloo checkpoint.storage=$storage \
			checkpoint.suffix="$(result $kind ".job_results[$i].setup.suffix")/" out=$kind-$i >load.out 2>&1
		expect_eq "0 1 0 $storage 4" "$? $(jobs $kind-$i)" "dcp_${kind}_load loads what is on $storage"
	done
done
for sc in lightning_checkpointing pytorch_checkpointing; do
	suite $sc model=gpt-mini out=$sc >$sc.out 2>&1
	expect_eq "0 2 0 disk,s3 5" "$? $(jobs $sc)" "$sc makes five saves on two storages"
	suite $sc --dry-run >dry 2>&1 || grep -q " holds\{0,1\} 44.5 GB in memory and .* GB are free" dry
	expect_eq 0 $? "every model of a suite can be planned, or there is no memory for it"
done
suite dcp model=gpt-mini world_size=1 thread_count=1,2 backend=gloo --legacy-names out=dcp >dcp.out 2>&1
expect_eq "0 4 0 disk,s3 4" "$? $(jobs dcp)" "dcp sweeps the older file"
expect_eq "results_gpt-mini_gloo_1_1_disk.json results_gpt-mini_gloo_1_1_s3.json \
results_gpt-mini_gloo_1_2_disk.json results_gpt-mini_gloo_1_2_s3.json" \
	"$(cd dcp/*/* && echo */results_* | tr ' ' '\n' | sed 's|^[0-9]*/||' | sort | tr '\n' ' ' | sed 's/ $//')" \
	"--legacy-names gives results their older names"
expect_eq true "$(cd dcp/*/* && jq -s '.[0] == .[1]' 0/job_results.json 0/results_*)" "results of older names are the same results"

# the libraries of tars are optional
bench dataset -cd "$conf" -cn dataset s3.region=us-east-1 s3.bucket=b mount.path=. mount.cache=. path=. sharding=off --dry-run >dry 2>&1
expect_eq "0 1 1" "$? $(grep -c s3iterabledataset dry) $(grep -c mountpointcache dry)" "dataset plans five data loaders"

# what else Hydra's users write
cat >disk/mine.yaml <<'END'
seed: 7
path: ${out}/${storage}-${.epochs}
mount:
  path: ${path}
disambiguator: a, b
hydra:
  sweeper:
    params:
      +epochs: range(1,4,2)
      checkpoint.storage: choice(null, 'disk')
END
mkdir -p mine/disk-1 mine/disk-3
bench shards -m -cd disk -cn mine size=1M out=mine '~seed' 'verify=on' >mine.out 2>mine.err
expect_eq "0 1null:mine/null-1 1disk:mine/disk-1 3null:mine/null-3 3disk:mine/disk-3" \
	"$? $(result mine '[.job_results[].config | "\(.epochs)\(.storage):\(.path)"] | join(" ")')" \
	"lists by functions, values of other keys"
diag "$(cat mine.err)"
expect_eq "mine/null-1 1 a, b" "$(result mine '.job_results[0].config | "\(.mount.path) \(.seed) \(.disambiguator)"')" \
	"values of values, a key that is taken back, and a comma that parts nothing"

printf '%s\n' 'storage: "null"' 'size: 1M' 'warmup: 0' 'hydra:' '  sweep:' \
	'    dir: res/${hydra.job.config_name}/${now:%Y}/x${seed}/' >disk/where.yaml
bench shards -cd disk -cn where >where.out 2>&1
expect_eq "0 res/where/$(date +%Y)/x1/run_results.json" "$? $(find res -name run_results.json)" "hydra.sweep.dir is where the results go"
bench shards -cd disk -cn where >where.out 2>err
expect_eq "1 1 1" "$? $(wc -l <err) $(grep -c 'x1: File exists: give out=' err)" "a directory of results that is there is left as it is"
bench shards -cd disk -cn where out=said >where.out 2>&1
expect_eq "0 1" "$? $(find said/shards -name run_results.json | wc -l)" "out= on the command line is stronger"
before=$(TZ=UTC-14 date +%Y-%m-%d_%H)
TZ=UTC-14 bench shards storage=null size=1M warmup=0 out=east >east.out 2>&1
after=$(TZ=UTC-14 date +%Y-%m-%d_%H)
check "dates in names are those of local time" sh -c 'case $(ls "$1/shards") in "$2"-* | "$3"-*) ;; *) exit 1 ;; esac' \
	sh east "$before" "$after"

# refused PATTERN SCENARIO arguments...
refused() {
	pattern=$1; shift
	suite "$@" >out 2>err
	expect_eq "1 1" "$? $(grep -c -- "$pattern" err)" "a bad suite is refused: $pattern"
}
refused "checkpoint.suffix has no value yet: give checkpoint.suffix=" dcp_ddp_load backend=gloo world_size=1
refused "model has no value yet: give model=" dcp_fsdp_load backend=gloo world_size=1 suffix=x
refused "world_size=8 is more than the 1 rank" dcp_ddp_save backend=gloo
refused "world_size=2 is more than the 1 rank" dcp backend=gloo model=gpt-mini
refused "unknown key 'checkpoint.stroage': did you mean" dcp backend=gloo world_size=1 +checkpoint.stroage=s3
refused "model 'vit-bass' is unknown: did you mean 'vit-base'" dcp backend=gloo world_size=1 +model=gpt-mini,vit-bass
refused "leads back to path: write one of them out" dcp_ddp_load backend=gloo world_size=1 \
	'checkpoint.suffix=${path}' 'path=${checkpoint.suffix}'
refused "~epocs: nobody gave a value" dcp_ddp_save backend=gloo world_size=1 '~epocs'
expect_eq "" "$(ls multirun 2>/dev/null)" "a refused suite makes nothing"
if bench_mpi true; then
	bench_mpi bench shards storage=null size=4M world_size=1,2 out=part >part.out 2>&1
	expect_eq "0 [1,2]" "$? $(result part '[.job_results[].setup.ranks] | tojson')" \
		"world_size is a part of the job, or all of it, for every scenario"
	mkdir -p 0 1/conf
	cp -r disk 0/conf
	on_two() { # each rank in a directory of its own
		bench_exec="timeout 600" bench_mpi sh -c 'cd "$OMPI_COMM_WORLD_RANK" && exec "$@"' sh "$builddir/ckptbench" "$@"
	}
	on_two shards -cd conf -cn mine storage=null size=1M out=mine >out 2>err
	expect_eq "1 1" "$(grep -c "rank 1: conf/mine.yaml: No such file" err) $(grep -c '^ckptbench: ' err)" \
		"a file that one host lacks ends all ranks in one line"
	sed 's/^seed.*/seed: 8/' 0/conf/mine.yaml >1/conf/mine.yaml
	on_two shards -cd conf -cn mine storage=null size=1M out=mine >out 2>err
	expect_eq "1 1" "$(grep -c "rank 1: the keys differ from those of rank 0" err) $(grep -c '^ckptbench: ' err)" \
		"a configuration that differs on one host ends all ranks in one line"
else
	skip "a file that one host lacks" "$bench_no_mpi"
	skip "a file that is another" "$bench_no_mpi"
	skip "world_size is a part of the job, or all of it, for every scenario" "$bench_no_mpi"
fi

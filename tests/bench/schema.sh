#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# schema.sh: what each scenario leaves is as conf/schema/ says, and what is not is told by it; and
# whatever measures several times can be compared.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/store.sh"
. "$srcdir/tests/lib/bench.sh"
need_python jsonschema
command -v jq >/dev/null || skip_all "jq is not installed"
cd "$tmp" || exit 1
mkdir disk mnt conf

scenarios=$(bench help scenarios | sed -n 's/^  \([a-z_]*\)$/\1/p')
set -- $scenarios
plan $((3 * $# + 3))
store_start storesim
uri=s3://$CKPTFS_TEST_BUCKET
mounted=no
if [ -w /dev/fuse ]; then
	spawn "$builddir/ckptfs" -f "$uri" "$tmp/mnt" -o "endpoint=$CKPTFS_TEST_ENDPOINT"
	at_exit 'umount "$tmp/mnt" 2>/dev/null || umount -l "$tmp/mnt" 2>/dev/null'
	wait_for 20 mountpoint -q mnt && mounted=yes
fi

valid() { "$python" "$srcdir/tests/bench/schema.py" "$srcdir/conf/schema" "$@"; }
# found_valid SCENARIO: each of its results is in the list of those that are
found_valid() {
	for result in out/"$1"/*/run_results.json out/"$1"/*/*/job_results.json; do
		grep -qxF "ok $result" valid.out || { grep -F "$result: " valid.out; return 1; }
	done
}
# What a busy machine fails is a result all the same.
may_fail() { bench "$@" || [ -s "$(echo out/"$1"/*/run_results.json)" ]; }
# compared SCENARIO: its run beside itself, where a job measures several times
compared() {
	case $1 in
	datagen | selfcheck) skip "a run beside itself has ratios of 1 and no verdict" "no figure has repetitions" ;;
	*) check "a run beside itself has ratios of 1 and no verdict" sh -c '"$1" compare "$2" "$2" >same &&
		grep -q " 1\.000 .*no verdict: 1 and 1 runs" same && ! grep -q faster same' sh "$builddir/ckptbench" \
		"$(echo out/"$1"/*/run_results.json)" ;;
	esac
}
suffix() { jq -r '.job_results[-1].setup.suffix' out/"$1"/*/run_results.json; }
disk="model=gpt-mini storage=disk path=disk"
for scenario; do
	program=bench
	case $scenario in
	list | small | firstbyte)
		keys="objects=20 mount.path=$tmp/mnt s3.uri=$uri s3.endpoint=$CKPTFS_TEST_ENDPOINT"
		[ "$scenario" = firstbyte ] || keys="$keys epochs=3"
		if [ $mounted = no ]; then
			skip "the scenario $scenario runs" "/dev/fuse cannot be opened"
			skip "the results of $scenario are valid" "/dev/fuse cannot be opened"
			skip "the results of $scenario can be compared" "/dev/fuse cannot be opened"
			continue
		fi
		;;
	train)
		keys="model=gpt-mini model.layers=1 steps=3 warmup_steps=1"
		if ! bench_has HAVE_OPENBLAS; then
			skip "the scenario train runs" "built without OpenBLAS"
			skip "the results of train are valid" "built without OpenBLAS"
			skip "the results of train can be compared" "built without OpenBLAS"
			continue
		fi
		;;
	ceiling) keys="size=1M path=disk epochs=3" ;;
	async) keys="size=4M storage=null steps=3 step_time=2ms" ;;
	dcp_ddp_load) keys="$disk epochs=3 suffix=$(suffix dcp_ddp_save)" ;;
	dcp_fsdp_load) keys="$disk epochs=3 suffix=$(suffix dcp_fsdp_save)" ;;
	mlperf)
		keys="model.hidden=64 model.layers=2 model.ffn=128 model.vocab=256 epochs=3 mlperf.interval=1ms
			storage=disk path=disk"
		;;
	datagen) keys="num_samples=9 resolution=40x30 image_format=PPM storage=disk path=disk" ;;
	dataset) keys="epochs=3 dataset=9_40x30_images path=disk dataloader.batch_size=8 dataloader.num_workers=1" ;;
	load)
		bench shards $disk format=torch phase=save suffix=torch out=saved >saved.out 2>&1
		keys="storage=disk path=disk suffix=torch file=$(ls disk/torch) epochs=3"
		;;
	selfcheck) program=may_fail keys="epochs=2 null.delay_us=10000" ;;
	shards) keys="size=4M storage=disk,null path=disk epochs=3" ;;
	lightning_async | lightning_multinode | lightning_singlenode) keys=$disk ;;
	*) keys="$disk epochs=3" ;;
	esac
	check "the scenario $scenario runs" $program "$scenario" $keys out=out
	compared "$scenario"
	ran="${ran:-} $scenario"
done
valid out/*/*/run_results.json out/*/*/*/job_results.json >valid.out 2>&1
for scenario in $ran; do check "the results of $scenario are valid" found_valid "$scenario"; done

bench dcp_ddp_save $disk backend=nccl,gloo out=failed >failed.out 2>&1
check "a run with a job that failed is valid" valid failed/*/*/run_results.json failed/*/*/*/job_results.json
check "a damaged run is not" "$python" "$srcdir/tests/bench/schema.py" --wrong "$srcdir/conf/schema" out/shards/*/run_results.json
check "the schemas are installed" sh -c 'make -C "$1" -s install-dist_schemaDATA DESTDIR="$2" >/dev/null &&
	find "$2" -name run_results.json | grep -q /schema/' sh "$builddir" "$tmp/dest"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hosts.sh: the samples in conf/slurm do what they say: on two hosts, which are names that a stand-in for ssh
# gives to this machine, and, where Slurm is installed, as jobs of a cluster of this one machine.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/store.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
bench_mpi true || skip_all "$bench_no_mpi"
plan 13
cd "$tmp" || exit 1
mkdir bin mnt disk
ln -s "$builddir/ckptbench" "$builddir/ckptfs" bin
export PATH="$tmp/bin:$PATH" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
	OMPI_MCA_btl_vader_single_copy_mechanism=none ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0"
store_start storesim
samples=$srcdir/conf/slurm
results() { jq -rc "$2" "$1"/multirun/*/*/run_results.json; }

check "the samples are scripts" sh -c 'for f in "$1"/*; do sh -n "$f" || exit; done' sh "$samples"

# Two hosts.
cat >bin/rsh-stand-in <<'END'
#!/bin/sh
# rsh-stand-in HOST COMMAND: runs it under that name of a host.
exec unshare --uts sh -c 'hostname "$1" && shift && exec sh -c "$*"' sh "$@"
END
chmod +x bin/rsh-stand-in
# on_hosts command...: with mpirun's logins by the stand-in
on_hosts() {
	OMPI_MCA_plm_rsh_agent="$tmp/bin/rsh-stand-in" OMPI_MCA_oob_tcp_if_include=lo OMPI_MCA_btl_tcp_if_include=lo \
		OMPI_MCA_pml=ob1 HOSTS=host1:2,host2:2 CKPT_DIR_PATH="$tmp/disk" NUM_LAYERS=1 timeout 600 "$@"
}
mkdir first groups one
if unshare --uts true 2>/dev/null; then
	(cd first && on_hosts sh "$samples/hosts.sh" model.vocab=64 num_save_calls=2 num_load_calls=1 >hosts.out 2>&1)
	expect_eq "0 4 host1 3" "$? $(results first '.machine.host as $host | .job_results[0]
		| "\(.setup.ranks) \($host) \(.metrics.save_times_s + .metrics.load_times_s | length)"')" \
		"hosts.sh: ranks on two hosts save and load, the first has the results"
	tail -n 3 first/hosts.out | sed 's/^/# /'
	keys="model=gpt-mini storage=disk path=$tmp/disk"
	fsdp() { on_hosts mpirun --host host1:2,host2:2 ckptbench dcp_fsdp_"$@"; }
	fsdp save $keys checkpoint.sharding_strategy=hybrid out=groups/multirun >groups.out 2>&1
	expect_eq 0 $? "hybrid sharding: the ranks of each host have the whole model"
	suffix=$(results groups .job_results[0].setup.suffix)
	fsdp load $keys checkpoint.sharding_strategy=hybrid suffix="$suffix" out=groups/load/multirun >>groups.out 2>&1 &&
		ckptbench dcp_fsdp_load $keys suffix="$suffix" out=one/multirun >>groups.out 2>&1
	expect_eq 2 "$(($(results groups/load .job_results[0].load.fetched_bytes) / $(results one .job_results[0].load.fetched_bytes)))" \
		"each of two groups of ranks loads the whole model"
	tail -n 3 groups.out | sed 's/^/# /'
else
	for name in "hosts.sh: ranks on two hosts save and load, the first has the results" "hybrid sharding: the ranks of each host have the whole model" "each of two groups of ranks loads the whole model"; do
		skip "$name" "names of hosts cannot be given here"
	done
fi

# Samples of srun on this machine, without a scheduler: what stands for srun starts two ranks by mpirun.
mkdir standin
cat >standin/srun <<'END'
#!/bin/sh
while case $1 in -*) ;; *) false ;; esac; do shift; done
exec mpirun -n 2 --bind-to none --oversubscribe "$@"
END
chmod +x standin/srun
small="model=gpt-mini model.layers=2 model.hidden=64 model.vocab=256 model.block=16 batch_size=4 steps=4 steps_per_save=2"
trains='[.job_results[] | "\(.setup.mode):\(.setup.stages):\(.setup.ranks):\(.setup.saved_steps | length):\(.error)"] | join(" ")'
for sample in train_ddp train_pdp; do
	mkdir $sample.here
	# shellcheck disable=SC2086
	(cd $sample.here && PATH="$tmp/standin:$PATH" SLURM_SUBMIT_DIR=$PWD timeout 600 sh "$samples/$sample.sbatch" \
		$small storage=disk path="$tmp/disk" >out 2>&1)
	diag "$(tail -n 3 $sample.here/out)"
done
if bench_has HAVE_OPENBLAS; then
	expect_eq "ddp:null:2:2:null" "$(results train_ddp.here "$trains")" "the command of train_ddp.sbatch trains and saves"
	expect_eq "pdp:2:2:2:null" "$(results train_pdp.here "$trains")" "the command of train_pdp.sbatch trains and saves"
else
	skip "the command of train_ddp.sbatch trains and saves" "built without OpenBLAS"
	skip "the command of train_pdp.sbatch trains and saves" "built without OpenBLAS"
fi

# A cluster.
cluster() { # starts it, or says in $no_cluster why not
	for program in munged slurmctld slurmd sbatch srun; do
		no_cluster="$program is not installed (Debian: slurmctld, slurmd, slurm-client, munge)"
		command -v $program >/dev/null || return 1
	done
	no_cluster="only root can be the cluster's user"
	[ "$(id -u)" -eq 0 ] || return 1
	no_cluster="/dev/fuse cannot be opened"
	[ -w /dev/fuse ] || return 1
	export SLURM_CONF="$tmp/slurm.conf"
	node=$(hostname -s)
	mkdir munge state spool
	head -c 128 /dev/urandom >munge/key && chmod 400 munge/key
	ctld_port=$(free_port)
	cat >slurm.conf <<-END
		ClusterName=test
		SlurmctldHost=$node(127.0.0.1)
		SlurmUser=root
		SlurmdUser=root
		AuthType=auth/munge
		AuthInfo=socket=$tmp/munge/socket
		CredType=cred/munge
		StateSaveLocation=$tmp/state
		SlurmdSpoolDir=$tmp/spool
		SlurmctldPidFile=$tmp/slurmctld.pid
		SlurmdPidFile=$tmp/slurmd.pid
		SlurmctldPort=$ctld_port
		SlurmdPort=$((ctld_port + 1))
		ProctrackType=proctrack/linuxproc
		TaskPlugin=task/none
		JobAcctGatherType=jobacct_gather/none
		SelectType=select/cons_tres
		SelectTypeParameters=CR_CPU
		SlurmdParameters=config_overrides
		ReturnToService=2
		MpiDefault=none
		NodeName=$node NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
		PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
	END
	spawn munged --force --foreground --key-file="$tmp/munge/key" --socket="$tmp/munge/socket" \
		--pid-file="$tmp/munge/pid" --log-file="$tmp/munge/log" --seed-file="$tmp/munge/seed" >munge.out 2>&1
	wait_for 20 test -S munge/socket
	spawn slurmctld -D -i >slurmctld.out 2>&1
	spawn slurmd -D -c >slurmd.out 2>&1
	no_cluster="Slurm does not come up: $(tail -n 1 slurmd.out)"
	idle() { sinfo -h -o %t | grep -qx idle; }
	try_for 120 idle
}
at_exit 'timeout 20 umount "$tmp/mnt" 2>/dev/null'
if cluster; then
	export AWS_ENDPOINT_URL_S3="$CKPTFS_TEST_ENDPOINT" BUCKET="s3://$CKPTFS_TEST_BUCKET/p" MOUNTPOINT="$tmp/mnt"
	mkdir dcp_fsdp_save mlperf train_ddp train_pdp
	# submit SAMPLE keys...: waits in steps of less than those of sbatch --wait
	submit() {
		sample=$1; shift
		(cd "$sample" && sbatch --nodes=1 --ntasks-per-node=2 --output=out "$samples/$sample.sbatch" "$@") >"$sample.id" 2>&1
		over() { ! squeue -h 2>/dev/null | grep -q .; }
		wait_for 600 over
		diag "$(cat "$sample.id" "$sample/out")"
	}
	submit dcp_fsdp_save model=gpt-mini epochs=2 thread_count=2 s3.region=us-east-1
	expect_eq "mount:2:null s3:2:null" "$(results dcp_fsdp_save '[.job_results[]
		| "\(.config.storage):\(.setup.ranks):\(.error)"] | join(" ")')" "dcp_fsdp_save.sbatch runs mpirun in a job, through a mount"
	check "the mount of a job ends with the job" sh -c '! mountpoint -q "$1"' sh "$tmp/mnt"
	submit mlperf mlperf.mode=subset model.hidden=64 model.layers=2 model.ffn=128 model.vocab=256 epochs=1 \
		mlperf.interval=1ms storage=disk path="$tmp/disk"
	expect_eq "disk:2:null" "$(results mlperf '[.job_results[] | "\(.config.storage):\(.setup.ranks):\(.error)"] | join(" ")')" \
		"mlperf.sbatch has ranks that srun starts"
	for sample in train_ddp train_pdp; do
		# shellcheck disable=SC2086
		submit $sample $small storage=disk path="$tmp/disk"
		expect_eq "2:2:null" "$(results $sample '[.job_results[] | "\(.setup.ranks):\(.setup.saved_steps | length):\(.error)"] |
			join(" ")')" "$sample.sbatch trains as a job"
	done
	submit dcp_fsdp_save model=gpt-mini epochs=1 +nothing=1
	check "a key that is wrong is said in the job's output" grep -q "unknown key 'nothing'" dcp_fsdp_save/out
	check "the mount of a job that fails ends, too" sh -c '! mountpoint -q "$1"' sh "$tmp/mnt"
else
	for name in "dcp_fsdp_save.sbatch runs mpirun in a job, through a mount" "the mount of a job ends with the job" "mlperf.sbatch has ranks that srun starts" "train_ddp.sbatch trains as a job" "train_pdp.sbatch trains as a job" "a key that is wrong is said in the job's output" "the mount of a job that fails ends, too"; do
		skip "$name" "$no_cluster"
	done
fi

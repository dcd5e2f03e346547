#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hosts_ssh.sh: two hosts train together, which are network namespaces of this machine: mpirun logs in by ssh, and
# ranks speak to each other over a link of the two.
[ -n "${HOSTS_SSH-}" ] || ! unshare --net --uts --mount true 2>/dev/null ||
	exec env HOSTS_SSH=yes unshare --net --uts --mount --propagation private sh "$srcdir/tests/lib/alone.sh" sh "$0"
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
bench_has HAVE_OPENBLAS || skip_all "built without OpenBLAS"
[ -n "${HOSTS_SSH-}" ] || skip_all "no namespace of the network can be made here"
sshd=$(PATH=$PATH:/usr/sbin:/sbin command -v sshd) && command -v ssh-keygen >/dev/null && command -v ip >/dev/null ||
	skip_all "sshd or ip is not installed (Debian: openssh-server, iproute2)"
ip link set lo up
bench_mpi true || skip_all "$bench_no_mpi"
plan 6
cd "$tmp" || exit 1
mkdir disk

# The second host, and a link to it.
spawn unshare --net --uts sleep 600
second=$spawned
there() { nsenter -t "$second" -n -u "$@"; }
separate() { [ "$(readlink "/proc/$second/ns/net")" != "$(readlink /proc/self/ns/net)" ]; }
wait_for 20 separate
hostname one
there hostname two
there ip link set lo up
ip link add here type veth peer name there netns "$second"
ip addr add 10.77.0.1/24 dev here && ip link set here up
there ip addr add 10.77.0.2/24 dev there && there ip link set there up

# Its logins.
ssh-keygen -q -t ed25519 -N "" -f host && ssh-keygen -q -t ed25519 -N "" -f user
mount -t tmpfs none /run && mkdir -p /run/sshd
cat >sshd.conf <<-END_CONF
	ListenAddress 10.77.0.2
	HostKey $tmp/host
	AuthorizedKeysFile $tmp/user.pub
	StrictModes no
	PidFile none
	PermitRootLogin prohibit-password
END_CONF
spawn nsenter -t "$second" -n -u "$sshd" -D -e -f "$tmp/sshd.conf" >sshd.log 2>&1
login="ssh -i $tmp/user -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
logs_in() { $login 10.77.0.2 true 2>ssh.err; }
check "ssh logs in to the second host" wait_for 20 logs_in

small="model=gpt-mini model.layers=2 model.hidden=64 model.vocab=256 model.block=16 warmup_steps=0 steps=4 optimizer.name=adamw progress=0"
losses() { jq -c '.job_results[0].metrics.losses' "$1"/*/*/run_results.json; }
# on_hosts KEY...: a rank on each
on_hosts() {
	# shellcheck disable=SC2086
	OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_plm_rsh_agent="$login" OMPI_MCA_pml=ob1 \
		timeout 600 mpirun --host 10.77.0.1:1,10.77.0.2:1 --bind-to none --mca btl tcp,self --mca btl_tcp_if_include 10.77.0.0/24 \
		--mca oob_tcp_if_include 10.77.0.0/24 --wdir "$tmp" -n 2 "$builddir/ckptbench" train $small batch_size=4 storage=disk \
		path="$tmp/disk" format=dcp "$@" >out 2>&1
}
sent() { sed -n 's/^ *here: *//p' /proc/net/dev | awk '{ print $9 }'; }
# shellcheck disable=SC2086
bench train $small batch_size=8 out=alone >/dev/null
before=$(sent)
for mode in ddp fsdp; do
	check "$mode: ranks on two hosts train, and save beside their steps" on_hosts train.mode=$mode save=async steps_per_save=2 \
		keep=on out="$tmp/$mode"
	grep -v "^$" out | head -n 4 | sed 's/^/# /'
	check "$mode: they learn what one rank learns with twice the batch" jq -en --argjson a "$(losses alone)" \
		--argjson b "$(losses $mode)" '($a | length) == ($b | length) and all(range($a | length); ($a[.] - $b[.] | fabs) < 1e-5 * $a[.])'
done
bytes=$(($(sent) - before))
diag "$bytes bytes went to the second host"
check "gradients went over the link" test $bytes -gt 1000000

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kubernetes.sh: the samples for Kubernetes are right by the published schemas, name options that exist, ask for the
# memory that the tuning formula wants, and have the sidecar outlive the trainer.
. "$srcdir/tests/lib/tap.sh"
: "${CKPTFS_PEERS:=${HOME:-/root}/.cache/ckptfs/peers}"
for python in python3 /usr/bin/python3 ''; do
	[ -n "$python" ] || skip_all "python3 with yaml is not installed (Debian: python3-yaml)"
	! "$python" -c 'import yaml' 2>/dev/null || break
done
plan 12
cd "$srcdir/conf/kubernetes" || exit 1
kubeconform=$CKPTFS_PEERS/kubernetes/kubeconform
valid() { "$kubeconform" -strict -schema-location "$CKPTFS_PEERS/kubernetes/schemas/{{.ResourceKind}}{{.KindSuffix}}.json" "$@"; }
for file in csi.yaml sidecar.yaml mpijob.yaml train.yaml podmonitor.yaml; do
	if [ -x "$kubeconform" ]; then check "$file follows the published schema" valid $file
	else skip "$file follows the published schema" "kubeconform is not installed: tests/admin/setup.sh does it"; fi
done
if [ -x "$kubeconform" ]; then
	sed 's/restartPolicy: Always/restartsPolicy: Always/' csi.yaml >"$tmp/wrong.yaml"
	check_fails "a field that Kubernetes does not know is found" valid "$tmp/wrong.yaml"
else
	skip "a field that Kubernetes does not know is found" "kubeconform is not installed: tests/admin/setup.sh does it"
fi
cat >"$tmp/pods.py" <<'END_PY'
# What each sidecar of ckptfs says: a line of file, options, the mount's memory and transfers, limits, and order.
import sys, yaml
unit = {"M": 1 << 20, "G": 1 << 30, "Mi": 1 << 20, "Gi": 1 << 30}
def size(s): return int(s.rstrip("GMi")) * unit[s.lstrip("0123456789")]
def pods(node):
    if isinstance(node, dict):
        if "initContainers" in node:
            yield node
        for v in node.values():
            yield from pods(v)
    elif isinstance(node, list):
        for v in node:
            yield from pods(v)
for path in sys.argv[1:]:
    for pod in pods(yaml.safe_load(open(path))):
        side = pod["initContainers"][0]
        args = side["args"]
        text = args[args.index("-o") + 1]
        options = dict(o.split("=", 1) if "=" in o else (o, "on") for o in text.split(","))
        wants = size(options["memory"]) + (10 + int(options["connections"]) + 2) * (1 << 20)
        limit = size(side["resources"]["limits"]["memory"])
        disk = size(side["resources"]["requests"]["ephemeral-storage"])
        # The limits of all containers together are what the kubelet holds the whole pod to.
        evicted = "ephemeral-storage" in side["resources"]["limits"]
        volume = next(v for v in pod["volumes"] if v["name"] == "spill")
        ok = (limit >= wants and side["resources"]["requests"]["memory"] == side["resources"]["limits"]["memory"]
              and not evicted and size(options["spill"]) < size(volume["emptyDir"]["sizeLimit"]) < disk)
        ordered = side["restartPolicy"] == "Always" and "startupProbe" in side and pod["terminationGracePeriodSeconds"] >= 300
        print(path, "fits" if ok else "too small", "ordered" if ordered else "unordered", " ".join(options))
END_PY
"$python" "$tmp/pods.py" csi.yaml sidecar.yaml mpijob.yaml train.yaml >"$tmp/pods"
expect_eq "csi.yaml sidecar.yaml mpijob.yaml train.yaml " "$(awk '$2 == "fits" { printf "%s ", $1 }' "$tmp/pods")" \
	"the memory and the disk that each sidecar may use are what its options need"
expect_eq 4 "$(grep -c ' ordered ' "$tmp/pods")" "each sidecar starts before the program and ends after it"
"$builddir/ckptfs" -o help >"$tmp/help" 2>&1
expect_eq "" "$(cut -d ' ' -f 4- "$tmp/pods" | tr ' ' '\n' | sort -u | while read -r option; do
	grep -qE "^ *$option\b" "$tmp/help" || echo "$option"
done)" "each option of a sidecar exists"
# What the launcher of a file runs, with ranks for each slot.
command_of() {
	python3 - "$1" <<-'END_PY'
		import sys, yaml
		job = yaml.safe_load(open(sys.argv[1]))["spec"]
		replicas = job["mpiReplicaSpecs"]
		args = replicas["Launcher"]["template"]["spec"]["containers"][0]["args"]
		assert int(args[args.index("-n") + 1]) == replicas["Worker"]["replicas"] * job["slotsPerWorker"]
		print(*args[args.index("ckptbench") + 1:])
	END_PY
}
for run in "mpijob.yaml size=1M" "train.yaml model=gpt-mini"; do
	# shellcheck disable=SC2046
	check "the command of ${run% *} is one, with a rank for each slot" "$builddir/ckptbench" $(command_of "${run% *}" || echo wrong) \
		storage=null "${run#* }" --dry-run
done
expect_eq "ckptfs: runs" "$(sed -n 's/^ *\(ckptfs: .*\)/\1/p' ./*.yaml | sort -u)" "PodMonitor selects the pods that have a mount"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# setup.sh: installs what kubernetes.sh needs into $CKPTFS_PEERS/kubernetes: kubeconform, and the published schemas of
# Kubernetes, of its operator of MPI jobs and of Prometheus' operator, from PyPI and the Go module proxy.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
to=${CKPTFS_PEERS:=$HOME/.cache/ckptfs/peers}/kubernetes
[ ! -e "$to/schemas/podmonitor-monitoring-v1.json" ] || exit 0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$to/schemas"
for python in python3 /usr/bin/python3 ''; do
	[ -n "$python" ] || { echo "setup.sh: python3 with yaml is not installed (Debian: python3-yaml)" >&2; exit 1; }
	! "$python" -c 'import yaml' 2>/dev/null || break
done
GOBIN=$to go install github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0
module() { go mod download -json "$1" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p'; }
"$python" -m venv "$work/venv"
"$work/venv/bin/pip" --disable-pip-version-check install --quiet --no-cache-dir --no-deps --target "$work" kubernetes-validate==1.37.0
"$python" "$here/schemas.py" "$work/kubernetes_validate/kubernetes-json-schema/v1.37.0-local-strict/job-batch-v1.json" "$to/schemas/job-batch-v1.json"
"$python" "$here/schemas.py" "$(module github.com/kubeflow/mpi-operator@v0.6.0)/manifests/base/kubeflow.org_mpijobs.yaml" \
	"$to/schemas/mpijob-kubeflow-v2beta1.json"
"$python" "$here/schemas.py" \
	"$(module github.com/prometheus-operator/prometheus-operator@v0.85.0)/example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml" \
	"$to/schemas/podmonitor-monitoring-v1.json"

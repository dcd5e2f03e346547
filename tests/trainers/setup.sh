#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# setup.sh: puts the libraries of requirements.txt into $CKPTFS_PEERS/trainers, a virtual environment,
# unless those are there already. Takes two minutes and 3 GB, most of it torch.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
: "${CKPTFS_PEERS:=${HOME:-/root}/.cache/ckptfs/peers}"
venv=$CKPTFS_PEERS/trainers

say() { echo "setup.sh: $*" >&2; }

stamp=$(cat "$here/requirements.txt" "$here/requirements-0.7.txt" "$here/cuda_stubs.py" "$0" | sha256sum)
[ "$stamp" != "$(cat "$venv/stamp" 2>/dev/null)" ] || exit 0

# The versions are those of one Python; the names under which it may be installed.
for python in python3.11 /usr/bin/python3 python3; do
	[ "$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)" = 3.11 ] &&
		"$python" -c 'import ensurepip' 2>/dev/null && break
	python=
done
[ -n "$python" ] || { say "Python 3.11 with its venv is not installed (Debian 12: python3-venv)"; exit 1; }

rm -rf "$venv"
mkdir -p "$CKPTFS_PEERS"
"$python" -m venv "$venv"
pip() { "$venv/bin/pip" --disable-pip-version-check install -q --no-cache-dir --no-deps "$@"; }
pip --no-compile -r "$here/requirements.txt"
pip --no-compile -t "$venv/safetensors-0.7" -r "$here/requirements-0.7.txt"
site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
"$venv/bin/python" "$here/cuda_stubs.py" "$site/torch/lib"
"$venv/bin/python" -c 'import torch; assert not torch.cuda.is_available() or torch.zeros(1) == 0'
echo "$stamp" >"$venv/stamp"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# setup.sh: puts CUDA's compiler and runtime and NCCL of requirements.txt into $CKPTFS_PEERS/cuda, as
# toolkit and nccl, unless those are there already: for --with-cuda and --with-nccl of configure.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
: "${CKPTFS_PEERS:=${HOME:-/root}/.cache/ckptfs/peers}"
dir=$CKPTFS_PEERS/cuda

stamp=$(cat "$here/requirements.txt" "$0" | sha256sum)
[ "$stamp" != "$(cat "$dir/stamp" 2>/dev/null)" ] || exit 0

for python in /usr/bin/python3 python3; do
	"$python" -c 'import ensurepip' 2>/dev/null && break
	python=
done
[ -n "$python" ] || { echo "setup.sh: Python with its venv is not installed (Debian: python3-venv)" >&2; exit 1; }

rm -rf "$dir"
mkdir -p "$dir"
"$python" -m venv "$dir/venv"
"$dir/venv/bin/pip" --disable-pip-version-check install -q --no-cache-dir --no-deps --no-compile \
	-t "$dir/packages" -r "$here/requirements.txt"
rm -rf "$dir/venv"
ln -s packages/nvidia/cu13 "$dir/toolkit"
ln -s packages/nvidia/nccl "$dir/nccl"
# Linkers look for names without a version.
for lib in "$dir"/nccl/lib/lib*.so.*; do
	ln -sf "${lib##*/}" "${lib%%.so.*}.so"
done
chmod +x "$dir"/toolkit/bin/* "$dir"/toolkit/nvvm/bin/*
"$dir/toolkit/bin/nvcc" --version >/dev/null
echo "$stamp" >"$dir/stamp"

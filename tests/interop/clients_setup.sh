#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# clients_setup.sh: puts the libraries of requirements.txt into $CKPTFS_PEERS/clients, a virtual
# environment, unless those are there already. torch is that of tests/trainers/setup.sh, if it is there.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
: "${CKPTFS_PEERS:=${HOME:-/root}/.cache/ckptfs/peers}"
venv=$CKPTFS_PEERS/clients

# one at a time: tests run beside each other
mkdir -p "$CKPTFS_PEERS"
exec 9>"$CKPTFS_PEERS/clients.lock"
flock 9
stamp=$(cat "$here/requirements.txt" "$0" | sha256sum)
[ "$stamp" != "$(cat "$venv/stamp" 2>/dev/null)" ] || exit 0
for python in python3.11 /usr/bin/python3 python3; do
	"$python" -c 'import ensurepip' 2>/dev/null && break
	python=
done
[ -n "$python" ] || { echo "Python with its venv is not installed (Debian: python3-venv)" >&2; exit 1; }
rm -rf "$venv"
mkdir -p "$CKPTFS_PEERS"
"$python" -m venv "$venv"
"$venv/bin/pip" --disable-pip-version-check install -q --no-cache-dir --no-compile --no-deps \
	-r "$here/requirements.txt"
site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
echo "$CKPTFS_PEERS/trainers/lib/python3.11/site-packages" >"$site/zz-trainers.pth"
echo "$stamp" >"$venv/stamp"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# venv_setup.sh clients|localstack: puts the libraries of clients.txt or localstack.txt into $CKPTFS_PEERS/clients or
# /localstack, a virtual environment, unless those are there already. torch is that of tests/trainers/setup.sh, if it is
# there; the program localstack-s3, which needs the port in $PORT and a folder in $FOLDER, goes into $CKPTFS_PEERS/bin.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
: "${CKPTFS_PEERS:=${HOME:-/root}/.cache/ckptfs/peers}"
venv=$CKPTFS_PEERS/$1

# one at a time: tests run beside each other
mkdir -p "$CKPTFS_PEERS/bin"
exec 9>"$venv.lock"
flock 9
stamp=$(cat "$here/$1.txt" "$0" | sha256sum)
[ "$stamp" != "$(cat "$venv/stamp" 2>/dev/null)" ] || exit 0
for python in python3.11 /usr/bin/python3 python3; do
	"$python" -c 'import ensurepip' 2>/dev/null && break
	python=
done
[ -n "$python" ] || { echo "Python with its venv is not installed (Debian: python3-venv)" >&2; exit 1; }
rm -rf "$venv"
"$python" -m venv "$venv"
"$venv/bin/pip" --disable-pip-version-check install -q --no-cache-dir --no-compile --no-deps -r "$here/$1.txt"
case $1 in
clients)
	site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
	echo "$CKPTFS_PEERS/trainers/lib/python3.11/site-packages" >"$site/zz-trainers.pth"
	;;
localstack)
	# The service of S3 alone, which asks nobody outside this machine for anything.
	cat >"$CKPTFS_PEERS/bin/localstack-s3" <<-END
	#!/bin/sh
	export SERVICES=s3 STRICT_SERVICE_LOADING=1 EAGER_SERVICE_LOADING=1 DISABLE_EVENTS=1 SKIP_SSL_CERT_DOWNLOAD=1
	export OVERRIDE_IN_DOCKER=0 GATEWAY_SERVER=hypercorn GATEWAY_LISTEN=127.0.0.1:\$PORT FILESYSTEM_ROOT=\$FOLDER DNS_ADDRESS=0
	export PYTHONPYCACHEPREFIX=$CKPTFS_PEERS/pycache
	exec "$venv/bin/python" -m localstack.runtime.main
	END
	chmod +x "$CKPTFS_PEERS/bin/localstack-s3"
	;;
esac
echo "$stamp" >"$venv/stamp"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# awscrt.sh: builds aws-c-s3 and what it stands on from the source package that awscrt.txt names, into
# DIR or else $CKPTFS_PEERS/awscrt, unless that is there already; for configure --with-awscrt=DIR. Needs
# cmake, Python with its venv and OpenSSL's headers, and takes a minute on two cores.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
: "${CKPTFS_PEERS:=${HOME:-/root}/.cache/ckptfs/peers}"
dir=${1:-$CKPTFS_PEERS/awscrt}

die() {
	echo "awscrt.sh: $*" >&2
	exit 1
}

stamp=$(cat "$here/awscrt.txt" "$0" | sha256sum)
[ "$stamp" != "$(cat "$dir/stamp" 2>/dev/null)" ] || exit 0
command -v cmake >/dev/null || die "cmake is not installed (Debian: cmake)"
python3 -c 'import ensurepip' 2>/dev/null || die "Python's venv is not installed (Debian: python3-venv)"

tmp=$(mktemp -d "${TMPDIR:-/tmp}/awscrt.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM HUP

# pip compares the package with the sum in awscrt.txt.
python3 -m venv "$tmp/venv"
"$tmp/venv/bin/pip" --disable-pip-version-check download -q --no-cache-dir --no-deps --no-binary :all: \
	-d "$tmp/sdist" -r "$here/awscrt.txt"
mkdir "$tmp/src" "$tmp/build"
tar -xzf "$tmp"/sdist/awscrt-*.tar.gz -C "$tmp/src" --strip-components=1

# What S3 does not stand on takes a quarter of the time.
sed -i -E '/aws-c-(mqtt|event-stream)/d' "$tmp/src/crt/CMakeLists.txt"

rm -rf "$dir"
# Its own crypto library is left out: the system's is what libstore uses, too.
cmake -S "$tmp/src/crt" -B "$tmp/build" -DCMAKE_BUILD_TYPE=Release -DUSE_OPENSSL=ON -DBUILD_TESTING=OFF \
	-DCMAKE_INSTALL_PREFIX="$dir" -DCMAKE_INSTALL_LIBDIR=lib >"$tmp/log" 2>&1 &&
	cmake --build "$tmp/build" -j"$(nproc)" --target install >>"$tmp/log" 2>&1 || {
	tail -n 30 "$tmp/log" >&2
	die "the build failed: see above"
}

# One library of one object that shows its own names alone: it has another cJSON inside.
cd "$dir/lib"
ld -r -o "$tmp/awscrt.o" --whole-archive libaws-*.a libs2n.a
objcopy --wildcard --keep-global-symbol='aws_*' "$tmp/awscrt.o"
rm -rf ./*
ar rcs libawscrt.a "$tmp/awscrt.o"
echo "$stamp" >"$dir/stamp"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# setup.sh: builds the suites that cargo has into $CKPTFS_PEERS/bin, unless those versions are there.
set -eu
: "${CKPTFS_PEERS:=${HOME:-/root}/.cache/ckptfs/peers}"

while read -r name version; do
	case $("$CKPTFS_PEERS/bin/$name" --version 2>/dev/null) in
	*" $version") continue ;;
	esac
	cargo install -q --locked --force --root "$CKPTFS_PEERS" --version "$version" "$name"
done <<-EOF
pjdfstest 0.2.2
fsx 0.3.2
EOF

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mandoc finds nothing to warn about in any page.
. "${srcdir:?}/tests/lib/tap.sh"
command -v mandoc >/dev/null || skip_all "mandoc is not installed"

pages="$srcdir/man/ckptfs.1 $srcdir/man/ckptfs-admin.7 $srcdir/man/ckptfs-credentials.7 $srcdir/man/ckptctl.8 $srcdir/man/mount.ckptfs.8 $srcdir/man/storesim.1 $builddir/man/ckptbench.1 $builddir/man/ckptfs.conf.5"
plan 8
for page in $pages; do
	check "$(basename "$page") is clean" mandoc -Tlint -W warning "$page"
done

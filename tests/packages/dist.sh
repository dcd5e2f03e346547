#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Two people who run `make dist` in clones of their own get the same bytes.
. "${srcdir:?}/tests/lib/tap.sh"
git -C "$srcdir" rev-parse --verify HEAD >/dev/null 2>&1 || skip_all "this is no clone of git"
for tool in autoreconf xz; do
	command -v $tool >/dev/null || skip_all "$tool is not installed"
done
plan 4

# The second build of the clone finds what the first one found out about the machine.
archive() (
	umask "$2"
	git clone -q "$srcdir" "$tmp/$1" && cd "$tmp/$1" && autoreconf -i && mkdir b && cd b &&
		TZ=$3 LC_ALL=$4 ../configure -q --cache-file="$tmp/cache" --without-mpi --without-cuda &&
		TZ=$3 LC_ALL=$4 make dist && cp ckptfs-*.tar.xz "$tmp/$1.tar.xz"
)
unset SOURCE_DATE_EPOCH
check "a clone makes an archive" archive one 022 UTC C
check "another clone makes one, of another user's umask, time zone and language" archive two 077 Asia/Tokyo C.UTF-8
check "both have the same bytes" cmp "$tmp/one.tar.xz" "$tmp/two.tar.xz"
expect_eq "$(git -C "$srcdir" log -1 --format=%ct)" \
	"$(mkdir "$tmp/out" && tar -xJf "$tmp/one.tar.xz" -C "$tmp/out" && find "$tmp/out" -type f -printf '%Ts\n' | sort -u)" \
	"the files in it have the time of the commit"

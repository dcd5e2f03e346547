#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# packages.sh: packages of Debian and RPM are built from the sources, installed, used, upgraded and removed in a Debian
# of its own.
. "${srcdir:?}/tests/lib/mount.sh"
. "$srcdir/tests/lib/hardened.sh"
[ "$(id -u)" -eq 0 ] || lacks packages "not root"
git -C "$srcdir" rev-parse --verify HEAD >/dev/null 2>&1 || skip_all "this is no clone of git"
for tool in autoreconf dpkg-buildpackage dh lintian mmdebstrap rpmbuild pkg-config; do
	command -v $tool >/dev/null || lacks packages "$tool is not installed"
done
grep -q bookworm /etc/os-release || lacks packages "this is not Debian 12"
need_fuse
plan 42
root=$tmp/root debs=$tmp/new
version=$(sed -n 's/^AC_INIT(\[ckptfs\], \[\([^]]*\)\].*/\1/p' "$srcdir/configure.ac")

export DEB_BUILD_OPTIONS="noautodbgsym parallel=$(nproc)"
mkdir "$tmp/src" && (cd "$srcdir" && git ls-files -z | xargs -0 tar -cf - | tar -xf - -C "$tmp/src")
build_debs() (cd "$tmp/src" && dpkg-buildpackage -us -uc -b >"$tmp/build.log" 2>&1 || { tail -n 20 "$tmp/build.log"; false; })
check "dpkg-buildpackage makes the packages" build_debs
expect_eq "$version" "$(cd "$srcdir" && dpkg-parsechangelog -S Version)" "the packages have the version of the sources"
expect_eq "ckptfs-bench ckptfs-dev ckptfs libckptstore0" "$(cd "$tmp" && echo *.deb | sed 's/_[^ ]*//g')" \
	"packages of the mount, the benchmark, the library and its header are made"
check "lintian finds no error" lintian --allow-root --fail-on error --tag-display-limit 0 "$tmp"/*.changes
expect_eq "" "$(grep '^dpkg-gensymbols: ' "$tmp/build.log")" "the list of symbols has those of the library and no others"

for deb in "$tmp"/*.deb; do dpkg-deb -x "$deb" "$tmp/unpacked"; done
expect_eq "" "$(cd "$tmp/unpacked/usr" && lacks_hardening bin/ckptfs bin/ckptctl bin/ckptbench bin/storesim lib/*/libckptstore.so.0.*.*)" \
	"each program and library of the packages is hardened"

# The next version differs in its number.
next() {
	mkdir "$debs"
	for deb in "$tmp"/*.deb; do
		rm -rf "$tmp/unpacked"
		dpkg-deb -R "$deb" "$tmp/unpacked" &&
			sed -i "s/^Version: .*/&+next/; s/(= \([^)]*\))/(= \1+next)/" "$tmp/unpacked/DEBIAN/control" &&
			dpkg-deb --root-owner-group -Znone -b "$tmp/unpacked" "$debs" >&2 || return
	done
}
check "the next version of the packages is made" next

# A Debian in which commands run with a /proc and /dev/fuse of its own, whose mounts end with the command.
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
mirror=$(sed -n 's/^URIs: *\(.*debian\)$/\1/p; s/^deb \([^ ]*debian\) .*/\1/p' /etc/apt/sources.list \
	/etc/apt/sources.list.d/debian.sources 2>/dev/null | head -n 1)
alone() { unshare --mount --propagation private sh "$srcdir/tests/lib/alone.sh" "$@"; }
check "a Debian is made" alone mmdebstrap --mode=root --variant=minbase --include=mount \
	--aptopt='APT::Install-Recommends "false"' "$release" "$root" "${mirror:-http://deb.debian.org/debian}"
at_exit 'rm -rf --one-file-system "$root"'
within() {
	timeout 300 unshare --mount --pid --fork --propagation private sh "$srcdir/tests/lib/alone.sh" sh -c '
		mount -t proc proc "$0/proc" && touch "$0/dev/fuse" && mount --bind /dev/fuse "$0/dev/fuse" &&
			shift 0 && exec chroot "$0" env -i PATH=/usr/sbin:/usr/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive sh -c "$1"' \
		"$root" "$1"
}
mkdir "$root/packages"
cp "$tmp"/*.deb "$debs"/*.deb "$root/packages"
# used_by_all: what a user does, with everything installed
cat >"$root/packages/use" <<'END'
set -e
command -v ckptfs ckptctl ckptbench storesim mount.ckptfs >/dev/null
mkdir -p /srv/objects /mnt/b
storesim --data /srv/objects --bucket bucket >/srv/store 2>/srv/store.log &
store=$!
for i in $(seq 1200); do grep -q listening /srv/store && break; sleep 0.1; done
url=$(sed -n 's/^listening on //p' /srv/store)
mount -t ckptfs s3://bucket /mnt/b -o "endpoint=$url,anonymous,region=us-east-1"
echo bytes >/mnt/b/file
[ "$(ckptctl list | cut -f 1,3)" = "/mnt/b	serving" ]
eval "$1"
[ "$(cat /mnt/b/file)" = bytes ]
if [ -x /packages/put_get ]; then AWS_ACCESS_KEY_ID=a AWS_SECRET_ACCESS_KEY=b /packages/put_get s3://bucket key text "$url"; fi
umount /mnt/b
kill $store
rm -r /srv/*
END

# steps CONTAINERFILE: does what it says in a copy of the Debian, with its context in $tmp: only what is understood here
steps() {
	sed -e :a -e '/\\$/N; s/\\\n[[:space:]]*//; ta' -e '/^#/d' "$1" >"$tmp/steps"
	while read -r word rest; do
		case $word in
		FROM) [ "$rest" = "debian:$release-slim" ] && cp -a "$root" "$root.image" ;;
		COPY) mkdir -p "$root.image${rest##* }" && (cd "$tmp" && eval "cp ${rest% *} '$root.image${rest##* }'") ;;
		RUN) root=$root.image within "$rest" </dev/null ;;
		ENTRYPOINT) echo "$rest" | tr -d '[],"' >"$root.image/entrypoint" ;;
		*) echo "$word is not known to this test" && false ;;
		esac || return
	done <"$tmp/steps"
}
at_exit 'rm -rf --one-file-system "$root.image"'
check "the steps of the Containerfile make an image" steps "$srcdir/packaging/Containerfile"
# The store is of this machine, the mount of the image.
cat >"$root.image/use" <<'END'
set -e
mkdir /mnt/b
export AWS_ACCESS_KEY_ID=$2 AWS_SECRET_ACCESS_KEY=$3
$(cat /entrypoint) s3://test-bucket /mnt/b -o "endpoint=$1,region=us-east-1" &
for i in $(seq 1200); do mountpoint -q /mnt/b && break; sleep 0.1; done
echo bytes >/mnt/b/file
umount /mnt/b
wait $!
END
start_store
in_image() { root=$root.image within "sh /use $CKPTFS_TEST_ENDPOINT $AWS_ACCESS_KEY_ID $AWS_SECRET_ACCESS_KEY"; }
check "a container of the image mounts" in_image
expect_eq bytes "$(store_cat file)" "what was written in the container is at the store"

check "apt installs them with what they need" within "apt-get update && apt-get install -y /packages/*_${version}_*.deb"
check "dpkg finds each file as it was made" within "dpkg --verify ckptfs ckptfs-bench ckptfs-dev libckptstore0"
for file in lib/systemd/system/ckptfs@.service usr/share/doc/ckptfs/examples/fstab etc/ckptfs \
	usr/share/bash-completion/completions/mount.ckptfs usr/share/man/man7/ckptfs-admin.7.gz \
	usr/share/doc/ckptfs/THIRD-PARTY usr/share/doc/ckptfs/ckptfs.cdx.json; do
	check "/$file is installed" test -e "$root/$file"
done

# The pages are followed on a machine that has the packages, and what their commands want beside.
check "apt installs what the pages name beside them" within "apt-get install -y attr ca-certificates jq libopenblas0-pthread openmpi-bin"
examples() {
	CKPTFS_DEBIAN=$root sh "$srcdir/tests/admin/examples.sh" >"$tmp/examples"
	examples_rc=$?
	grep -v '^ok ' "$tmp/examples"
	[ $examples_rc -eq 0 ] && ! grep -q '^1\.\.0 ' "$tmp/examples"
}
name="each command of the pages does what they say where the packages are installed"
if command -v openssl >/dev/null && command -v ip >/dev/null; then check "$name" examples
else skip "$name" "openssl or ip is not installed"; fi

# The example is what the header and the description for pkg-config say, with the compiler of this machine.
arch=$(dpkg-architecture -q DEB_HOST_MULTIARCH)
compile_example() {
	flags=$(PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_LIBDIR=$root/usr/lib/$arch/pkgconfig PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 \
		PKG_CONFIG_ALLOW_SYSTEM_LIBS=1 pkg-config --cflags --libs ckptstore) &&
		gcc -std=c11 -Wall -Wextra -Wpedantic -Werror -isystem "$root/usr/include/none" \
			"$root/usr/share/doc/ckptfs-$1/examples/put_get.c" $flags -Wl,-rpath-link,"$root/usr/lib/$arch" -o "$root/packages/put_get"
}
check "the example of the library is compiled with what is installed" compile_example dev
check "a bucket is mounted, and the example writes to the store" within "sh /packages/use true"
echo CKPTFS_URL=s3://b >"$root/etc/ckptfs/runs.env"
check "an upgrade leaves a mount as it is" within "sh /packages/use 'apt-get install -y /packages/*next*.deb'"
check "an upgrade brings the next version" within "dpkg-query -W -f '\${Version}' ckptfs | grep next"
check "the next version mounts" within "sh /packages/use true"
check "the packages are removed and purged" within "apt-get purge -y ckptfs ckptfs-bench ckptfs-dev libckptstore0"
# Nothing is left of a package; /run is empty after each boot.
left() {
	(cd "$root" && find . -xdev \( -path ./run -o -path ./packages -o -path ./var/lib/apt -o -path ./var/cache -o \
		-path ./var/log \) -prune -o -iname '*ckpt*' -print)
}
expect_eq "./etc/ckptfs" "$(left)" "a purge leaves nothing but what the administrator wrote"
check "the administrator's file is there after the purge" grep -q s3://b "$root/etc/ckptfs/runs.env"
rm -r "$root/etc/ckptfs"

# RPM, in the same Debian: the libraries are there. What is built is not what is measured: without optimizing.
expect_eq "$version" "$(sed -n 's/^Version: *//p' "$srcdir/packaging/ckptfs.spec")" \
	"the specification of RPM has the version of the sources"
mkdir -p "$tmp/rpm/SOURCES"
archive() (cd "$tmp/src" && make dist && mv ckptfs-*.tar.xz "$tmp/rpm/SOURCES")
check "the build tree of Debian makes an archive" archive
rpms() {
	rpmbuild -bb --nodeps --noclean --define "_topdir $tmp/rpm" --define "optflags -O0" --define "_dbpath $tmp/rpmdb" \
		--define "_libdir /usr/lib/$arch" \
		--define "_smp_mflags -j$(nproc)" "$@"
}
check "rpmbuild makes the packages of the archive" rpms "$srcdir/packaging/ckptfs.spec"
# What is wanted by name is called so in Fedora and RHEL; libraries are wanted by their sonames.
wanted() { rpm -qp --requires "$tmp"/rpm/RPMS/*/*-1.*.rpm | sed 's/ .*//' | grep -vE '^(lib.*\.so|ld-linux|rtld|rpmlib)' | sort -u | xargs; }
expect_eq "/bin/sh /sbin/ldconfig /usr/bin/pkg-config fuse3 libckptstore0 openmpi" "$(wanted)" "the packages of RPM want what Fedora and RHEL have by its name"
sed 's/^Release: .*/Release: 2/' "$srcdir/packaging/ckptfs.spec" >"$tmp/next.spec"
next_rpms() {
	for built in "$tmp"/rpm/BUILDROOT/*; do
		mv "$built" "$(echo "$built" | sed 's/-1\./-2./')" || return
	done
	rpms --short-circuit "$tmp/next.spec"
}
check "rpmbuild makes the next release" next_rpms
on_root() { rpm --root "$root" --nodeps "$@"; }
check "rpm installs them" on_root -i "$tmp"/rpm/RPMS/*/*-1.*.rpm
check "the example is compiled with what rpm installed" compile_example devel
check "a bucket is mounted by what rpm installed" within "ldconfig && sh /packages/use true"
check "rpm upgrades them" on_root -U "$tmp"/rpm/RPMS/*/*-2.*.rpm
check "the next release mounts" within "sh /packages/use true"
check "rpm removes them" on_root -e ckptfs ckptfs-bench ckptfs-devel libckptstore0
expect_eq "" "$(left)" "rpm leaves nothing"

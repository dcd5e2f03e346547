#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# carry.sh BUILD ARCHIVE.tar.xz: packs what a bare machine with a GPU needs to try a build there: the programs of the
# build, which is one with CUDA and without MPI, their libraries, and the tests of this folder. Unpacked anywhere there,
# tests/gpu/carried.sh runs them; cuBLAS is the machine's, and so is torch.
set -eu
[ $# -eq 2 ] || { sed -n 's/^# //;3,5p' "$0" >&2; exit 2; }
src=$(cd "$(dirname "$0")/../.." && pwd) build=$(cd "$1" && pwd)
grep -q '^#define HAVE_CUDA 1$' "$build/config.h" || { echo "carry.sh: $build: configure it --with-cuda=DIR" >&2; exit 1; }
! grep -q '^#define HAVE_MPI 1$' "$build/config.h" || { echo "carry.sh: $build: configure it --without-mpi" >&2; exit 1; }
programs="ckptbench ckptctl ckptfs storesim tests/gpu/math tests/lib/fdo tests/lib/objects"
# shellcheck disable=SC2086 # a list
make -s -C "$build" $programs

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir/lib" "$dir/libc" "$dir/tests" "$dir/build/tests/gpu" "$dir/build/tests/lib"
cp -r "$src/tests/gpu" "$src/tests/lib" "$dir/tests"
cp "$src/LICENSE" "$dir"
cp "$build/config.h" "$dir/build"

# Programs stand beside a script of their name, which finds their libraries.
carry() {
	cp -L "$1" "$dir/$2.elf"
	strip "$dir/$2.elf"
	cat >"$dir/$2" <<'END'
#!/bin/sh
here=$0
until [ -d "${here%/*}/libc" ]; do here=${here%/*}; done
exec "${here%/*}/start" "$0.elf" "$@"
END
	chmod +x "$dir/$2"
}
for p in $programs; do carry "$build/$p" "build/$p"; done
for p in jq curl; do carry "$(command -v $p)" "build/$p"; done

# The archive's libc is for machines whose own is older.
blas=$(ldconfig -p | sed -n 's/.*libopenblas\.so\.0 .*=> //p' | head -n 1)
cp -L "$blas" "$dir/lib"
ldd "$dir"/build/*.elf "$dir"/build/*/*/*.elf "$blas" | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p' | sort -u |
	while read -r lib; do
		case ${lib##*/} in
		libc.so* | libm.so* | libdl.so* | librt.so* | libpthread.so* | libresolv.so* | libgcc_s.so*) cp -L "$lib" "$dir/libc" ;;
		*) cp -nL "$lib" "$dir/lib" ;;
		esac
	done
cp -L "$(ldd /bin/sh | sed -n 's/^[[:space:]]*\(\/[^ ]*ld-linux[^ ]*\).*/\1/p')" "$dir/libc/loader"
cat >"$dir/start" <<'END'
#!/bin/sh
root=${0%/*}
[ ! -e "$root/own" ] || exec "$root/libc/loader" --library-path "$root/libc:$root/lib:$(cat "$root/own"):${LD_LIBRARY_PATH-}" "$@"
LD_LIBRARY_PATH=$root/lib:${LD_LIBRARY_PATH-} exec "$@"
END
chmod +x "$dir/start"
tar -C "$dir" -cJf "$2" .

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Includes point one way (base <- store <- mount, base <- store.h <- bench), and each foreign
# library is used behind one door.
. "${srcdir:?}/tests/lib/tap.sh"
cd "$srcdir" || exit 1
plan 22

# room NAME DIR ALLOWED [PRUNE]: the "..." includes of C files below DIR match the pattern ALLOWED.
room() {
	check "$1 includes only what it may" awk -v allowed="$3" '
		/^#include "/ {
			split($0, part, "\"")
			if (part[2] !~ allowed) { print FILENAME ":" FNR ": " part[2]; bad = 1 }
		}
		END { exit bad }' $(find "$2" ${4:-} \( -name '*.[ch]' -o -name '*.cu' \) -print) /dev/null
}
room base fs/base '^base/'
room store fs/store '^(base/|store/|store\.h$)'
room move fs/move '^(base/|move/|store\.h$)'
room mount fs/mount '^(base/|mount/|move/move\.h$|store\.h$)'
room ctl fs/ctl '^(base/|ctl/|move/move\.h$|store\.h$)'
room bench bench '^(base/|bench/|store\.h$)' '-path bench/sim -prune -o'
room storesim bench/sim '^(base/|bench/sim/|sim/|bench/data/pattern\.h$)'
check "the public header needs libc alone" sh -c '! grep -n "^#include \"" include/store.h'

# door LIBRARY INCLUDES FILES: no file but those that the pattern FILES matches includes them.
door() {
	check "$1 is used behind its door" sh -c '
		outside=$(grep -rnE --include="*.[ch]" --include="*.cu" "^#include <($1)" fs bench include |
			grep -vE "^($2):" || true)
		[ -z "$outside" ] || { echo "$outside"; exit 1; }' sh "$2" "$3"
}
# The simulator is a server of its own; what it needs of TLS and HTTP is not a client's.
door libcurl 'curl/' 'fs/store/http/http[a-z_]*\.[ch]'
door OpenSSL 'openssl/' 'fs/base/digest\.c|fs/base/sign_rs256\.c|bench/sim/http/tls\.[ch]|bench/sim/identity/jwt\.c'
door expat 'expat' 'fs/base/text/xml\.c'
door cJSON 'cjson/' 'fs/base/text/json\.c'
door libyaml 'yaml\.h' 'fs/base/text/conf\.c'
door ISA-L 'isa-l' 'fs/base/digest\.c'
door libfuse 'fuse|fuse3/' 'fs/mount/daemon/session\.[ch]|fs/mount/ops/op(_[a-z_]*)?\.[ch]|bench/scenario/ceiling/ceiling_fuse\.c'
door libjpeg 'jpeg' 'bench/scenario/dataset/image_jpeg\.c'
door libarchive 'archive' 'bench/scenario/dataset/tar\.c'
door aws-c-s3 'aws/' 'bench/io/awscrt[a-z_]*\.[ch]'
door libs3 'libs3\.h' 'bench/io/io_libs3\.c'
door MPI 'mpi\.h' 'bench/coll/coll_mpi\.c'
door NCCL 'nccl' 'bench/coll/coll_nccl\.c'
door CUDA 'cuda' 'bench/dev/dev_cuda\.cu'

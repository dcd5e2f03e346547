#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Includes point one way, from room to room and from file to file, and each foreign library is used
# behind one door.
. "${srcdir:?}/tests/lib/tap.sh"
cd "$srcdir" || exit 1

# The rooms, and what each may include besides itself: rooms, or single headers.
cat >"$tmp/rooms" <<'END'
fs/base                 base/text/utf8.h
fs/base/text            base
fs/base/sign            base base/text
fs/base/control         base base/text/utf8.h
fs/base/machine         base
fs/base/record          base base/text
fs/store/http           base base/text/digits.h
fs/store/core           base base/text store/http store.h
fs/store/cred           base base/text base/sign store/http store/core store.h
fs/store/s3             base base/text base/sign store/http store/core store/cred store.h
fs/store/gcs            base base/text base/sign store/http store/core store/cred store.h
fs/move                 base base/record store.h
fs/ctl                  base base/text base/control base/machine base/record move/move.h store.h store/core/open_params.h
fs/mount/caller         base
fs/mount/read           base store.h
fs/mount/write          base base/machine base/record mount/read store.h
fs/mount/tree           base base/text store.h
fs/mount/core           base base/text mount/tree mount/write mount/read store.h
fs/mount/rename         base base/record move/move.h mount/core mount/tree mount/write mount/read store.h
fs/mount/ops            base mount/rename mount/caller mount/core mount/tree mount/write mount/read store.h
fs/mount/control        base base/control base/text store/http/http_once.h mount/core mount/tree mount/write mount/read store.h
fs/mount/daemon         base base/text base/machine mount/control mount/ops mount/rename mount/caller mount/core mount/tree mount/write mount/read store.h store/core/open_params.h
bench                   base bench/core bench/data
bench/core              base base/text store.h
bench/dev               base bench/core
bench/coll              base bench/core bench/dev
bench/data              base bench/core bench/dev
bench/format            base base/text bench/core bench/data
bench/io                base base/text bench/core store.h
bench/train             base bench/core bench/data bench/train/math bench/coll/coll_queue.h bench/coll/coll_team.h
bench/train/math        base bench/core
bench/measure           base base/text bench/core bench/io store.h
bench/report            base base/text bench/core bench/data bench/measure
bench/scenario/dcp      base base/text bench/core bench/data bench/format bench/measure bench/report
bench/scenario/async    base base/text bench/core bench/data bench/format bench/measure bench/report bench/scenario/train bench/train bench/train/math
bench/scenario/ceiling  base bench/core bench/data bench/measure bench/report store.h
bench/scenario/dataset  base bench/core bench/data bench/format bench/io bench/measure bench/report bench/scenario/train bench/train bench/train/math store.h
bench/scenario/mlperf   base bench/core bench/data bench/format bench/measure bench/report bench/scenario/dcp
bench/scenario/train    base base/text bench/core bench/data bench/format bench/measure bench/report bench/train bench/train/math
bench/scenario/suites   base base/text bench/core bench/data bench/format bench/measure bench/report bench/scenario/async bench/scenario/dcp
bench/scenario          base bench/core bench/data bench/format bench/io bench/measure bench/report bench/scenario/async store.h
bench/cli               base base/text bench/core bench/data bench/format bench/measure bench/report bench/scenario bench/scenario/ceiling bench/scenario/train store.h
bench/sim/store         base base/text bench/core/clock.h bench/core/pattern.h
bench/sim/http          base base/text base/sign bench/core/clock.h bench/sim/store
bench/sim/identity      base base/text base/sign bench/sim/http
bench/sim/gs            base base/text base/sign bench/sim/http bench/sim/store
bench/sim/s3            base base/text base/sign bench/sim/gs bench/sim/http bench/sim/identity bench/sim/store
bench/sim               base base/sign bench/sim/gs bench/sim/http bench/sim/identity bench/sim/s3 bench/sim/store
END
find fs bench \( -name '*.[ch]' -o -name '*.cu' \) -printf '%h %p\n' | sort >"$tmp/files"
cut -d ' ' -f 1 "$tmp/files" | uniq >"$tmp/dirs"
plan $(($(wc -l <"$tmp/rooms") + 20))

while read -r room allowed; do
	check "$room includes only what it may" awk -v room="$room" -v allowed="$allowed" '
		BEGIN { n = split(allowed, a, " "); for (i = 1; i <= n; i++) may[a[i]]; sub(/^fs\//, "", room); may[room] }
		/^#include "/ {
			split($0, part, "\""); dir = part[2]; sub(/\/[^\/]*$/, "", dir)
			if (!(dir in may) && !(part[2] in may)) { print FILENAME ":" FNR ": " part[2]; bad = 1 }
		}
		END { exit bad }' $(sed -n "s|^$room ||p" "$tmp/files") /dev/null
done <"$tmp/rooms"
check "every folder of C files is a room" sh -c 'cut -d " " -f 1 "$0" | sort | comm -13 - "$1" | tee "$2"; [ ! -s "$2" ]' \
	"$tmp/rooms" "$tmp/dirs" "$tmp/odd"
check "no room has more than 25 files" awk '{ n[$1]++ } END { for (d in n) if (n[d] > 25) { print d ": " n[d]; bad = 1 } exit bad }' \
	"$tmp/files"
# A unit is x.c and x.h, with the header x_int.h or x_i.h that its own files share.
cut -d ' ' -f 2 "$tmp/files" | xargs awk '
	function unit(f) { sub(/\.(c|h|cu|def)$/, "", f); sub(/_(int|i)$/, "", f); sub(/^fs\//, "", f); return f }
	/^#include "/ { split($0, part, "\""); if (unit(FILENAME) != unit(part[2])) print unit(FILENAME), unit(part[2]) }' |
	sort -u >"$tmp/units"
check "no file includes itself by way of others" sh -c 'tsort <"$0" >/dev/null 2>"$1" && [ ! -s "$1" ] || { cat "$1"; exit 1; }' \
	"$tmp/units" "$tmp/loops"
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
door OpenSSL 'openssl/' 'fs/base/digest\.c|fs/base/sign/sign_rs256\.c|bench/sim/http/tls\.[ch]|bench/sim/identity/jwt\.c'
door expat 'expat' 'fs/base/text/xml\.c'
door cJSON 'cjson/' 'fs/base/text/json\.c'
door libyaml 'yaml\.h' 'fs/base/text/conf\.c'
door ISA-L 'isa-l' 'fs/base/digest\.c'
door libfuse 'fuse|fuse3/' 'fs/mount/daemon/session\.[ch]|fs/mount/ops/op(_[a-z_]*)?\.[ch]|bench/scenario/ceiling/ceiling_fuse\.c'
door libmicrohttpd 'microhttpd' 'fs/mount/control/metrics_http\.c'
door libjpeg 'jpeg' 'bench/scenario/dataset/image_jpeg\.c'
door libarchive 'archive' 'bench/scenario/dataset/tar\.c'
door aws-c-s3 'aws/' 'bench/io/awscrt[a-z_]*\.[ch]'
door libs3 'libs3\.h' 'bench/io/io_libs3\.c'
door OpenBLAS 'cblas' 'bench/train/math/blas\.c'
door MPI 'mpi\.h' 'bench/coll/coll_mpi\.c'
door NCCL 'nccl' 'bench/coll/coll_nccl\.c'
door CUDA 'cuda' 'bench/dev/dev_cuda\.cu|bench/train/math/math_(cuda\.c|kernels\.cu)'

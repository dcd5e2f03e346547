#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hardened.sh: what was built is harder to attack by what compiler and linker add.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/hardened.sh"
for tool in readelf objdump cc; do command -v $tool >/dev/null || lacks packages "$tool is not installed"; done
plan 6
ulimit -c 0
harm=$builddir/tests/packages/overrun
expect_eq "" "$(cd "$builddir" && lacks_hardening ckptfs ckptctl ckptbench storesim)" "each program is hardened"

# All of them get the same options: an object without them has not what the compiler notes of one of them.
case $(uname -m) in
x86_64) note='IBT, SHSTK' ;;
aarch64) note='BTI, PAC' ;;
*) note='' ;;
esac
unprotected() { # those of CUDA's compiler are not
	(cd "$builddir" && find fs bench -name '*.o' ! -name dev_cuda.o ! -name math_kernels.o | xargs readelf -nW 2>/dev/null) >"$tmp/notes"
	awk -v note="$note" '/^File:/ { if (file && !found) print file; file = $2; found = 0; n++ }
		index($0, note) { found = 1 }
		END { if (!found) print file; if (n < 200) print n + 0, "objects" }' "$tmp/notes" | head -n 5
}
if [ "$note" ]; then
	expect_eq "" "$(unprotected)" "each object was compiled with the options of all"
else
	skip "each object was compiled with the options of all" "the machine's objects do not note them"
fi

# ended_by HOW: the status of a program that does harm: 134 is SIGABRT, 139 SIGSEGV
ended_by() {
	(exec "$harm" "$1") >/dev/null 2>&1
	echo $?
}
expect_eq 134 "$(ended_by heap)" "a program ends that writes behind a block of a size known only when it runs"
expect_eq 134 "$(ended_by stack)" "a program ends that writes over what a function needs to return"
expect_eq 139 "$(ended_by clash)" "a program ends whose frame is larger than what is left of the stack"

# The same without, so that what is looked for above is what is missing here.
harm=$tmp/plain
bare="-fno-stack-protector -fno-stack-clash-protection -U_FORTIFY_SOURCE"
[ "$(uname -m)" != x86_64 ] || bare="$bare -fcf-protection=none"
if cc -std=gnu11 -O2 $bare -fno-pie -no-pie -z norelro -z lazy -z execstack -D_GNU_SOURCE -I"$srcdir/fs" -pthread \
	-o "$tmp/plain" "$srcdir/tests/packages/overrun.c" 2>"$tmp/cc.log"; then
	expect_eq "7 0 0" "$(lacks_hardening "$tmp/plain" | wc -l) $(ended_by heap) $(ended_by clash)" \
		"a program without all that is told, and does harm"
else
	skip "a program without all that is told, and does harm" "$(head -n 1 "$tmp/cc.log")"
fi

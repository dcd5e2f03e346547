#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# math_emulated.sh: the kernels of training, on a processor, beside their twins on the host.
. "${srcdir:?}/tests/lib/tap.sh"
[ "${SANITIZERS:-no}" = no ] || skip_all "sanitizers do not follow threads to stacks of their own"
program=$builddir/tests/gpu/math_emulated
[ -x "$program" ] || skip_all "there is no C++ compiler: install g++"
exec "$program"

# SPDX-License-Identifier: Apache-2.0
EXTRA_DIST += \
	%D%/lib/store.sh \
	%D%/lib/tap.sh \
	%D%/lib/unit.h \
	$(NULL)
include tests/unit/local.mk
include tests/store/local.mk
include tests/mount/local.mk
include tests/bench/local.mk
include tests/interop/local.mk
include tests/faults/local.mk
include tests/docs/local.mk

# SPDX-License-Identifier: Apache-2.0
# What people install: the archive of the sources and what is built from it. In no build with sanitizers.
packages_tests = \
	%D%/packages.sh \
	%D%/dist.sh \
	%D%/sbom.sh \
	%D%/hardened.sh \
	$(NULL)
all_tests += $(packages_tests)
EXTRA_DIST += $(packages_tests)

# Built as the programs are; without optimizing nothing checks the sizes of its buffers.
check_PROGRAMS += %D%/overrun
%C%_overrun_SOURCES = %D%/overrun.c

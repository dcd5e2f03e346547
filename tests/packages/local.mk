# SPDX-License-Identifier: Apache-2.0
# What people install: the archive of the sources and what is built from it. In no build with sanitizers.
packages_tests = \
	%D%/packages.sh \
	%D%/dist.sh \
	%D%/sbom.sh \
	$(NULL)
all_tests += $(packages_tests)
EXTRA_DIST += $(packages_tests)

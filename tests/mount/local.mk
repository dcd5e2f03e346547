# SPDX-License-Identifier: Apache-2.0
# A mount each, against storesim.
mount_tests = \
	%D%/basic.sh \
	%D%/publish.sh \
	$(NULL)
TESTS += $(mount_tests)
EXTRA_DIST += $(mount_tests)

check_PROGRAMS += %D%/readers
%C%_readers_SOURCES = %D%/readers.c

# SPDX-License-Identifier: Apache-2.0
# A mount each, against storesim.
mount_tests = \
	%D%/basic.sh \
	%D%/bigfile.sh \
	%D%/cli.sh \
	%D%/concurrency.sh \
	%D%/daemon_kill.sh \
	%D%/dirs.sh \
	%D%/kill.sh \
	%D%/kill_ways.sh \
	%D%/listing.sh \
	%D%/memory.sh \
	%D%/names.sh \
	%D%/options.sh \
	%D%/publish.sh \
	%D%/readers.sh \
	%D%/refused.sh \
	%D%/rename.sh \
	%D%/rename_open.sh \
	%D%/replaced.sh \
	%D%/skipped_names.sh \
	%D%/truncate.sh \
	%D%/unlink.sh \
	$(NULL)
TESTS += $(mount_tests)
EXTRA_DIST += $(mount_tests)

check_PROGRAMS += %D%/readers
%C%_readers_SOURCES = %D%/readers.c

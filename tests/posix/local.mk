# SPDX-License-Identifier: Apache-2.0
# Suites for file systems on the mount, and one of ours.
posix_tests = \
	%D%/crash.sh \
	%D%/fio.sh \
	%D%/fsx.sh \
	%D%/hosts.sh \
	%D%/model.sh \
	%D%/parts.sh \
	%D%/pjdfstest.sh \
	$(NULL)
all_tests += $(posix_tests)
EXTRA_DIST += \
	%D%/renamed_twice.script \
	%D%/replaced_in_renamed.script \
	%D%/unlinked_while_read.script \
	$(posix_tests) \
	%D%/fsx.toml \
	%D%/pjdfstest.except \
	%D%/pjdfstest.toml \
	%D%/posix.sh \
	%D%/setup.sh \
	$(NULL)

check_PROGRAMS += %D%/crash %D%/hosts %D%/model %D%/noise %D%/parts
%C%_crash_SOURCES = %D%/crash.c
%C%_hosts_SOURCES = %D%/hosts.c %D%/hosts.h %D%/hosts_cases.c %D%/hosts_seen.c
%C%_model_SOURCES = %D%/model.c %D%/model.h %D%/model_fds.c %D%/model_same.c
%C%_noise_SOURCES = %D%/noise.c
%C%_parts_SOURCES = %D%/parts.c

# SPDX-License-Identifier: Apache-2.0
# Programs against a server that fails on purpose; and test_store, which the shell tests here and in
# tests/interop run against servers.
store_fake_tests = \
	%D%/test_faults \
	$(NULL)
check_PROGRAMS += $(store_fake_tests)
TESTS += $(store_fake_tests)

%C%_test_faults_SOURCES = %D%/fake.c %D%/fake.h %D%/test_faults.c
%C%_test_faults_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
%C%_test_faults_LDADD = fs/store/libstore.la $(CHECK_LIBS)

# SPDX-License-Identifier: Apache-2.0
# Programs against a server that fails on purpose; and test_store, which the shell tests here and in
# tests/interop run against servers.
store_fake_tests = \
	%D%/test_answers \
	%D%/test_append \
	%D%/test_checksums \
	%D%/test_conditions \
	%D%/test_copy \
	%D%/test_copy_if \
	%D%/test_cred_types \
	%D%/test_creds \
	%D%/test_delete \
	%D%/test_delete_many \
	%D%/test_faults \
	%D%/test_gcs_answers \
	%D%/test_gcs_lost \
	%D%/test_heads \
	%D%/test_lost \
	%D%/test_places \
	%D%/test_rename_if \
	%D%/test_transport \
	$(NULL)
check_PROGRAMS += $(store_fake_tests)
all_tests += $(store_fake_tests)

STORE_TEST_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
STORE_TEST_LIBS = fs/store/libstore.la $(CHECK_LIBS)
STORE_FAKE = %D%/fake.c %D%/fake.h

%C%_test_answers_SOURCES = %D%/test_answers.c %D%/event.c %D%/event.h $(STORE_FAKE)
%C%_test_answers_CFLAGS = $(STORE_TEST_CFLAGS)
%C%_test_answers_LDADD = $(STORE_TEST_LIBS)
%C%_test_append_SOURCES = %D%/test_append.c %D%/event.c %D%/event.h $(STORE_FAKE)
%C%_test_append_CFLAGS = $(STORE_TEST_CFLAGS)
%C%_test_append_LDADD = $(STORE_TEST_LIBS)
%C%_test_checksums_SOURCES = %D%/test_checksums.c $(STORE_FAKE)
%C%_test_checksums_CFLAGS = $(STORE_TEST_CFLAGS)
%C%_test_checksums_LDADD = $(STORE_TEST_LIBS)
%C%_test_conditions_SOURCES = %D%/test_conditions.c %D%/event.c %D%/event.h $(STORE_FAKE)
%C%_test_conditions_CFLAGS = $(STORE_TEST_CFLAGS)
%C%_test_conditions_LDADD = $(STORE_TEST_LIBS)
%C%_test_copy_SOURCES = %D%/test_copy.c %D%/event.c %D%/event.h $(STORE_FAKE)
%C%_test_copy_CFLAGS = $(STORE_TEST_CFLAGS)
%C%_test_copy_LDADD = $(STORE_TEST_LIBS)
%C%_test_copy_if_SOURCES = %D%/test_copy_if.c %D%/event.c %D%/event.h $(STORE_FAKE)
%C%_test_copy_if_CFLAGS = $(STORE_TEST_CFLAGS)
%C%_test_copy_if_LDADD = $(STORE_TEST_LIBS)
%C%_test_cred_types_SOURCES = %D%/test_cred_types.c $(STORE_FAKE)
%C%_test_cred_types_CFLAGS = $(STORE_TEST_CFLAGS)
%C%_test_cred_types_LDADD = $(STORE_TEST_LIBS)
%C%_test_creds_SOURCES = %D%/test_creds.c $(STORE_FAKE)
%C%_test_creds_CFLAGS = $(STORE_TEST_CFLAGS)
%C%_test_creds_LDADD = $(STORE_TEST_LIBS)
%C%_test_delete_SOURCES = %D%/test_delete.c $(STORE_FAKE)
%C%_test_delete_CFLAGS = $(STORE_TEST_CFLAGS)
%C%_test_delete_LDADD = $(STORE_TEST_LIBS)
%C%_test_delete_many_SOURCES = %D%/test_delete_many.c %D%/event.c %D%/event.h $(STORE_FAKE)
%C%_test_delete_many_CFLAGS = $(STORE_TEST_CFLAGS)
%C%_test_delete_many_LDADD = $(STORE_TEST_LIBS)
%C%_test_places_SOURCES = %D%/test_places.c %D%/event.c %D%/event.h $(STORE_FAKE)
%C%_test_places_CFLAGS = $(STORE_TEST_CFLAGS)
%C%_test_places_LDADD = $(STORE_TEST_LIBS)
%C%_test_places_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=sysconf
%C%_test_transport_SOURCES = %D%/test_transport.c %D%/event.c %D%/event.h $(STORE_FAKE)
%C%_test_transport_CFLAGS = $(STORE_TEST_CFLAGS)
%C%_test_transport_LDADD = $(STORE_TEST_LIBS)
%C%_test_faults_SOURCES = %D%/test_faults.c $(STORE_FAKE)
%C%_test_faults_CFLAGS = $(STORE_TEST_CFLAGS)
%C%_test_faults_LDADD = $(STORE_TEST_LIBS)
%C%_test_gcs_answers_SOURCES = %D%/test_gcs_answers.c %D%/event.c %D%/event.h $(STORE_FAKE)
%C%_test_gcs_answers_CFLAGS = $(STORE_TEST_CFLAGS)
%C%_test_gcs_answers_LDADD = $(STORE_TEST_LIBS)
%C%_test_gcs_lost_SOURCES = %D%/test_gcs_lost.c %D%/event.c %D%/event.h $(STORE_FAKE)
%C%_test_gcs_lost_CFLAGS = $(STORE_TEST_CFLAGS)
%C%_test_gcs_lost_LDADD = $(STORE_TEST_LIBS)
%C%_test_rename_if_SOURCES = %D%/test_rename_if.c %D%/event.c %D%/event.h $(STORE_FAKE)
%C%_test_rename_if_CFLAGS = $(STORE_TEST_CFLAGS)
%C%_test_rename_if_LDADD = $(STORE_TEST_LIBS)
%C%_test_heads_SOURCES = %D%/test_heads.c %D%/event.c %D%/event.h $(STORE_FAKE)
%C%_test_heads_CFLAGS = $(STORE_TEST_CFLAGS)
%C%_test_heads_LDADD = $(STORE_TEST_LIBS)
%C%_test_lost_SOURCES = %D%/test_lost.c %D%/event.c %D%/event.h $(STORE_FAKE)
%C%_test_lost_CFLAGS = $(STORE_TEST_CFLAGS)
%C%_test_lost_LDADD = $(STORE_TEST_LIBS)

check_PROGRAMS += %D%/test_store
%C%_test_store_SOURCES = \
	%D%/event.c \
	%D%/event.h \
	%D%/server.h \
	%D%/server_list.c \
	%D%/server_objects.c \
	%D%/server_uploads.c \
	%D%/test_store.c \
	$(NULL)
%C%_test_store_CFLAGS = $(STORE_TEST_CFLAGS)
%C%_test_store_LDADD = $(STORE_TEST_LIBS)

store_sh_tests = %D%/storesim.sh %D%/storesim_gs.sh %D%/storesim_gs_keys.sh %D%/storesim_radosgw.sh
all_tests += $(store_sh_tests)
EXTRA_DIST += $(store_sh_tests)

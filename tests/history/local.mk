# SPDX-License-Identifier: Apache-2.0
# Histories: what processes of several hosts did is recorded, and judged by the promises.
history_tests = \
	%D%/history.sh \
	%D%/mutants.sh \
	$(NULL)
all_tests += $(history_tests)
unit_tests += %D%/test_check
EXTRA_DIST += \
	$(history_tests) \
	%D%/lib.sh \
	$(history_mutants) \
	$(NULL)

history_judge = \
	%D%/check.c \
	%D%/check_calls.c \
	%D%/check_calls.h \
	%D%/check_contents.c \
	%D%/check_search.c \
	%D%/checker.h \
	%D%/history.c \
	%D%/history.h \
	%D%/pieces.c \
	%D%/pieces.h \
	$(NULL)
check_PROGRAMS += %D%/history %D%/test_check
%C%_history_SOURCES = \
	$(history_judge) \
	%D%/drive.c \
	%D%/drive.h \
	%D%/drive_call.h \
	%D%/drive_calls.c \
	%D%/drive_names.c \
	tests/lib/daemon.c \
	tests/lib/daemon.h \
	$(NULL)
%C%_test_check_SOURCES = $(history_judge) %D%/test_check.c
%C%_test_check_CFLAGS = $(AM_UNIT_CFLAGS)
%C%_test_check_LDADD = $(UNIT_BASE_LIBS)

# Defects that are made on purpose: `make mutant MUTANT=NAME` builds a ckptfs with the one of mutants/NAME.patch in
# tests/history/NAME. One source file is compiled, and comes before the library that has it without the defect.
history_mutants = \
	%D%/mutants/base_forgotten.patch \
	%D%/mutants/change_disowned.patch \
	%D%/mutants/error_swallowed.patch \
	%D%/mutants/excl_forgotten.patch \
	%D%/mutants/kill_publishes.patch \
	%D%/mutants/left_behind.patch \
	%D%/mutants/listing_skips.patch \
	%D%/mutants/move_believed.patch \
	%D%/mutants/move_disowned.patch \
	%D%/mutants/names_last.patch \
	%D%/mutants/noreplace_replaces.patch \
	%D%/mutants/old_name_deleted.patch \
	%D%/mutants/old_name_stays.patch \
	%D%/mutants/open_believes.patch \
	%D%/mutants/versions_mixed.patch \
	$(NULL)
mutant: ckptfs
	@patch=$(abs_top_srcdir)/%D%/mutants/$(MUTANT).patch; d=%D%/$(MUTANT); \
	f=`sed -n 's|^+++ b/||p' $$patch` && rm -rf $$d && $(MKDIR_P) $$d/`dirname $$f` && \
	cp $(top_srcdir)/$$f $$d/$$f && chmod u+w $$d/$$f && patch -s -F 0 -p 1 -d $$d <$$patch && \
	$(CC) $(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) $(CPPFLAGS) $(AM_CFLAGS) $(CFLAGS) $(FUSE_CFLAGS) -w -c \
		-o $$d/mutant.o $$d/$$f && \
	$(LIBTOOL) --silent --tag=CC --mode=link $(CC) $(AM_CFLAGS) $(CFLAGS) $(AM_LDFLAGS) $(LDFLAGS) -o $$d/ckptfs \
		fs/mount/daemon/main.$(OBJEXT) $$d/mutant.o fs/mount/libmount.la $(LIBS)
.PHONY: mutant
clean-local: clean-mutants
clean-mutants:
	for m in $(history_mutants); do rm -rf %D%/`basename $$m .patch`; done
.PHONY: clean-mutants

# SPDX-License-Identifier: Apache-2.0
dist_man_MANS += \
	%D%/ckptbench.1 \
	%D%/ckptfs.1 \
	%D%/storesim.1 \
	$(NULL)
nodist_man_MANS += %D%/ckptfs.conf.5
EXTRA_DIST += %D%/ckptfs.conf.5.in
CLEANFILES += %D%/ckptfs.conf.5

# A line "@TABLE NAME@" of the page becomes what `gen_docs NAME` prints.
%D%/ckptfs.conf.5: %D%/ckptfs.conf.5.in fs/base/gen_docs$(EXEEXT)
	@$(MKDIR_P) %D%
	$(AM_V_GEN)$(AWK) '/^@TABLE / { sub(/@$$/, "", $$2); cmd = "fs/base/gen_docs " $$2; \
		while ((cmd | getline line) > 0) print line; if (close(cmd)) exit 1; next } { print }' \
		'$(srcdir)/%D%/ckptfs.conf.5.in' >$@.tmp && mv $@.tmp $@

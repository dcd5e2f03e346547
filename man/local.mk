# SPDX-License-Identifier: Apache-2.0
dist_man_MANS += \
	%D%/ckptctl.8 \
	%D%/ckptfs-admin.7 \
	%D%/ckptfs-credentials.7 \
	%D%/ckptfs.1 \
	%D%/mount.ckptfs.8 \
	%D%/storesim.1 \
	$(NULL)
made_pages = \
	%D%/ckptbench.1 \
	%D%/ckptfs.conf.5 \
	$(NULL)
nodist_man_MANS += $(made_pages)
EXTRA_DIST += \
	%D%/ckptbench.1.in \
	%D%/ckptbench.dataflux.in \
	%D%/ckptfs.conf.5.in \
	$(NULL)
CLEANFILES += $(made_pages)

# A line "@OUTPUT COMMAND" of a page or a completion becomes what the command prints.
fill = '/^@OUTPUT / { sub(/^@OUTPUT /, ""); \
	while (($$0 | getline line) > 0) print line; if (close($$0)) exit 1; next } { print }'
fill_page = $(MKDIR_P) %D% && srcdir='$(srcdir)' $(AWK) $(fill)

%D%/ckptbench.1: %D%/ckptbench.1.in %D%/ckptbench.dataflux.in bench/gen_keys$(EXEEXT)
	$(AM_V_GEN)$(fill_page) '$(srcdir)/%D%/ckptbench.1.in' >$@.tmp && mv $@.tmp $@
%D%/ckptfs.conf.5: %D%/ckptfs.conf.5.in fs/base/gen_docs$(EXEEXT)
	$(AM_V_GEN)$(fill_page) '$(srcdir)/%D%/ckptfs.conf.5.in' >$@.tmp && mv $@.tmp $@

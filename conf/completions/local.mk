# SPDX-License-Identifier: Apache-2.0
# Completion for bash, made of the tables that the programs read.
completionsdir = $(datadir)/bash-completion/completions
nodist_completions_DATA = %D%/ckptbench %D%/ckptctl %D%/ckptfs
EXTRA_DIST += %D%/ckptbench.in %D%/ckptctl.in %D%/ckptfs.in %D%/common.bash
CLEANFILES += $(nodist_completions_DATA)

make_completion = $(AM_V_GEN)$(MKDIR_P) %D% && { cat '$(srcdir)/%D%/common.bash' && \
	$(AWK) $(fill) '$(srcdir)/'$@.in; } >$@.tmp && mv $@.tmp $@
%D%/ckptbench: %D%/ckptbench.in %D%/common.bash bench/gen_keys$(EXEEXT)
	$(make_completion)
%D%/ckptctl: %D%/ckptctl.in %D%/common.bash fs/base/gen_docs$(EXEEXT) fs/ctl/gen_commands$(EXEEXT)
	$(make_completion)
%D%/ckptfs: %D%/ckptfs.in %D%/common.bash fs/base/gen_docs$(EXEEXT)
	$(make_completion)

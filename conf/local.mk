# SPDX-License-Identifier: Apache-2.0
exampledir = $(docdir)/examples
dist_example_DATA = \
	%D%/ckptfs.yaml \
	%D%/dcp_ddp_load.yaml \
	%D%/dcp_ddp_save.yaml \
	%D%/dcp_fsdp_load.yaml \
	%D%/dcp_fsdp_save.yaml \
	%D%/fstab \
	%D%/lightning_checkpointing.yaml \
	%D%/pytorch_checkpointing.yaml \
	$(NULL)
nodist_example_DATA = %D%/ckptfs@.service
EXTRA_DIST += %D%/ckptfs@.service.in
CLEANFILES += %D%/ckptfs@.service

%D%/ckptfs@.service: %D%/ckptfs@.service.in Makefile
	@$(MKDIR_P) %D%
	$(AM_V_GEN)$(SED) 's|@bindir[@]|$(bindir)|' '$(srcdir)/%D%/ckptfs@.service.in' >$@

# The sample is committed; tests/docs/params.sh says when it is old.
update-docs: fs/base/gen_docs$(EXEEXT)
	fs/base/gen_docs yaml >'$(srcdir)/%D%/ckptfs.yaml'
.PHONY: update-docs

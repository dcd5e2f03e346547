# SPDX-License-Identifier: Apache-2.0
# Not among TESTS: they need a GPU.
gpu_tests = %D%/gpu.sh %D%/full.sh
EXTRA_DIST += $(gpu_tests) %D%/requirements.txt %D%/setup.sh

check-gpu: ckptbench$(EXEEXT) storesim$(EXEEXT)
	@$(AM_TESTS_ENVIRONMENT) $(SHELL) $(top_srcdir)/tests/gpu/full.sh

# What a build with CUDA does where no GPU is: quickstart's check makes one.
check-cuda: ckptbench$(EXEEXT) storesim$(EXEEXT)
	@$(AM_TESTS_ENVIRONMENT) $(SHELL) $(top_srcdir)/tests/bench/device.sh
.PHONY: check-gpu check-cuda

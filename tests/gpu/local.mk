# SPDX-License-Identifier: Apache-2.0
# Not among TESTS: they need a GPU.
gpu_tests = %D%/gpu.sh %D%/full.sh %D%/train.sh
EXTRA_DIST += $(gpu_tests) %D%/requirements.txt %D%/setup.sh %D%/torch_speed.py %D%/carry.sh %D%/carried.sh

# Each function of the GPU's table beside the host's: on the GPU, and, the same kernels, on the processor.
all_tests += %D%/math_emulated.sh
EXTRA_DIST += %D%/math_emulated.sh %D%/math.c
if WITH_CUDA
check_PROGRAMS += %D%/math
%C%_math_SOURCES = %D%/math.c
%C%_math_LDADD = bench/libbench.la
endif
if WITH_CXX
check_PROGRAMS += %D%/math_emulated
%C%_math_emulated_SOURCES = %D%/math.c %D%/emulated/cuda_runtime.h %D%/emulated/kernels.cc %D%/emulated/runtime.c \
	bench/train/math/cublas.c bench/train/math/math_cuda.c
%C%_math_emulated_CPPFLAGS = -I$(srcdir)/%D%/emulated $(AM_CPPFLAGS) -DEMULATED -DHAVE_CUDA=1 \
	-Ddlopen=emulated_dlopen -Ddlsym=emulated_dlsym
# threads of a block change places by longjmp(), which hardening takes for an accident
%C%_math_emulated_CXXFLAGS = -std=gnu++20 -O2 -g -pthread -fPIE -U_FORTIFY_SOURCE $(SAN_CFLAGS)
%C%_math_emulated_LDADD = bench/libbench.la
else
EXTRA_DIST += %D%/emulated/cuda_runtime.h %D%/emulated/kernels.cc %D%/emulated/runtime.c
endif

check-gpu: ckptbench$(EXEEXT) storesim$(EXEEXT) tests/gpu/math$(EXEEXT)
	@$(AM_TESTS_ENVIRONMENT) $(SHELL) $(top_srcdir)/tests/gpu/full.sh

# What a build with CUDA does where no GPU is: quickstart's check makes one.
check-cuda: ckptbench$(EXEEXT) storesim$(EXEEXT)
	@$(AM_TESTS_ENVIRONMENT) $(SHELL) $(top_srcdir)/tests/bench/device.sh
.PHONY: check-gpu check-cuda

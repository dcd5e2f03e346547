# SPDX-License-Identifier: Apache-2.0
bin_PROGRAMS += ckptbench

# All but main(): tests link it too.
noinst_LTLIBRARIES += %D%/libbench.la
%C%_libbench_la_SOURCES =
include %D%/cli/local.mk
include %D%/coll/local.mk
include %D%/core/local.mk
include %D%/data/local.mk
include %D%/dev/local.mk
include %D%/format/local.mk
include %D%/io/local.mk
include %D%/measure/local.mk
include %D%/report/local.mk
include %D%/scenario/local.mk
include %D%/train/local.mk
include %D%/train/math/local.mk
%C%_libbench_la_CFLAGS = $(AM_CFLAGS) $(FUSE_CFLAGS) $(MPI_CFLAGS) \
	$(JPEG_CFLAGS) $(ARCHIVE_CFLAGS) $(OPENBLAS_CFLAGS)
%C%_libbench_la_LIBADD = fs/store/libstore.la fs/base/libbase.la $(FUSE_LIBS) $(MPI_LIBS) \
	$(JPEG_LIBS) $(ARCHIVE_LIBS) -lm
if WITH_MPI
%C%_libbench_la_SOURCES += %D%/coll/coll_mpi.c
endif
EXTRA_DIST += %D%/dev/dev_cuda.cu %D%/train/math/math_kernels.cu
if WITH_CUDA
%C%_libbench_la_SOURCES += %D%/train/math/cublas.c %D%/train/math/cublas.h %D%/train/math/math_cuda.c
%C%_libbench_la_CFLAGS += $(CUDA_CFLAGS)
%C%_libbench_la_LIBADD += %D%/dev/dev_cuda.lo %D%/train/math/math_kernels.lo $(CUDA_LIBS)
by_nvcc = $(AM_V_GEN)$(MKDIR_P) $(@D) && $(LIBTOOL) --silent --tag=CC --mode=compile $(NVCC) $(NVCCFLAGS) \
	--compiler-options -Wall,-Wextra -I$(top_srcdir) -include config.h $(CUDA_CFLAGS) -c -o $@
%D%/dev/dev_cuda.lo: %D%/dev/dev_cuda.cu bench/core/dev.h bench/core/pattern_word.h config.h
	$(by_nvcc) $(srcdir)/%D%/dev/dev_cuda.cu
%D%/train/math/math_kernels.lo: %D%/train/math/math_kernels.cu bench/core/pattern_word.h bench/train/math/math_kernels.h \
		bench/train/math/math_ops.h bench/train/math/random.h config.h
	$(by_nvcc) $(srcdir)/%D%/train/math/math_kernels.cu
endif
if WITH_NCCL
%C%_libbench_la_SOURCES += %D%/coll/coll_nccl.c
%C%_libbench_la_CFLAGS += $(NCCL_CFLAGS)
endif

# Clients of others, for comparison. Their headers are not ours to warn about.
if WITH_AWSCRT
%C%_libbench_la_SOURCES += \
	%D%/io/awscrt.c \
	%D%/io/awscrt.h \
	%D%/io/awscrt_call.c \
	%D%/io/awscrt_i.h \
	%D%/io/awscrt_pool.c \
	%D%/io/awscrt_pool.h \
	%D%/io/io_awscrt.c \
	$(NULL)
%C%_libbench_la_CFLAGS += $(AWSCRT_CFLAGS)
%C%_libbench_la_LIBADD += $(AWSCRT_LIBS)
endif
if WITH_LIBS3
%C%_libbench_la_SOURCES += %D%/io/io_libs3.c
%C%_libbench_la_LIBADD += $(LIBS3_LIBS)
endif
EXTRA_DIST += %D%/connections.sh %D%/hosts.awk %D%/hosts.sh %D%/metrics.sh %D%/readers.py
EXTRA_DIST += %D%/readers.sh %D%/sim.sh %D%/speed.awk %D%/speed.sh
EXTRA_DIST += %D%/third_party/awscrt.sh %D%/third_party/awscrt.txt

ckptbench_SOURCES = %D%/cli/main.c
ckptbench_LDADD = %D%/libbench.la

# Prints the keys for ckptbench(1), and these and the scenarios for the completion of bash.
noinst_PROGRAMS += %D%/gen_keys
%C%_gen_keys_SOURCES = %D%/gen_keys.c
%C%_gen_keys_LDADD = %D%/libbench.la

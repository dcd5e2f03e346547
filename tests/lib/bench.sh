# SPDX-License-Identifier: Apache-2.0
# bench.sh: ckptbench in a test, alone (`bench ...`) or as two ranks (`bench_mpi bench ...`), or as $bench_ranks.
bench() { "$builddir/ckptbench" "$@"; }

# Whether config.h defines the macro: the build has what it stands for.
bench_has() { grep -q "^#define $1 1\$" "$builddir/config.h"; }

# What datagen can make in this build.
image_format() { if bench_has HAVE_LIBJPEG; then echo JPEG; else echo PPM; fi; }

# LeakSanitizer sees what MPI keeps until the process ends; an unlaunched run is checked for leaks.
# With bench_exec=exec, a background call's $! is the process of mpirun.
bench_mpi() {
	bench_no_mpi="built without MPI"
	bench_has HAVE_MPI || return 1
	bench_no_mpi="ThreadSanitizer does not know the locks of MPI"
	[ "${SANITIZERS:-no}" != thread ] || return 1
	bench_no_mpi="mpirun is not installed"
	command -v mpirun >/dev/null || return 1
	[ "$1" != bench ] || { shift; set -- "$builddir/ckptbench" "$@"; }
	$bench_exec env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
		OMPI_MCA_btl_vader_single_copy_mechanism=none \
		ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0" mpirun --oversubscribe --bind-to none \
		-n "${bench_ranks:-2}" "$@"
}
bench_exec=

# need_torch: sets $torch_python, or skips the whole test (CKPTFS_REQUIRE=trainers: fails it).
need_torch() {
	torch_python=${CKPTFS_PEERS:-$HOME/.cache/ckptfs/peers}/trainers/bin/python
	[ ! -f "${torch_python%/bin/python}/stamp" ] || return 0
	lacks trainers "torch is not installed: tests/trainers/setup.sh does it"
}

# need_python MODULE: sets $python, which has it, or skips the whole test (CKPTFS_REQUIRE=interop:
# fails it). After store.sh.
need_python() {
	python=$CKPTFS_PEERS/clients/bin/python
	sh "$srcdir/tests/interop/venv_setup.sh" clients >"$tmp/setup.log" 2>&1 &&
		"$python" -c "import $1" 2>>"$tmp/setup.log" && return
	lacks interop "no Python with $1: $(tail -n 1 "$tmp/setup.log")"
}

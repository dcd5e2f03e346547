# SPDX-License-Identifier: Apache-2.0
# bench.sh: ckptbench in a test, alone (`bench ...`) or as two ranks (`bench_mpi bench ...`).
bench() { "$builddir/ckptbench" "$@"; }

# LeakSanitizer sees what MPI keeps until the process ends; an unlaunched run is checked for leaks.
# With bench_exec=exec, a background call's $! is the process of mpirun.
bench_mpi() {
	bench_no_mpi="built --without-mpi"
	[ -n "${bench_has_mpi=$(sed -n 's/^#define HAVE_MPI 1$/yes/p' "$builddir/config.h")}" ] || return 1
	bench_no_mpi="ThreadSanitizer does not know the locks of MPI"
	[ "${SANITIZERS:-no}" != thread ] || return 1
	bench_no_mpi="mpirun is not installed"
	command -v mpirun >/dev/null || return 1
	[ "$1" != bench ] || { shift; set -- "$builddir/ckptbench" "$@"; }
	$bench_exec env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
		OMPI_MCA_btl_vader_single_copy_mechanism=none \
		ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0" mpirun --oversubscribe -n 2 "$@"
}
bench_exec=

# need_torch: sets $torch_python, or skips the whole test (CKPTFS_REQUIRE=trainers: fails it).
need_torch() {
	torch_python=${CKPTFS_PEERS:-$HOME/.cache/ckptfs/peers}/trainers/bin/python
	! "$torch_python" -c 'import torch' 2>/dev/null || return 0
	case ",${CKPTFS_REQUIRE:-}," in
	*[,\ ]trainers[,\ ]*) echo "Bail out! torch is required (CKPTFS_REQUIRE) and not in $torch_python"; exit 1 ;;
	*) skip_all "torch is not installed: tests/trainers/setup.sh does it" ;;
	esac
}

# need_python MODULE: sets $python, which has it, or skips the whole test (CKPTFS_REQUIRE=interop:
# fails it). After store.sh.
need_python() {
	python=$CKPTFS_PEERS/clients/bin/python
	sh "$srcdir/tests/interop/clients_setup.sh" >"$tmp/setup.log" 2>&1 &&
		"$python" -c "import $1" 2>>"$tmp/setup.log" && return
	case " ${CKPTFS_REQUIRE:-} " in
	*interop*) echo "Bail out! no Python with $1: $(tail -n 1 "$tmp/setup.log")"; exit 1 ;;
	esac
	skip_all "no Python with $1: $(tail -n 1 "$tmp/setup.log")"
}

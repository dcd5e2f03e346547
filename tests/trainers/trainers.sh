# SPDX-License-Identifier: Apache-2.0
# trainers.sh: a test that runs libraries of Python; source it instead of mount.sh.
#
#   need_trainers             skips the whole test (or fails it) without what setup.sh installs
#   trial SCRIPT NAME...      runs the script's cases in a local directory and in the mount (trial.py);
#                             one check for each name, which is the first line of the case's docstring;
#                             with $cases, only those functions
#
# CKPTFS_REQUIRE=trainers turns the skip into a failure. CKPTFS_TRAINERS_SIZE=2G makes cases that large.
. "$srcdir/tests/lib/mount.sh"

trainers=$srcdir/tests/trainers
python=$CKPTFS_PEERS/trainers/bin/python
# Nothing is asked from a hub, errors are not coloured.
export PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 HF_HUB_DISABLE_TELEMETRY=1
export HF_HOME=$tmp/hf TOKENIZERS_PARALLELISM=false JAX_PLATFORMS=cpu OMP_NUM_THREADS=2 MALLOC_PERTURB_=0
export NO_COLOR=1 HF_HUB_DISABLE_PROGRESS_BARS=1

need_trainers() {
	need_fuse
	! sanitized || skip_all "the libraries run on the build without sanitizers"
	[ -f "$CKPTFS_PEERS/trainers/stamp" ] ||
		lacks trainers "the trainers are not installed: run tests/trainers/setup.sh"
}

# A folder for both that no other script of the test has. Its name has as many letters in either: some
# libraries write it into their files.
trial() {
	script=$1
	shift
	turn=$((${turn:-0} + 1))
	mkdir -p "$tmp/dir/$turn" "$mnt/$turn"
	timeout -k 10 "${trial_limit:-600}" "$python" "$trainers/$script" "$tmp/dir/$turn" "$mnt/$turn" ${cases:-} \
		>"$tmp/trial.out" 2>"$tmp/trial.err"
	trial_rc=$?
	for name; do
		if grep -qxF "ok $name" "$tmp/trial.out"; then ok "$name"; else not_ok "$name"; fi
	done
	[ "$(grep -c '^ok ' "$tmp/trial.out")" = $# ] || {
		diag "$script ends with $trial_rc after:"
		diag "$(cut -c 1-300 "$tmp/trial.out")"
		diag "$(tail -n 20 "$tmp/trial.err" | cut -c 1-300)"
	}
	rm -rf "$tmp/dir/$turn"
}

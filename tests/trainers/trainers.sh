# SPDX-License-Identifier: Apache-2.0
# trainers.sh: a test that runs libraries of Python; source it instead of mount.sh.
#
#   need_trainers             skips the whole test (or fails it) without what setup.sh installs
#   plan_each N               so many checks for each store
#   start_mounts              a mount of each store, on a storesim of its own
#   trial SCRIPT NAME...      runs the script's cases in a local directory and in each mount (trial.py);
#                             one check for each name, which is the first line of the case's docstring,
#                             in each mount; with $cases, only those functions
#   end_mounts                one check for each mount
#
# CKPTFS_REQUIRE=trainers turns the skip into a failure. CKPTFS_TRAINERS_SIZE=2G makes cases that large,
# CKPTFS_TRAINERS_STORES names fewer stores than "s3 gs".
. "$srcdir/tests/lib/mount.sh"

mount_limit=1000 # more than a trial may take
stores=${CKPTFS_TRAINERS_STORES:-s3 gs}
trainers=$srcdir/tests/trainers
python=$CKPTFS_PEERS/trainers/bin/python
# Nothing is asked from a hub, errors are not coloured.
export PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 HF_HUB_DISABLE_TELEMETRY=1
export HF_HOME=$tmp/hf TOKENIZERS_PARALLELISM=false JAX_PLATFORMS=cpu MALLOC_PERTURB_=0
export NO_COLOR=1 HF_HUB_DISABLE_PROGRESS_BARS=1

need_trainers() {
	need_fuse
	! sanitized || skip_all "the libraries run on the build without sanitizers"
	[ -f "$CKPTFS_PEERS/trainers/stamp" ] ||
		lacks trainers "the trainers are not installed: run tests/trainers/setup.sh"
}

# shellcheck disable=SC2086
plan_each() { checks=$1; set -- $stores; plan $((checks * $#)); }

start_mounts() {
	for store in $stores; do
		use_mount "$store"
		CKPTFS_TEST_SCHEME=$store
		start_store
		mount_ckptfs
	done
}

end_mounts() {
	for store in $stores; do
		use_mount "$store"
		umount_ckptfs "$store: the daemon ends well and warned of nothing else"
	done
}

# A folder in each place that no other script of the test has. The names of the places have as many
# letters: some libraries write them into their files.
trial() {
	script=$1
	shift
	turn=$((${turn:-0} + 1)) mounts=''
	for store in $stores; do mounts=$mounts:$tmp/$store/$turn; mkdir -p "$tmp/$store/$turn"; done
	mkdir -p "$tmp/fs/$turn"
	# Memory that goes back to the kernel would be cleared for the next tensor.
	MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=4294967296 \
		timeout -k 10 "${trial_limit:-900}" "$python" "$trainers/$script" "$tmp/fs/$turn" "${mounts#:}" ${cases:-} \
		>"$tmp/trial.out" 2>"$tmp/trial.err"
	trial_rc=$? number=0
	for store in $stores; do
		number=$((number + 1))
		for name; do
			if grep -qxF "ok $number $name" "$tmp/trial.out"; then ok "$store: $name"; else not_ok "$store: $name"; fi
		done
	done
	[ "$(grep -c '^ok ' "$tmp/trial.out")" = $(($# * number)) ] || {
		diag "$script ends with $trial_rc after:"
		diag "$(cut -c 1-300 "$tmp/trial.out")"
		diag "$(tail -n 20 "$tmp/trial.err" | cut -c 1-300)"
	}
	rm -rf "$tmp/fs/$turn"
}

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mutants.sh: the checker of histories finds each of the defects in mutants/, which are built into the mount one by one.
# Not each history meets each defect: a few may be needed.
#
# CKPTFS_MUTANTS="NAME NAME" chooses some, CKPTFS_TRIES=100 allows more histories of each.
. "${srcdir:?}/tests/history/lib.sh"
need_fuse
command -v patch >/dev/null || skip_all "patch is not installed"
[ -f "$builddir/Makefile" ] || skip_all "the tree of the build is not here"
mutants=${CKPTFS_MUTANTS:-$(cd "$srcdir/tests/history/mutants" && for f in *.patch; do echo "${f%.patch}"; done)}
plan $(($(echo $mutants | wc -w) + 1))
history_restarts=0

# Where the defect shows soonest.
way_of() {
	case $1 in
	names_last | open_believes) echo s3_ttl ;;
	change_disowned | left_behind | move_believed | move_disowned) echo gs_strict ;;
	*) echo s3_strict ;;
	esac
}

# Some show only where replies get lost: the option of drive.
faults_of() {
	case $1 in
	change_disowned | left_behind | move_believed | move_disowned) echo -f ;;
	esac
}

# found_by_history: 0 when a history of the mutant is broken
found_by_history() {
	for try in $(seq "${CKPTFS_TRIES:-40}"); do
		# shellcheck disable=SC2046 # one word, or none
		history_record "$(way_of "$mutant")" "$try" 800 $(faults_of "$mutant") && found=no || found=yes
		"$history_program" check "$history" >"$tmp/verdict"
		! grep -q 'BROKEN$' "$tmp/verdict" || found=yes
		rm -rf --one-file-system "$history_dir" "$history"
		[ $found = no ] || return 0
	done
	return 1
}

for scheme in s3 gs; do
	use_mount $scheme
	history_store $scheme --ttfb 1ms
done
for mutant in $mutants; do
	use_mount "$(way_of "$mutant" | cut -d _ -f 1)"
	if ! make -s -C "$builddir" mutant MUTANT="$mutant" >"$tmp/make.out" 2>&1; then
		not_ok "$mutant: the defect can be built"
		diag "$(tail -n 20 "$tmp/make.out")"
		continue
	fi
	history_mount=$builddir/tests/history/$mutant/ckptfs
	[ -z "$(faults_of "$mutant")" ] || history_faults
	found_by_history && found=yes || found=no
	set_faults
	if [ $found = yes ]; then
		ok "$mutant: the checker finds the defect"
		diag "in history $try: $(grep -m 1 BROKEN "$tmp/verdict" || tail -n 1 "$tmp/drive.out")"
	else
		not_ok "$mutant: the checker finds the defect"
	fi
done
history_mount=$builddir/ckptfs
use_mount s3
history_one "the checker finds nothing in the mount as it is" s3_strict 1 800

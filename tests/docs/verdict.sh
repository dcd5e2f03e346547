#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# verdict.sh: what quickstart's check says at its end: each test file that failed, also one that left no result, is named
# in the last lines, whatever is cut off before them.
. "${srcdir:?}/tests/lib/tap.sh"
command -v bash >/dev/null || skip_all "bash is not installed"
plan 11

# Its functions, in a tree of tests that write down what their names say.
mkdir -p "$tmp/build/fake/tests"
{
	echo "set -euo pipefail; root=$tmp jobs=1; say() { printf '%s\\n' \"\$*\"; }"
	sed -n '/^# --- check ---/,/^# --- command line ---/p' "$srcdir/quickstart"
} >"$tmp/check.sh"
cat >"$tmp/build/fake/Makefile" <<'END'
list-fake:
	@printf '%s\n' $(FAKES)
check-fake:
	@sh ./run $(FAKES)
check-TESTS:
	@sh ./run $(TESTS)
END
cat >"$tmp/build/fake/run" <<'END'
rc=0
for test; do
	log=${test%.sh}.log trs=${test%.sh}.trs
	rm -f "$trs"
	case $test in
	*flaky*) [ -e tried ] && result=PASS || result=FAIL; : >tried ;;
	*bad*) result=FAIL ;;
	*) result=PASS ;;
	esac
	printf '%s: %s 3 - it holds\n# got: %s\n' $result "$test" "$result of $test" >"$log"
	case $test in *killed*) [ -e all-end ] || { rc=2; continue; } ;; esac
	echo ":test-result: $result 3 - it holds" >"$trs"
	[ $result = PASS ] || rc=2
done
exit $rc
END
# verdict COMMANDS [TEST...]: the check with these commands on a selection; its end is in $tmp/said
verdict() {
	commands=$1
	shift
	rm -f "$tmp/build/fake/tried" "$tmp"/build/fake/tests/*
	FAKES="$*" bash -c ". '$tmp/check.sh'; begin_check; $commands; doing=''" >"$tmp/said" 2>&1
}
last() { tail -n "$1" "$tmp/said"; }

verdict "tested fake check-fake" tests/a.sh tests/b.sh
expect_eq "0 2 passed, 0 failed, 0 skipped, 0 test files passed at the second try" "$? $(last 1)" \
	"a check whose tests all pass succeeds"
verdict "tested fake check-fake" tests/a.sh tests/killed.sh
expect_eq "1 FAILED  fake: tests/killed.sh" "$? $(last 1)" "a test whose end nobody wrote down has failed"
verdict "tested fake check-fake" tests/a.sh tests/bad.sh tests/flaky.sh tests/worse-than-bad.sh
expect_eq "1 FAILED  fake: tests/bad.sh: 3 - it holds
FAILED  fake: tests/worse-than-bad.sh: 3 - it holds" "$? $(last 2)" \
	"the last lines name each file that failed, with the check that did"
expect_eq "1 passed at the second try: fake: tests/flaky.sh: 3 - it holds" \
	"$(grep -c 'FAIL of tests/flaky' "$tmp/said") $(last 4 | head -n 1)" "what failed once is told with the check that did"
check "the output of the first failure comes just before them" sh -c '
	tail -n 8 "$1" | grep -A 4 "^The first failure, fake: tests/bad.sh, " | grep -q "got: FAIL of tests/bad.sh"' sh "$tmp/said"
verdict "stage first true; stage second false; stage third true"
expect_eq "1 FAILED  second
FAILED  the check ended with status 1 while it was at: second" "$? $(last 2)" "an error that nothing expects is told by where it came"
verdict "stage endless sh -c 'kill -TERM \$PPID; sleep 1'"
expect_eq "1 FAILED  the check ended with status 130 while it was at: endless" "$? $(last 1)" \
	"a check that is told to end says where it was"
rm "$tmp/build/fake/Makefile"
verdict "tested fake check-fake" tests/a.sh
expect_eq "1 FAILED  fake: make check-fake" "$? $(last 1)" "tests that make cannot run are a failure"

# What a test says that leaves something out; in CI what is missing for want of an installation may not be.
leaves_out() { CKPTFS_REQUIRE=$1 sh -c '. "$srcdir/tests/lib/tap.sh"; '"$2" 2>/dev/null | grep -v '^#' | tr '\n' ' '; }
expect_eq "not ok 1 - it runs ; Bail out! CKPTFS_REQUIRE has deep: jq is not installed ; 1..0 # SKIP jq is not installed " \
	"$(leaves_out deep 'skip "it runs" "built without MPI"'); $(leaves_out deep 'skip_all "jq is not installed"'); $(
		leaves_out interop 'skip_all "jq is not installed"')" "a test that misses an installation fails in CI, and elsewhere is skipped"
expect_eq "Bail out! CKPTFS_REQUIRE has sdk: no client ; 1..0 # SKIP no client " \
	"$(leaves_out deep 'lacks sdk "no client"'); $(leaves_out interop 'lacks sdk "no client"')" "CI requires every group of peers"
expect_eq "ok 1 - it runs # SKIP no namespaces " "$(leaves_out deep 'skip "it runs" "no namespaces"')" "what a machine cannot do is skipped in CI, too"

# SPDX-License-Identifier: Apache-2.0
bench_tests = \
	%D%/bad_input.sh \
	%D%/shards.sh \
	%D%/shards_verify.sh \
	$(NULL)
TESTS += $(bench_tests)
EXTRA_DIST += $(bench_tests) tests/lib/bench.sh

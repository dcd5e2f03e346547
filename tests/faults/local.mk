# SPDX-License-Identifier: Apache-2.0
# Mounts whose store goes wrong as the JSON files say (storesim --faults, see storesim(1)).
fault_tests = \
	%D%/read.sh \
	%D%/write.sh \
	%D%/write_fails.sh \
	$(NULL)
TESTS += $(fault_tests)
EXTRA_DIST += \
	$(fault_tests) \
	%D%/complete_200_with_error.json \
	%D%/complete_200_with_error_always.json \
	%D%/complete_200_with_error_once.json \
	%D%/complete_reply_lost.json \
	%D%/get_corrupt.json \
	%D%/get_corrupt_always.json \
	%D%/get_reset_middle.json \
	%D%/get_short_body.json \
	%D%/get_stall.json \
	%D%/none.json \
	%D%/part_503.json \
	%D%/part_503_five_times.json \
	%D%/part_corrupt.json \
	%D%/part_reply_lost.json \
	%D%/part_reset.json \
	%D%/part_stall.json \
	%D%/parts_denied.json \
	%D%/parts_unavailable.json \
	%D%/put_503_five_times.json \
	%D%/put_faults.json \
	%D%/put_reply_lost.json \
	%D%/read_corrupt.json \
	%D%/read_corrupt_once.json \
	%D%/read_denied.json \
	%D%/read_reset.json \
	%D%/read_short.json \
	%D%/read_stall.json \
	%D%/slow_down_tenth.json \
	%D%/store_gone.json \
	$(NULL)

# SPDX-License-Identifier: Apache-2.0
# Rules for storesim --faults.
fault_files = \
	%D%/complete_200_with_error.json \
	%D%/complete_200_with_error_always.json \
	%D%/complete_reply_lost.json \
	%D%/get_corrupt.json \
	%D%/get_corrupt_always.json \
	%D%/get_reset_middle.json \
	%D%/get_short_body.json \
	%D%/get_stall.json \
	%D%/none.json \
	%D%/part_503_five_times.json \
	%D%/part_corrupt.json \
	%D%/part_reply_lost.json \
	%D%/part_reset.json \
	%D%/part_stall.json \
	%D%/put_503_five_times.json \
	%D%/put_reply_lost.json \
	%D%/slow_down_tenth.json \
	%D%/store_gone.json \
	$(NULL)
EXTRA_DIST += $(fault_files)

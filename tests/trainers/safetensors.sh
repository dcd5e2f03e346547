#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# safetensors.sh: save_file and load_file of the versions that write in place and by a temporary file,
# and that nothing is sent twice.
. "${srcdir:?}/tests/trainers/trainers.sh"
need_trainers
plan_each 10
start_mounts

# The bytes of all request bodies since the mark.
sent() {
	tail -n "+$(($(cat "$requests.mark") + 1))" "$requests" |
		awk '$2 ~ /^(PutObject|objects.insert|UploadPart)$/ { n += $7 } END { printf "%.0f", n }'
}
sent_is_size() { [ "$(sent)" = "$(stat -c %s "$1")" ]; }

for version in 0.7 0.8; do
	[ $version != 0.7 ] || export PYTHONPATH="$CKPTFS_PEERS/trainers/safetensors-0.7"
	trial st.py \
		"save_file and load_file" \
		"save_file over an old file, which is mapped meanwhile" \
		"safe_open reads slices, two readers in turn" \
		"what cannot be saved or loaded raises the same error"
	# The newer one renames its temporary file before it closes it.
	[ $version = 0.7 ] || continue
	for store in $stores; do
		use_mount "$store"
		requests_mark
	done
	(cd "$tmp" && "$python" -c '
import sys
sys.path.insert(0, sys.argv[1])
import st
for store in sys.argv[2:]:
    st.save_file(st.tensors(), store + "/staged.safetensors")' "$trainers" $stores) || diag "save_file fails"
	for store in $stores; do
		use_mount "$store"
		check "$store: save_file of $version sends as many bytes as the file has" \
			wait_for 2 sent_is_size "$mnt/staged.safetensors"
		rm -f "$mnt/staged.safetensors"
	done
	unset PYTHONPATH
done
end_mounts

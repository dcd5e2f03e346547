#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# safetensors.sh: save_file and load_file of the versions that write in place and by a temporary file,
# and that nothing is sent twice.
. "${srcdir:?}/tests/trainers/trainers.sh"
need_trainers
plan 10
start_store
mount_ckptfs

# The bytes of all request bodies since the mark.
sent() {
	tail -n "+$(($(cat "$tmp/mark") + 1))" "$requests" |
		awk '$2 ~ /^(PutObject|UploadPart)$/ { n += $7 } END { printf "%d", n }'
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
	requests_mark
	(cd "$mnt" && "$python" -c '
import sys
sys.path.insert(0, sys.argv[1])
import st
st.save_file(st.tensors(), "staged.safetensors")' "$trainers") || diag "save_file fails"
	check "save_file of $version sends as many bytes as the file has" \
		wait_for 2 sent_is_size "$mnt/staged.safetensors"
	rm -f "$mnt/staged.safetensors"
	unset PYTHONPATH
done
umount_ckptfs

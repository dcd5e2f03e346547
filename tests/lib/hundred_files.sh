# SPDX-License-Identifier: Apache-2.0
# hundred_files.sh: a mount with d/f00000 to d/f00099, to be renamed as a whole; source it after mount.sh.
#
#   hundred_files     the store, the mount, and the files
#   all_in DIR        whether all 100 are below it and hold what they should
#   recover           ckptctl recover of the bucket
#   looks_at_record   whether the mount, since the last set_faults, waits until the record of its rename is gone
hundred_files() {
	start_store
	mount_ckptfs attr_ttl=0 stall_timeout=120s # the store may hold requests up
	objects fill d/f 100
	url=$CKPTFS_TEST_SCHEME://$CKPTFS_TEST_BUCKET
}
all_in() { [ "$(store_ls "$1/" | grep -c /f)" -eq 100 ] && [ "$(store_cat "$1/f00042")" = 42 ]; }
looks_at_record() { [ "$(tail -n "+$fault_from" "$requests" | grep -cE '(HeadObject|objects.get) .*\.ckptfs/intent/')" -ge 2 ]; }
recover() { "$builddir/ckptctl" recover "$url" -o endpoint="$CKPTFS_TEST_ENDPOINT,stall_timeout=120s"; }

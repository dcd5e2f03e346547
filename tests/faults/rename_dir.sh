#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rename_dir.sh: a rename of a directory that fails or is cut off loses nothing, and can be finished.
. "$srcdir/tests/lib/mount.sh"
. "$srcdir/tests/lib/hundred_files.sh"
need_fuse
if on_gs; then plan 33; else plan 38; fi
hundred_files

if on_gs; then set_faults gs_move_hiccups; else set_faults rename_hiccups; fi
expect_eq "ok" "$(fdo rename "$mnt/d" "$mnt/e")" "a rename of a directory tries failed and lost replies again"
check "all files are there after replies that failed or were lost" all_in e
set_faults
fdo rename "$mnt/e" "$mnt/d" >/dev/null

# There was nothing at the new name, and another host puts a file there before one of ours comes.
set_faults rename_dir_target_held
fdo rename "$mnt/d" "$mnt/e" >"$tmp/renamed" &
renames=$!
wait_held MoveObject
printf theirs | store_put e/f00001
set_faults
wait $renames
# promise: rename.dir-fails
expect_eq ENOTEMPTY "$(cat "$tmp/renamed")" "a rename of a directory does not replace what another host puts at its new name"
check "all files are where they were when another host has the new name" all_in d
expect_eq "e/f00001 theirs" "$(store_ls e | xargs) $(store_cat e/f00001)" "the other host's file is the only one at the new name"
objects rm e/f00001

# It replaces some of ours there as well, and adds one: the way back takes none of these along.
set_faults rename_dir_target_held
fdo rename "$mnt/d" "$mnt/e" >"$tmp/renamed" &
renames=$!
wait_held MoveObject
wait_for 20 objects size e/f00000
printf theirs | store_put e/f00000
printf added | store_put e/added
printf theirs | store_put e/f00001
set_faults
wait $renames
expect_eq ENOTEMPTY "$(cat "$tmp/renamed")" "a rename of a directory fails while another host publishes below its new name"
# promise: rename.dir-fails
expect_eq "e/added e/f00000 e/f00001 added theirs" "$(store_ls e | xargs) $(store_cat e/added) $(store_cat e/f00000)" \
	"the way back leaves what another host has published at the new name"
# Where objects are copied, the one that was replaced has its old name still.
store_ls d/ | grep -q d/f00000 || printf 0 | store_put d/f00000
check "all other files are where they were" all_in d
for file in added f00000 f00001; do objects rm e/$file; done

set_faults rename_some_denied
expect_eq "EACCES" "$(fdo rename "$mnt/d" "$mnt/e")" "a rename of a directory whose copy is refused says so"
# promise: rename.dir-fails
check "all files are where they were after a refused copy" all_in d
expect_eq "" "$(store_ls e)$(store_ls .ckptfs)" "a refused copy leaves no other object"
expect_eq "d" "$(ls "$mnt")" "the mount shows all where it was after a refused copy"
expect_log 'store: (copy|rename) .* 403 AccessDenied'

# An empty directory has the new name, and has given way to the marker of the other when that fails.
mkdir "$mnt/full" "$mnt/empty"
objects fill full/f 50
chmod 751 "$mnt/empty"
touch -d @1000000 "$mnt/empty"
set_faults rename_some_denied
expect_eq "EACCES" "$(fdo rename "$mnt/full" "$mnt/empty")" "a rename over an empty directory whose copy is refused says so"
set_faults
# promise: rename.dir-fails
expect_eq "empty/ 751 1000000" "$(store_ls empty) $(stat -c '%a %Y' "$mnt/empty")" \
	"an empty directory that a failed rename should replace is there with its attributes"
# It cannot be made again: on S3 its marker was put once, by the rename.
on_gs && nth=1 || nth=2
cat >"$tmp/unmade.json" <<-END
	[{"op": "MoveObject", "skip": 40, "times": 1, "do": "status", "status": 403, "code": "AccessDenied"},
	{"op": "PutObject", "key": "empty/", "nth": $nth, "do": "status", "status": 403, "code": "AccessDenied"}]
END
set_faults "$tmp/unmade.json"
expect_eq "EACCES" "$(fdo rename "$mnt/full" "$mnt/empty")" "a rename over an empty directory that cannot be made again says why it failed"
set_faults
expect_eq "51" "$(store_ls full/ | wc -l)" "all files are where they were though the empty directory cannot be made again"
expect_eq "d full" "$(ls "$mnt" | xargs)" "the mount does not show an empty directory that cannot be made again"
expect_log 'empty/: the empty directory gave way .* Permission denied: make the directory again'
rm -r "$mnt/full"
expect_log 'store: put .* 403 AccessDenied'

if on_gs; then
	set_faults rename_rest_denied
	expect_eq "EACCES" "$(fdo rename "$mnt/d" "$mnt/e")" "a rename that can go neither on nor back says so"
	set_faults
	expect_eq 100 "$({ store_ls d/; store_ls e/; } | wc -l)" "nothing is lost when a rename can go neither on nor back"
	expect_eq "1 d e" "$(store_ls .ckptfs/intent/ | wc -l) $(ls "$mnt" | xargs)" "a record is left, and the mount shows it so"
	expect_log 'rename d/ to e/: not finished .* ckptctl recover'
	umount_ckptfs
	# promise: rename.dir-record
	check "ckptctl finishes a rename that could go neither on nor back" recover
	check "ckptctl brings all files to the new name" all_in e
	expect_eq "" "$(store_ls d)$(store_ls .ckptfs)" "ckptctl leaves no other object"
else # where it is copied, and deleted then
	set_faults rename_batch_denied
	expect_eq "EACCES" "$(fdo rename "$mnt/d" "$mnt/e")" "a rename whose batch is not deleted says so"
	set_faults
	check "all files are at the new name though a batch was not deleted" all_in e
	check "all files are at the old name, too, though a batch was not deleted" all_in d
	expect_eq 1 "$(store_ls .ckptfs/intent/ | wc -l)" "a record is left of a batch that was not deleted"
	expect_eq "d e 42 42" "$(ls "$mnt" | xargs) $(cat "$mnt/e/f00042") $(cat "$mnt/d/f00042")" "the mount shows what a batch that was not deleted left"
	expect_log 'store: delete-many .* AccessDenied'
	expect_log 'rename d/ to e/: not finished .* ckptctl recover'
	umount_ckptfs
	mount_ckptfs attr_ttl=0
	printf new | store_put d/f00007
	printf added | store_put d/added
	check "ckptctl finishes a rename whose batch was not deleted" recover
	expect_eq "d/added d/f00007" "$(store_ls d/ | xargs)" "ckptctl leaves what came to the old name after the rename"
	check "all files are at the new name when ckptctl is done" all_in e
	expect_eq "" "$(store_ls .ckptfs)" "no record is left when ckptctl is done"
	expect_log "directory's rename was not finished.* ckptctl recover $url"
	umount_ckptfs
	objects rm d/added
	objects rm d/f00007
fi

# The daemon dies in the middle. The files are older than the copies of them, by a clock of whole seconds.
mount_ckptfs attr_ttl=0 stall_timeout=120s
learn_copies
made=$(date +%s)
another_second() { [ "$(date +%s)" -gt "$made" ]; }
wait_for 10 another_second
set_faults rename_slow
fdo rename "$mnt/e" "$mnt/k" >"$tmp/said" 2>&1 &
mover=$!
some_copied() { [ "$(store_ls k/ | wc -l)" -ge 10 ]; }
check "a rename is under way" wait_held MoveObject
wait_for 60 some_copied
kill -KILL "$mount_pid"
wait "$mount_pid" 2>/dev/null
umount -l "$mnt"
wait $mover
set_faults
on_gs || check "all files are where they were when the daemon is killed" all_in e
# promise: rename.dir-record
expect_eq 1 "$(store_ls .ckptfs/intent/ | wc -l)" "a record is left of a rename whose daemon was killed"
came=$(store_ls k/ | grep -v f00042 | head -n 1) # which of them comes first is not certain
printf mine | store_put "$came"
: >"$mount_log"
check "ckptctl finishes a rename whose daemon was killed" recover
# promise: rename.dir
expect_eq 100 "$(store_ls k/ | wc -l)" "ckptctl brings the killed rename's files to the new name"
expect_eq "42 mine" "$(store_cat k/f00042) $(store_cat "$came")" "ckptctl keeps what was written at the new name since"
expect_eq "" "$(store_ls e/)$(store_ls .ckptfs)" "ckptctl leaves nothing else of the killed rename"
mount_ckptfs
expect_eq "k 100" "$(ls "$mnt") $(ls "$mnt/k" | wc -l)" "the mount shows what ckptctl has finished"
umount_ckptfs
printf 'no record' | store_put .ckptfs/intent/0123456789abcdef
check_fails "ckptctl refuses what is no record" "$builddir/ckptctl" recover "$url" -o "endpoint=$CKPTFS_TEST_ENDPOINT"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# symptoms.sh: each symptom in "When something is wrong" of ckptfs-admin(7) is brought about, and the command that its row
# names shows what the row says.
. "${srcdir:?}/tests/lib/namespace.sh"
. "$srcdir/tests/lib/mount.sh"
need_fuse
CKPTFS_TEST_SCHEME=s3
command -v fuser >/dev/null || lacks deep "fuser is not installed"
command -v python3 >/dev/null || lacks deep "python3 is not installed"
plan 104
page=$srcdir/man/ckptfs-admin.7 dir=$tmp/control tab=$(printf '\t')
url=s3://$CKPTFS_TEST_BUCKET
head -c 12000000 /dev/urandom >"$tmp/data"
export AWS_EC2_METADATA_DISABLED=true
: >"$tmp/met"

# What the page has: its rows, and the words of one.
page_rows() { sed -n '/^\.Sh WHEN SOMETHING/,/^\.Sh REMOVING/s/^\.It //p' "$page"; }
row_has() {
	awk -v row=".It $row" -v want="$1" '$0 == row { here = 1; next } /^\.(It|El)/ { here = 0 }
		here && index($0, want) { found = 1 } END { exit !found }' "$page"
}
# row WORDS: what follows is about this row
row() { row=$1; echo "$row" >>"$tmp/met"; }

ctl() {
	case $1 in
	recover | uploads) timeout 60 "$builddir/ckptctl" "$@" -o "endpoint=$CKPTFS_TEST_ENDPOINT" ;;
	*) timeout 60 "$builddir/ckptctl" "$@" -o "control_dir=$dir" ;;
	esac
}
top() { timeout 120 python3 "$srcdir/tests/ctl/top.py" "$tmp" 24x80 ,,,q "$builddir/ckptctl" -o "control_dir=$dir" "$@" && cat "$tmp"/screen?; }
# run COMMAND: as the page has it, about the mount here; what it says goes to $tmp/said
run() {
	command=$(echo "$1" | sed "s|/mnt/ckpt|$mnt|; s|^ckptctl top|top top|; s|^ckptctl |ctl |")
	eval "$command" >"$tmp/said" 2>&1 || :
}
# shows COMMAND PATTERN NAME: one check: the row names the command, and that shows this. The URL may stand at its end.
shows() {
	run "$1"
	named=${1% s3:*}
	if row_has "$named" && grep -qE -- "$2" "$tmp/said"; then ok "$3"; else
		not_ok "$3"
		row_has "$named" || diag "the row does not name $named"
		diag "want $2:"
		diag "$(tail -n 20 "$tmp/said")"
	fi
}
log_has() { check "$2" wait_for 20 grep -qE -- "$1" "$mount_log"; }
use() { mount_ckptfs "control_dir=$dir" part_size=5M attr_ttl=0 "$@"; }
anew() {
	store_stop
	start_store "$@"
}

denied() {
	row 'Er EACCES No (Permission denied), 403 in the log'
	start_store
	for name in one two; do printf bytes | store_put $name; done
	anew --deny s3:DeleteObject
	use
	expect_log 'the credentials need s3:DeleteObject'
	expect_eq EACCES "$(fdo unlink "$mnt/one")" "what a policy forbids gives EACCES"
	log_has '403 AccessDenied.* the credentials need s3:DeleteObject' "the log names the permission that is missing"
	shows 'ckptctl doctor /mnt/ckpt' "^broken${tab}delete${tab}.*s3:DeleteObject" "doctor tries each permission of a mount"
	chmod 711 "$tmp"
	as_nobody='setpriv --reuid 65534 --regid 65534 --clear-groups'
	expect_eq "no 0" "$($as_nobody cat "$mnt/two" >/dev/null 2>&1 && echo yes || echo no) $(grep -c two "$mount_log")" \
		"another user is refused without allow_other, and the log says nothing"
	umount_ckptfs "the daemon ends well where a permission lacks"
}


rotated() {
	row 'Er EACCES No after keys were rotated'
	anew
	store_port=${CKPTFS_TEST_ENDPOINT##*:}
	key=$AWS_ACCESS_KEY_ID secret=$AWS_SECRET_ACCESS_KEY
	export AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
	use
	AWS_SECRET_ACCESS_KEY=rotated
	anew
	expect_log '403 '
	expect_eq EACCES "$(fdo open r "$mnt/two")" "keys of the environment that were rotated give EACCES"
	shows 'ckptctl credentials /mnt/ckpt' "^source${tab}environment" "the source of such keys is shown"
	umount_ckptfs "the daemon ends well with keys that were rotated"

	write_keys() { (umask 077 && printf '[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n' "$key" "$1" >"$tmp/keys"); }
	write_keys rotated
	export AWS_SHARED_CREDENTIALS_FILE="$tmp/keys"
	unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
	use
	export AWS_ACCESS_KEY_ID="$key" AWS_SECRET_ACCESS_KEY="$secret" AWS_SHARED_CREDENTIALS_FILE=/dev/null
	anew
	write_keys "$secret"
	expect_eq ok "$(fdo open r "$mnt/two")" "keys in a file are read anew at the first refusal"
	shows 'ckptctl credentials /mnt/ckpt' "^source${tab}profile" "the source of keys in a file is shown"
	umount_ckptfs "the daemon ends well with keys that were corrected"
}

expired() {
	row 'credentials have expired'
	store_port=''
	echo '{"issue": {"only": true, "expires_in": 6}, "ecs.credentials": {}}' >"$tmp/identity.json"
	anew --identity "$tmp/identity.json"
	unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
	export AWS_CONTAINER_CREDENTIALS_FULL_URI="$CKPTFS_TEST_ENDPOINT/ecs/credentials"
	use
	unset AWS_CONTAINER_CREDENTIALS_FULL_URI
	export AWS_ACCESS_KEY_ID="$key" AWS_SECRET_ACCESS_KEY="$secret"
	echo '[{"op": "ecs.credentials", "do": "status", "status": 403}]' >"$tmp/refuse.json"
	set_faults "$tmp/refuse.json"
	expect_log 'credentials'
	expect_log 'no reply NoCredentials'
	have_ended() { ctl credentials "$mnt" | grep -q "^until.*passed"; }
	wait_for 60 have_ended
	expect_eq EACCES "$(fdo open r "$mnt/two")" "credentials that the source does not renew give EACCES"
	shows 'ckptctl credentials /mnt/ckpt' "^until${tab}.*passed, by" "it is shown until when they held"
	shows 'ckptctl credentials /mnt/ckpt' "^error${tab}.*403" "the last error of the source is shown"
	set_faults
	renewed() { [ "$(fdo open r "$mnt/two")" = ok ]; }
	check "the mount goes on by itself when the source is mended" wait_for 60 renewed
	umount_ckptfs "the daemon ends well with credentials that are renewed"
}

skewed() {
	row 'RequestTimeTooSkewed, or clock in ckptctl doctor'
	anew --clock-skew 2h
	use
	expect_eq bytes "$(cat "$mnt/two")" "the mount corrects for a clock that is wrong"
	run 'ckptctl doctor /mnt/ckpt'
	check "doctor names the clock" grep -q "^broken${tab}clock${tab}" "$tmp/said"
	umount_ckptfs "the daemon ends well beside a clock that is wrong"
}

io_error() {
	row 'Er EIO No (Input/output error)'
	anew
	use
	echo '[{"op": "GetObject", "key": "two", "do": "corrupt", "after_bytes": 1}]' >"$tmp/corrupt.json"
	set_faults "$tmp/corrupt.json"
	expect_log 'two'
	expect_eq EIO "$(fdo open r "$mnt/two" pread 5 0 | sed 's/ok //')" "bytes that differ from their checksum give EIO"
	shows 'ckptctl status /mnt/ckpt' "^(error|warning)${tab}.*get .*/two.*request " "the status has operation and request id of a read that failed"
	echo '[{"op": "PutObject", "key": "fails", "do": "status", "status": 400, "code": "Odd"}]' >"$tmp/odd.json"
	set_faults "$tmp/odd.json"
	expect_log 'fails'
	expect_eq "ok ok EIO" "$(fdo open wct "$mnt/fails" write 5 close)" "a failure of the store that has no errno of its own is EIO at close"
	shows 'ckptctl status /mnt/ckpt' "^(error|warning)${tab}.*put .*/fails.* 400 Odd.*request " "the status has operation and request id of a save that failed"
	expect_eq "" "$(store_ls fails)" "a file whose close failed is not published"
	set_faults
	expect_eq "ok ok ok" "$(fdo open wct "$mnt/fails" write 5 close)" "a file whose close failed can be saved again"
	umount_ckptfs "the daemon ends well after errors of the store"
}

died() {
	row 'Er ENOTCONN No (Transport endpoint is not connected)'
	use
	fdo_begin open r "$mnt/two" pause close
	kill -KILL "$mount_pid"
	wait "$mount_pid" 2>/dev/null
	expect_eq ENOTCONN "$(fdo open r "$mnt/two")" "a daemon that died leaves ENOTCONN"
	shows 'ckptctl list' "^$mnt$tab$url${tab}unreachable" "the list shows that it cannot be reached"
	row 'umount: target is busy'
	umount "$mnt" >"$tmp/said" 2>&1
	check "umount says that the target is busy after a crash, while somebody has a file open" grep -q 'target is busy' "$tmp/said"
	check "umount -l takes it away" umount -l "$mnt"
	use
	expect_eq bytes "$(cat "$mnt/two")" "what was published is there in the next mount"
	fdo_next
	umount_ckptfs "the next daemon ends well"

	use
	fdo_begin open r "$mnt/two" pause close
	umount "$mnt" >"$tmp/said" 2>&1
	check "umount says that the target is busy" grep -q 'target is busy' "$tmp/said"
	shows 'fuser -vm /mnt/ckpt' " $fdo_pid " "fuser names the process"
	fdo_ends "ok ok ok" "the process closes its file"
	fdo_begin open wct "$mnt/closes" write 5 pause close
	freeze "$store_pid"
	: >"$tmp/fdo/go"
	closes() { ctl files "$mnt" | grep -q "^uploading.*closes$"; }
	wait_for 30 closes
	umount "$mnt" >"$tmp/said" 2>&1
	check "a close that is under way makes the mount busy" grep -q 'target is busy' "$tmp/said"
	shows 'ckptctl files /mnt/ckpt' "^uploading.*${tab}closes$" "the file of such a close is shown, which fuser does not see"
	thaw "$store_pid"
	fdo_ends "ok ok ok ok" "the close ends when the store goes on"
	umount_ckptfs "the mount is not busy then"
}

hangs() {
	row 'everything hangs, Er ETIMEDOUT No after two minutes'
	use deadline=20s
	fdo_begin open wct "$mnt/late" write 5 pause close
	freeze "$store_pid"
	: >"$tmp/fdo/go"
	waits() { ctl files "$mnt" | grep -q "^uploading.*late$"; }
	wait_for 30 waits
	shows 'ckptctl status /mnt/ckpt' "^file${tab}uploading, .*changed .* ago: late$" "the status answers under a frozen store, with the age of what is not published"
	shows 'ckptctl doctor /mnt/ckpt' "^broken${tab}http" "doctor finds what fails"
	expect_eq "ok ok broken" "$(for what in dns tcp http; do awk -F '\t' -v w=$what '$2 == w { print $1 }' "$tmp/said"; done | xargs)" \
		"doctor shows that the server fails, not the way to it"
	expect_log 'late'
	fdo_ends "ok ok ok ETIMEDOUT" "a close says ETIMEDOUT after the deadline"
	thaw "$store_pid"
	expect_eq "ok ok ok" "$(fdo open wct "$mnt/recovered" write 5 close)" "the mount recovers when the store does"
	umount_ckptfs "the daemon ends well after a store that stood still"
}

slow() {
	row 'a save or a load is slow'
	anew --total-rate 4M --request-rate 20,100
	use connections=2
	head -c 40000000 /dev/zero >"$mnt/slow" &
	saves=$!
	shows 'ckptctl top /mnt/ckpt' '^(dirty|uploading) .* [1-9][0-9.]* [KMi]*B/s +slow$' "top shows the rate of a file"
	wait "$saves"
	python3 -c 'import concurrent.futures as f, sys
save = lambda i: open(f"{sys.argv[1]}/many{i}", "x").close()
list(f.ThreadPoolExecutor(20).map(save, range(60)))' "$mnt"
	shows 'ckptctl stats' "^throttled${tab}[1-9]" "the metrics tell that the store asks for fewer requests"
	shows 'ckptctl stats' "^transfers_most${tab}[1-9]" "the metrics tell how many transfers there may be"
	umount_ckptfs "the daemon ends well after a slow store"
	anew --rate 20M
	use
	shows 'ckptctl doctor /mnt/ckpt' "^(ok|slow)${tab}options${tab}" "doctor tells which options fit"
	umount_ckptfs "the daemon ends well after the speed was tried"
}

full() {
	row 'Er ENOSPC No (No space left on device)'
	anew --quota 1M
	use
	expect_log 'full1'
	expect_eq ENOSPC "$(fdo src "$tmp/data" open wct "$mnt/full1" write 2000000 close | sed 's/.* //')" "a quota of the store is ENOSPC"
	log_has 'put .*/full1.* 507 ' "the log says that it is the store"
	umount_ckptfs "the daemon ends well after a quota"
	anew
	if [ -z "${CKPTFS_IN_NAMESPACE-}" ]; then
		for name in is says shows; do skip "a disk that is full $name" "no mount namespace can be made"; done
		return
	fi
	mkdir "$tmp/disk"
	mount -t tmpfs -o size=8M none "$tmp/disk"
	at_exit 'umount -l "$tmp/disk"'
	use part_size=16M memory=64M spill_dir="$tmp/disk"
	expect_log 'full|spill'
	set -- open +ct "$mnt/holes"
	for i in 0 1 2 3 4 5 6 7; do set -- "$@" pwrite 15000000 $((i * 16777216 + 1000)); done
	expect_eq ENOSPC "$(fdo "$@" close 2>&1 | tr ' ' '\n' | grep -m 1 ENOSPC)" "a disk of spill_dir that is full is ENOSPC"
	log_has "$tmp/disk|spill" "the log says that it is the spill file"
	df_of() { row_has 'df /var/tmp' && df "$tmp/disk"; }
	check "df shows the disk" df_of
	umount_ckptfs "the daemon ends well after a full disk"
}

read_only() {
	row 'Er EROFS No (Read-only file system)'
	use ro
	expect_eq EROFS "$(fdo open wct "$mnt/new")" "a mount with ro gives EROFS"
	umount_ckptfs "the daemon of a mount with ro ends well"
	use
	ctl drain "$mnt" >/dev/null
	expect_eq EROFS "$(fdo open wct "$mnt/new")" "a mount that was drained gives EROFS"
	shows 'ckptctl list' "^$mnt$tab$url${tab}draining" "the list shows that it was drained"
	run 'ckptctl drain --undo /mnt/ckpt'
	expect_eq "ok ok ok" "$(fdo open wct "$mnt/new" write 5 close)" "drain --undo ends that"
	umount_ckptfs "the daemon ends well after a drain"
}

other_host() {
	use
	use_mount other
	CKPTFS_TEST_SCHEME=s3
	use
	use_mount first
	row 'Er ESTALE No (Stale file handle)'
	fdo_begin open w "$mnt/two" write 3 pause close
	printf theirs >"$tmp/other/two"
	expect_log 'two: its version .* is kept'
	fdo_ends "ok ok ok ESTALE" "a file that another host replaced is ESTALE"
	expect_eq theirs "$(cat "$mnt/two")" "the other host's version stays"
	shows "ckptctl recover $url" "^kept$tab.*${tab}two$" "recover shows the change that is kept"
	run "ckptctl recover --discard $url"
	check "recover discards it" grep -q "^discarded$tab.*${tab}two$" "$tmp/said"

	row 'a file that another host has written is not visible'
	fdo_begin src "$tmp/data" open wct "$mnt/being" write 12000000 pause close
	expect_eq ENOENT "$(fdo open r "$tmp/other/being")" "a file that is not closed is not seen by another host"
	shows 'ckptctl files /mnt/ckpt' "^dirty.*${tab}being$" "the files of the host that writes show it"
	shows "ckptctl uploads list $url" "${tab}being$" "the list of uploads shows that it is under way"
	fdo_ends "ok ok ok ok ok" "the file is closed"
	check "another host sees the file when it was closed" test -s "$tmp/other/being"
	umount_ckptfs "the daemon ends well beside another"
	use_mount other
	umount_ckptfs "the other ends well"
	use_mount first
}

sent() {
	row 'Er EBUSY No when a file is read or overwritten that is being written'
	use memory=64M
	fdo_begin src "$tmp/data" open wct "$mnt/being" write 12000000 pwrite 10 5 pause close
	shows 'ckptctl files /mnt/ckpt' "^dirty.*${tab}being$" "the file that is being written is shown"
	fdo_ends "ok ok ok EBUSY ok ok" "bytes that were sent cannot be overwritten"
	umount_ckptfs "the daemon ends well after a write that was refused"
}

ends() {
	row 'umount hangs'
	use
	freeze "$mount_pid"
	shows 'ckptctl list' "^$mnt$tab$url${tab}unreachable" "the list shows that a daemon does not answer"
	check "umount -l takes the mountpoint of a daemon that does not answer" timeout 60 umount -l "$mnt"
	thaw "$mount_pid"
	mount_ended "the daemon ends when it goes on"

	row 'umount or umount -l returned, and the daemon runs on'
	use
	fdo_begin open wct "$mnt/last" write 5 pause close
	freeze "$store_pid"
	: >"$tmp/fdo/go"
	publishes() { ctl files "$mnt" | grep -q "^uploading.*last$"; }
	wait_for 30 publishes
	kill -KILL "$fdo_pid"
	wait "$fdo_pid" 2>/dev/null
	check "umount returns though a close is under way that nobody waits for" wait_for 60 umount "$mnt"
	shows 'ckptctl list' "^$mnt$tab$url${tab}ending$tab$mount_pid" "the list shows that the daemon ends"
	shows 'ckptctl status' "^unsent${tab}5 B" "the status answers meanwhile, and shows how much is left"
	thaw "$store_pid"
	mount_ended "the daemon ends when all is published"
	expect_eq 5 "$(objects size last)" "what was closed is published"
	use
	fdo_begin open wct "$mnt/held" write 5 pause close
	check "umount -l takes a mount with open files" umount -l "$mnt"
	shows 'ckptctl list' "^$mnt$tab$url${tab}detached$tab$mount_pid" "the list shows that the mount is detached"
	fdo_ends "ok ok ok ok" "the file is closed in the detached mount"
	mount_ended "the daemon of a detached mount ends with its last file"
}

upgrade() {
	row 'a mount that is in use has to be upgraded'
	use
	fdo_begin open wct "$mnt/save" write 5 pause close
	timeout 60 "$builddir/ckptctl" drain --timeout 1s -o "control_dir=$dir" "$mnt" >"$tmp/drain" 2>&1
	check "drain tells what it waits for" sh -c 'grep -q "^waiting.1 open for writing" "$1" && grep -q "dirty: save$" "$1"' sh "$tmp/drain"
	fdo_ends "ok ok ok ok" "a file that was open is saved"
	shows 'ckptctl drain /mnt/ckpt' '^drained$' "the mount is drained when it is published"
	fdo_begin open r "$mnt/two" pause close
	check "umount -l takes a mount that programs only read from" umount -l "$mnt"
	before=$mount_pid
	use
	expect_eq "detached $before serving $mount_pid" "$(ctl list | awk -F '\t' -v at="$mnt" '$1 == at { print $3, $4 }' | LC_ALL=C sort | xargs)" \
		"the new mount stands beside the old daemon"
	fdo_ends "ok ok ok" "the reader goes on"
	wait "$before"
	expect_eq 0 "$?" "the old daemon ends with the last reader"
	umount_ckptfs "the new daemon ends well"
}

begins() {
	row 'the mount does not come at boot'
	try_mount() { "$@" "$builddir/ckptfs" -o "endpoint=$CKPTFS_TEST_ENDPOINT,control_dir=$dir" "$url" "$mnt" >"$tmp/said" 2>&1; }
	try_mount env -u HOME -u AWS_ACCESS_KEY_ID -u AWS_SECRET_ACCESS_KEY -u AWS_SHARED_CREDENTIALS_FILE -u AWS_CONFIG_FILE
	expect_eq "1 1" "$? $(wc -l <"$tmp/said")" "without keys in a file of root's a mount fails in one line"
	check "the line has the remedy" grep -q 'AWS_ACCESS_KEY_ID' "$tmp/said"
	row 'mountpoint is not empty'
	: >"$mnt/written-below"
	try_mount
	expect_eq "1 1" "$? $(grep -c 'is not empty' "$tmp/said")" "a mountpoint with files is refused"
	shows 'ls -A /mnt/ckpt' '^written-below$' "ls shows them"
	rm "$mnt/written-below"
	use
	umount_ckptfs "the mount comes when they are moved away"
}

denied
rotated
expired
skewed
io_error
died
hangs
slow
full
read_only
other_host
sent
ends
upgrade
begins
expect_eq "$(page_rows | LC_ALL=C sort)" "$(LC_ALL=C sort -u "$tmp/met")" "each row of the page was met"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# publish_ends_late.sh: what a mount made is known as of when the store was asked to make it. The reply takes longer than
# attr_ttl, or what the store was given to compose an object of is removed for so long; another host removes meanwhile
# what was made.
. "$srcdir/tests/lib/mount.sh"
need_fuse
if on_gs; then plan 8; else plan 6; fi
start_store
if on_gs; then put=objects.insert && set -- upload=compose; else put=PutObject && set --; fi
mount_ckptfs part_size=5M attr_ttl=500ms stall_timeout=120s "$@"
# The reply comes later than attr_ttl.
reply() {
	sleep 0.6
	set_faults
}
make() {
	case $1 in
	close) fdo open wct "$mnt/new" write 10 close ;;
	mkdir) mkdir "$mnt/dir" ;;
	symlink) ln -s to "$mnt/link" ;;
	esac
	if [ -e "$mnt/new" ] || [ -e "$mnt/dir" ] || [ -L "$mnt/link" ]; then echo there; else echo gone; fi
}

for what in 'close new' 'mkdir dir/' 'symlink link'; do
	key=${what#* } what=${what% *}
	set_rules "$(held_once $put "$key")"
	make "$what" >"$tmp/made" 2>&1 &
	maker=$!
	wait_held $put
	check "another host removes what a $what has made" objects rm "$key"
	reply
	wait $maker
	# promise: fresh.age
	expect_eq gone "$(tail -n 1 "$tmp/made")" "what another host has removed is not seen after a $what that took long"
done

# What is added is an object, which goes once the file is composed of it.
if on_gs; then
	head -c 12000000 /dev/urandom | store_put old
	set_rules "$(held_once batch '*')"
	fdo_begin open wa "$mnt/old" write 10 pause close size "$mnt/old"
	: >"$tmp/fdo/go"
	wait_held batch
	check "another host removes what an append has composed" objects rm old
	reply
	fdo_ends "ok ok ok ok ENOENT" "what another host has removed is not seen after an append that took long"
fi

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# examples.sh: every command that a manual page or the README shows apart is run as it stands, in order, on a machine of
# its own: namespaces, a copy of this machine's Debian in which the build is installed, and the vendors' servers played
# by storesim under their own names, with TLS. "#" stands for root and "$" for the user trainer. examples.plan says
# what a page expects to be there before, and what cannot be run, and why. With $CKPTFS_DEBIAN, a Debian that has the
# packages of the build, the machine is a copy of that one: tests/packages/packages.sh does so.
[ -n "${CKPTFS_IN_NAMESPACE-}" ] || ! unshare -mpfn --propagation private --mount-proc true 2>/dev/null ||
	exec env CKPTFS_IN_NAMESPACE=yes unshare -mpfn --kill-child --propagation private --mount-proc \
		sh "$srcdir/tests/lib/alone.sh" sh "$0"
. "$srcdir/tests/lib/mount.sh"
need_fuse
let_users_mount || :
[ -n "${CKPTFS_IN_NAMESPACE-}" ] || skip_all "no namespaces can be made"
for tool in openssl ip; do command -v $tool >/dev/null || skip_all "$tool is not installed"; done
# What the commands of the pages find on a machine, beside what the packages bring.
for tool in setpriv useradd getfattr mpirun jq; do
	chroot "${CKPTFS_DEBIAN:-/}" sh -c 'command -v "$0"' $tool >/dev/null || skip_all "$tool is not installed"
done
only=${CKPTFS_PAGES:-ckptfs.1 ckptfs.conf.5 ckptfs-credentials.7 mount.ckptfs.8 ckptctl.8 storesim.1 ckptbench.1 ckptfs-admin.7 README.md}
plan_file=$srcdir/tests/admin/examples.plan

# --- the machine
world=$tmp/world
mkdir "$world"
mount -t tmpfs tmpfs "$world"
at_exit 'umount -R -l "$world"'
mkdir "$world/installed" "$world/items" "$world/stores" "$world/certificates"
# install_build: what `make install` puts in place, over this machine's Debian
install_build() {
	make -s -C "$builddir" install DESTDIR="$world/installed" >"$world/install.log" 2>&1 || { tail "$world/install.log"; exit 1; }
	programs=$(dirname "$(find "$world/installed" -type f -name ckptfs -path '*/bin/*')")
	programs=${programs#"$world/installed"}
	# After an installation into another prefix make links, as mount.ckptfs(8) has it.
	mkdir -p "$world/installed/usr/sbin"
	for helper in mount.ckptfs mount.fuse.ckptfs; do
		[ -e "$world/installed/usr/sbin/$helper" ] || ln -s "${programs%/bin}/sbin/$helper" "$world/installed/usr/sbin/$helper"
	done
	# Where a package puts the examples, too.
	[ -e "$world/installed/usr/share/doc/ckptfs" ] || { mkdir -p "$world/installed/usr/share/doc" &&
		ln -s "${programs%/bin}/share/doc/ckptfs" "$world/installed/usr/share/doc/ckptfs"; }
}
debian=$world/installed:/ programs=/usr/bin
if [ -n "${CKPTFS_DEBIAN-}" ]; then debian=$CKPTFS_DEBIAN; else install_build; fi
mkdir "$world/probe" && mount -t overlay overlay -o "lowerdir=$debian,upperdir=$world/items,workdir=$world/stores" "$world/probe" 2>/dev/null ||
	skip_all "no file system can be laid over this one"
umount "$world/probe"
rm -rf "$world/stores" && mkdir "$world/stores"
ip link set lo up
ip address add 169.254.169.254/32 dev lo
# Ranks of MPI want a network beside the loopback device.
ip link add name net0 type veth peer name net1 2>/dev/null && ip address add 192.0.2.1/24 dev net0 && ip link set net0 up && ip link set net1 up

# One authority, and a certificate for every name that is asked for.
names='*.s3.eu-west-1.amazonaws.com sts.amazonaws.com sts.eu-west-1.amazonaws.com storage.googleapis.com oauth2.googleapis.com objects.example.com'
(
	cd "$world/certificates" || exit
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=authority -keyout ca.key -out ca.pem
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=stores -keyout key.pem -out request.pem
	echo "subjectAltName=$(for n in $names; do printf 'DNS:%s,' "$n"; done | sed 's/,$//')" >names
	openssl x509 -req -in request.pem -days 2 -CA ca.pem -CAkey ca.key -CAcreateserial -extfile names -out cert.pem
	cat /etc/ssl/certs/ca-certificates.crt ca.pem >system.pem
	openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out account.key
	openssl pkey -in account.key -pubout -out account.pub
) >"$world/openssl.log" 2>&1

# server NAME ADDRESS:PORT option...: plays one, until the end
server() {
	server_name=$1 address=$2
	shift 2
	spawn env STORESIM_SECRET_KEY=example-secret "$builddir/storesim" --listen "$address" --log "$world/stores/$server_name.log" "$@" \
		>"$world/stores/$server_name.out" 2>&1
	wait_for 30 grep -q '^listening on ' "$world/stores/$server_name.out"
}
tls="--tls-cert $world/certificates/cert.pem --tls-key $world/certificates/key.pem"
cat >"$world/sts.json" <<'JSON'
{"issue": {"only": true}, "keys": {"AKIAEXAMPLE": "example-secret"},
 "sts.AssumeRole": {"role_arn": "arn:aws:iam::111122223333:role/train", "external_id": "shared"}}
JSON
cat >"$world/google.json" <<JSON
{"gce.token": {}, "gce.ping": {},
 "oauth2.token": {"public_key": "$world/certificates/account.pub", "email": "ckptfs@project.iam.gserviceaccount.com"}}
JSON
# shellcheck disable=SC2086 # $tls: two options
{
	server s3 127.0.0.2:443 $tls --data "$world/stores/s3" --bucket bucket --domain s3.eu-west-1.amazonaws.com \
		--access-key AKIAEXAMPLE --region eu-west-1 --identity "$world/sts.json"
	server gs 127.0.0.3:443 $tls --data "$world/stores/gs" --protocol gs --bucket bucket --identity "$world/google.json"
	server own 127.0.0.4:443 $tls --data "$world/stores/own" --bucket bucket --access-key AKIAEXAMPLE
}
server metadata 169.254.169.254:80 --null --bucket unused --protocol gs --identity "$world/google.json"
cat >"$world/hosts" <<'HOSTS'
127.0.0.1 localhost
127.0.0.2 s3.eu-west-1.amazonaws.com bucket.s3.eu-west-1.amazonaws.com
127.0.0.2 sts.amazonaws.com sts.eu-west-1.amazonaws.com
127.0.0.3 storage.googleapis.com oauth2.googleapis.com
127.0.0.4 objects.example.com
169.254.169.254 metadata.google.internal
HOSTS
echo "127.0.0.1 $(uname -n)" >>"$world/hosts"

# machine NAME: a fresh one for each page
machine() {
	root=$world/machines/$1
	mkdir -p "$root" "$root.upper" "$root.work"
	mount -t overlay overlay -o "lowerdir=$debian,upperdir=$root.upper,workdir=$root.work" "$root"
	for folder in tmp run root home mnt var/tmp; do mount -t tmpfs tmpfs "$root/$folder"; done
	mount --rbind /dev "$root/dev"
	mount -t proc proc "$root/proc"
	mount -t sysfs -o ro sysfs "$root/sys"
	cat "$world/hosts" >"$root/etc/hosts"
	cat "$world/certificates/system.pem" >"$root/etc/ssl/certs/ca-certificates.crt"
	: >"$root/etc/fstab"
	# What systemd makes at boot, and an engine of containers.
	[ -e "$root/etc/mtab" ] || ln -s ../proc/self/mounts "$root/etc/mtab"
	chroot "$root" useradd -m -s /bin/bash trainer
	mkdir -p "$root/run/user/$(chroot "$root" id -u trainer)"
	chroot "$root" sh -c 'chown trainer /run/user/*'
	for home in /root /home/trainer; do
		mkdir "$root$home/.aws"
		printf '[%s]\naws_access_key_id = AKIAEXAMPLE\naws_secret_access_key = example-secret\n' default train >"$root$home/.aws/credentials"
		printf '[default]\nregion = eu-west-1\n' >"$root$home/.aws/config"
		chmod 600 "$root$home/.aws/credentials"
	done
	mkdir -p "$root/etc/ckptfs"
	cat "$world/certificates/ca.pem" >"$root/etc/ssl/objects.pem"
	printf '{"type": "service_account", "client_email": "ckptfs@project.iam.gserviceaccount.com", "private_key_id": "1", "private_key": "%s",
		"token_uri": "https://oauth2.googleapis.com/oauth2/token"}' "$(awk '{ printf "%s\\n", $0 }' "$world/certificates/account.key")" \
		>"$root/etc/ckptfs/key.json"
	chroot "$root" chown -R trainer /home/trainer
	mkdir "$root/mnt/ckpt"
	chroot "$root" chown trainer /mnt/ckpt
}
# on_machine root|user COMMAND...: replaces the shell that calls it
on_machine() {
	who='HOME=/root USER=root LOGNAME=root' as=''
	[ "$1" = root ] || {
		who='HOME=/home/trainer USER=trainer LOGNAME=trainer XDG_RUNTIME_DIR=/run/user/'$(chroot "$root" id -u trainer)
		as="setpriv --reuid trainer --regid trainer --init-groups"
	}
	shift
	# shellcheck disable=SC2086 # several words each
	exec setsid chroot "$root" $as env -i --default-signal=INT $who PATH="$programs:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" \
		SHELL=/bin/bash TERM=xterm LANG=C.UTF-8 OMPI_MCA_btl_vader_single_copy_mechanism=none bash -c 'cd && eval "$0"' "$1"
}
end_machine() {
	for left in /proc/[0-9]*; do
		[ "$(readlink "$left/root")" != "$root" ] || kill -KILL "${left#/proc/}" 2>/dev/null
	done
	awk -v at="$root/" 'index($2, at) == 1 && $3 ~ /^fuse/ { print $2 }' /proc/self/mounts | while read -r other; do umount -l "$other"; done
	umount -R -l "$root"
}

# --- the pages
pages=''
for page in $only; do
	for file in "$srcdir/man/$page" "$builddir/man/$page" "$srcdir/$page"; do
		[ ! -e "$file" ] || { pages="$pages $file"; break; }
	done
done
# shellcheck disable=SC2086 # files
count=$(LC_ALL=C awk -v out="$world/items" -f "$srcdir/tests/admin/displays.awk" $pages)
# The plan's entries, each with its page, its display and what it says: N.page, N.text, N.ways.
awk -v out="$world/plan" 'BEGIN { system("mkdir " out) }
	/^%/ || /^$/ { next }
	/^@ / { page = $2; next }
	/^\t/ { print substr($0, 2) >(base ".ways"); next }
	{ n++; base = sprintf("%s/%03d", out, n); print page >(base ".page"); print >(base ".text"); printf "" >(base ".ways") }' "$plan_file"
plan $((count + 3))

# ways_of ITEM: what the plan says of it, in $item.ways
ways_of() {
	: >"$1.ways"
	case $(cat "$1.kind") in root) prompt='# ' ;; user) prompt='$ ' ;; *) prompt='= ' ;; esac
	printf '%s%s\n' "$prompt" "$(head -n 1 "$1.text")" >"$world/title"
	for entry in "$world"/plan/*.text; do
		[ "$(cat "${entry%.text}.page")" = "${at%%:*}" ] && cmp -s "$entry" "$world/title" || continue
		cat "${entry%.text}.ways" >>"$1.ways"
		: >"${entry%.text}.met"
	done
}
# What varies is a number: each is 0 here.
alike() {
	awk 'function norm(s) { gsub(/[0-9]+([.:,\/-][0-9]+)*/, "0", s); gsub(/[ \t]+/, " ", s); sub(/ $/, "", s); return s }
		FNR == NR { want[++nw] = norm($0); next }
		{ got[++ng] = norm($0) }
		END {
			for (i = j = 1; i <= nw; i++) {
				if (want[i] != got[j]) { print "the page has: " want[i]; print "it is:        " got[j]; exit 1 }
				j++
			}
			if (j <= ng) { print "the page lacks: " got[j]; exit 1 }
		}' "$1" "$2"
}
says() { grep -qE -- "$1" "$item.out"; }
# Runs until it has said that, and for as long as the page if it stays.
run_on() {
	(on_machine "$kind" "$command") >"$item.out" 2>&1 &
	running=$!
	try_for 60 says "$2"
	said=$?
	case $1 in
	shows)
		kill -INT "-$running" 2>/dev/null
		wait "$running" 2>/dev/null
		;;
	esac
	return $said
}
run_item() {
	kind=$(cat "$item.kind") command=$(cat "$item.text") mode=''
	while IFS='	' read -r way detail; do
		case $way in
		before) [ "$mode" = absent ] || (on_machine root "$detail") </dev/null || { echo "before it: $detail"; return 1; } ;;
		as) kind=$detail ;;
		with) command=$(printf '%s' "$command" | sed "${detail%%: *}") ;;
		into)
			mkdir -p "$root$(dirname "$detail")"
			cat "$item.text" >>"$root$detail"
			mode=done
			;;
		shows | stays) run_on "$way" "$detail" || { cat "$item.out"; return 1; }; mode=done ;;
		not) mode=done ;;
		packaged) [ -n "${CKPTFS_DEBIAN-}" ] || mode=absent ;;
		unpackaged) [ -z "${CKPTFS_DEBIAN-}" ] || mode=absent ;;
		after) ;;
		*) echo "the plan says '$way', which is nothing"; return 1 ;;
		esac
	done <"$item.ways"
	case $mode$kind in
	done* | absent*) ;;
	text) echo "neither run nor listed: say in examples.plan where it goes"; return 1 ;;
	*)
		(on_machine "$kind" "timeout 600 bash -c $(printf '%s' "$command" | sed "s/'/'\\\\''/g; 1s/^/'/; \$s/\$/'/")") >"$item.out" 2>"$item.err" </dev/null ||
			{ echo "exit status $?"; cat "$item.out" "$item.err"; return 1; }
		;;
	esac
	[ ! -s "$item.shown" ] || { cat "$item.out" "$item.err" 2>/dev/null >"$item.all"; alike "$item.shown" "$item.all" || return 1; }
	[ "$mode" != absent ] || return 0
	while IFS='	' read -r way detail; do
		[ "$way" != after ] || (on_machine root "$detail") </dev/null || { echo "after it: $detail"; return 1; }
	done <"$item.ways"
}

mkdir "$world/machines"
now=''
for item in "$world"/items/*.text; do
	item=${item%.text}
	at=$(cat "$item.at")
	if [ "${at%%:*}" != "$now" ]; then
		[ -z "$now" ] || end_machine
		now=${at%%:*}
		machine "$now"
	fi
	ways_of "$item"
	check "$at does what the page says: $(head -n 1 "$item.text" | tr '#' ' ')" run_item
done
end_machine
for entry in "$world"/plan/*.text; do
	entry=${entry%.text}
	case " $only " in *" $(cat "$entry.page") "*) [ -e "$entry.met" ] || echo "$(cat "$entry.page"): $(cat "$entry.text")" ;; esac
done >"$world/unmet"
expect_eq "" "$(cat "$world/unmet")" "whatever the plan names is in a page"

# What the text names beside.
grep -hoE '^\.Ql ckptctl [a-z]+' "$srcdir"/man/* | cut -d ' ' -f 3 | sort -u >"$world/named"
"$builddir/ckptctl" --help 2>&1 | grep -oE '[a-z]+' | sort -u >"$world/words"
expect_eq "" "$(grep -vxFf "$world/words" "$world/named")" "each command of ckptctl that a page names exists"
# The rows of ckptfs-admin(7) under WHEN SOMETHING IS WRONG.
expect_eq "" "$(awk '/^\.Sh /{ inside = /WHEN SOMETHING/ } !inside { next }
	/^\.It |^\.El/ { if (row != "" && !shows) print row; row = $0; shows = 0 }
	/^\.Ql / { shows = 1 }' "$srcdir/man/ckptfs-admin.7")" "each symptom has a command that shows what it is"

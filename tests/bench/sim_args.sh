#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Bad arguments of the simulator: one line with cause and remedy, and nothing served.
. "${srcdir:?}/tests/lib/tap.sh"
plan 48

refuses() {
	name=$1 want=$2
	shift 2
	timeout 60 "$builddir/storesim" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	rc=$?
	if [ "$rc" -ne 0 ] && [ ! -s "$tmp/out" ] && [ "$(wc -l <"$tmp/err")" -eq 1 ] && grep -q "$want" "$tmp/err"; then
		ok "$name"
	else
		not_ok "$name"
		diag "exit status $rc"
		sed 's/^/#   /' "$tmp/out" "$tmp/err"
	fi
}
b="--bucket bkt"
# shellcheck disable=SC2086
{
	refuses "no place for objects" 'give --data DIR or --null' $b
	refuses "two places" 'give one' $b --null --data "$tmp/d"
	refuses "an option that there is not" '^storesim: --colour=red is not an option.*see storesim --help' $b --null --colour=red
	refuses "an option without its value" '^storesim: --listen lacks its value: see' $b --null --listen
	refuses "an address without a port" 'no port: give ADDRESS:PORT' $b --null --listen 127.0.0.1
	refuses "a number that is no port" 'no port: give ADDRESS:PORT' $b --null --listen 127.0.0.1:99999
	refuses "no bucket" 'give --bucket' --null
	refuses "a bad bucket" 'give 3 to 63' --null --bucket Up
	refuses "a bad number" 'give 1 to 64' $b --null --threads 0
	refuses "a bad rate" 'as 50M' $b --null --rate fast
	refuses "a bad rate of all connections" 'total-rate.*as 50M' $b --null --total-rate 0
	refuses "a bad rate of requests" 'as 3500,5500' $b --null --request-rate 100
	refuses "a tier that is none" 'give ARCHIVE_ACCESS' $b --null --archive-tier hot
	refuses "a bad time" 'as 20ms' $b --null --ttfb 20x
	for option in request-rate=1,1 session-life=1s read-only-sessions local-zone allow-sse-c copy-if=ignore if-match=ignore if-none-match=ignore strict-headers key-tokens domain=d base-path=/a \
		access-point=ap=bkt checksums=none object-lock radosgw archive-tier=ARCHIVE_ACCESS; do
		refuses "--$option with the protocol of Google" "^storesim: --${option%%=*} does nothing here: .*--protocol s3" \
			$b --null "--$option" --protocol gs
	done
	for option in hns no-move testbench forbid-encryption=csek name-pause=1s retention=1h rewrite-chunk=1M resume-short=1M; do
		refuses "--$option with the protocol of S3" "^storesim: --${option%%=*} does nothing here: .*--protocol gs" \
			$b --null "--$option"
	done
	refuses "a quota of what is forgotten" '^storesim: --quota does nothing with --null' $b --null --quota 1M
	refuses "half a key" 'give --access-key and --secret-key' $b --null --access-key a
	refuses "half of TLS" 'give --tls-cert and --tls-key' $b --null --tls-cert x
	refuses "no certificate" 'in PEM' $b --null --tls-cert "$tmp/none" --tls-key "$tmp/none"
	refuses "an address of another machine" 'of this machine' $b --null --listen 192.0.2.1:80
	refuses "a directory that cannot be made" 'can be written' $b --data /proc/none/here
	refuses "objects of a size in a directory" 'with --null' $b --data "$tmp/sized" --fill f=2,1G
	refuses "a file of rules that is not there" 'none' $b --null --faults "$tmp/none"
	echo '[{"op":"GetObject","colour":"red","do":"reset"}]' >"$tmp/rules"
	refuses "a rule that is not known" 'rule 1 has a field' $b --null --faults "$tmp/rules"
}

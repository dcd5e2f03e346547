#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Lists of the simulator: order, common prefixes, pages.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/sim.sh"
plan 15

sim_start --null
echo x >"$tmp/x"
for key in a a/1 a/2 a/b/c a0 b%2F b/x c%0Ad %C3%BC; do req PUT "/bkt/$key" -T "$tmp/x" >/dev/null; done

keys() { tr '<' '\n' <"$tmp/body" | sed -n "s/^\(Key\|Prefix\)>\(.*[^ ]\)$/\2/p" | tr '\n' ' '; }
req GET '/bkt?list-type=2&encoding-type=url' >/dev/null
expect_eq "a a/1 a/2 a/b/c a0 b/ b/x c%0Ad %C3%BC " "$(keys)" "keys come in the order of their bytes"
req GET '/bkt?list-type=2' >/dev/null
expect_eq 'c&#10;d' "$(keys | tr ' ' '\n' | grep '^c' | sed 's/&#xA;/\&#10;/')" "a newline is escaped"
req GET '/bkt?list-type=2&delimiter=%2F&encoding-type=url' >/dev/null
expect_eq "a a0 c%0Ad %C3%BC a/ b/ " "$(keys)" "a delimiter gathers keys"
req GET '/bkt?list-type=2&prefix=a%2F&delimiter=%2F' >/dev/null
expect_eq "a/ a/1 a/2 a/b/ " "$(keys)" "a delimiter gathers keys below a prefix, too"
req GET '/bkt?list-type=2&start-after=a%2F2' >/dev/null
expect_eq a/b/c "$(keys | cut -d ' ' -f 1)" "a list begins behind a key"
req GET '/bkt?list-type=2&max-keys=0' >/dev/null
expect_eq "0 false" "$(element KeyCount) $(element IsTruncated)" "an empty page is the last"
expect_eq 400 "$(req GET '/bkt?list-type=2&continuation-token=xyz')" "a token that is none is refused"
expect_eq 400 "$(req GET '/bkt?list-type=2&max-keys=-1')" "a bad number is refused"


# The vendor tells whole seconds, in lists as in headers.
times() { tr '<' '\n' <"$tmp/body" | sed -n 's/^\(LastModified\|Initiated\)>[^.]*\.//p' | sort -u | xargs; }
req GET '/bkt?list-type=2' >/dev/null
said=$(times)
req POST '/bkt/up?uploads' >/dev/null
req GET '/bkt?uploads' >/dev/null
expect_eq "000Z 000Z" "$said $(times)" "times have no parts of a second"

# Every page size gives the same list, in pages of that size.
pages() {
	token='' all=''
	while :; do
		req GET "/bkt?list-type=2&encoding-type=url&$1$token" >/dev/null
		all=$all$(keys)
		[ "$(element IsTruncated)" = true ] || break
		token="&continuation-token=$(element NextContinuationToken)"
	done
	echo "$all"
}
expect_eq "a a/1 a/2 a/b/c a0 b/ b/x c%0Ad %C3%BC " "$(pages max-keys=1)" "pages of one entry have every key once"
expect_eq "a a/1 a/2 a/b/c a0 b/ b/x c%0Ad %C3%BC " "$(pages max-keys=4)" "pages of four entries have every key once"
expect_eq "a a/ a0 b/ c%0Ad %C3%BC " "$(pages 'delimiter=%2F&max-keys=1')" "pages of common prefixes have every prefix once"

req GET '/bkt?delimiter=%2F&max-keys=2' >/dev/null
expect_eq "a/ true" "$(element NextMarker) $(element IsTruncated)" "the first version of the call says where to go on"
req GET '/bkt?delimiter=%2F&max-keys=2&marker=a%2F' >/dev/null
expect_eq "a0 b/ " "$(keys)" "the first version of the call goes on there"
req GET / >/dev/null
expect_eq bkt "$(element Name)" "buckets are listed"

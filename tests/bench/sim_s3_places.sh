#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Where the simulator's buckets are: in the path, below a base, in the host's name, behind an access point.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/sim.sh"
plan 17

printf 'hello' >"$tmp/small"
# at HOST [what req takes]: a request to that name at the server's address
at() {
	host=$1
	shift
	req "$@" -H "Host: $host"
}

sim_start --data "$tmp/data" --domain s3.example --access-point ap=bkt --bucket two
expect_eq 200 "$(at bkt.s3.example PUT /a/b -T "$tmp/small")" "an object is put by the host of its bucket"
expect_eq 200 "$(req GET /bkt/a/b)" "an object that was put by the host is in the bucket"
expect_eq 200 "$(at bkt.s3.example:9000 HEAD /a/b)" "the port counts for nothing in a host"
expect_eq 200 "$(at s3.example GET /bkt/a/b)" "the domain alone names no bucket"
expect_eq 200 "$(at bkts3.example GET /bkt/a/b)" "another domain names no bucket"
expect_eq 404 "$(at two.s3.example HEAD /a/b)" "the host of another bucket has other objects"
expect_eq "404 NoSuchBucket" "$(at three.s3.example GET /a/b) $(element Code)" "the host of a bucket that is not there is refused"
expect_eq 200 "$(at bkt.s3.example GET '/?list-type=2')" "a bucket is listed by its host"
expect_eq a/b "$(element Key)" "a list by the host has the bucket's objects"

expect_eq 200 "$(at ap-123456789012.s3.example GET /a/b)" "an access point leads to its bucket"
expect_eq 404 "$(at ap-210987654321.s3.example GET /a/b)" "an access point of another account is not there"
arn=arn:aws:s3:us-east-1:123456789012:accesspoint
copy() { at ap-123456789012.s3.example PUT /copy -d '' -H "x-amz-copy-source: $1"; }
expect_eq 200 "$(copy "$arn/ap/object/a/b")" "an object is copied from an access point"
expect_eq 200 "$(copy "$(printf '%s' "$arn/ap/object/a/b" | sed 's/:/%3A/g')")" "the source of a copy may be escaped"
expect_eq 400 "$(copy "$arn/no/object/a/b")" "a copy from an access point that is not there is refused"
expect_eq 400 "$(copy "$arn/ap/a/b")" "a copy from what is no object of an access point is refused"
sim_stop

sim_start --data "$tmp/data" --base-path /x/y --domain s3.example
expect_eq "200 200" "$(req GET /x/y/bkt/a/b) $(at bkt.s3.example GET /x/y/a/b)" "an object is below the base"
expect_eq "400 400" "$(req GET /bkt/a/b) $(req GET /x/yy/bkt/a/b)" "what is not below the base is refused"

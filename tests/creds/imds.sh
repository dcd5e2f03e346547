#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The metadata server of an instance.
. "$srcdir/tests/lib/creds.sh"
plan 15
v1=AWS_EC2_METADATA_V1_DISABLED=false
at() { echo "AWS_EC2_METADATA_SERVICE_ENDPOINT=$url"; }

identity '{"issue": {"only": true}, "imds.region": {"region": "eu-x-1"}}'
opens "the instance's role gives keys" "$(at)"
expect_eq "1 1 1" "$(served imds.token) $(served imds.roles) $(served imds.credentials)" "the instance's role costs three requests"
refused "a machine that is told not to ask does not ask" 'AWS_EC2_METADATA_DISABLED is set' \
	"$(at)" AWS_EC2_METADATA_DISABLED=true
expect_eq 1 "$(served imds.token)" "the machine that is told not to ask asked for nothing"

identity '{"issue": {"only": true}, "imds.credentials": {"answer": "expired"}}'
# "SDKs ... should use expired credentials": the vendor's servers take them while they renew none.
refused "keys that have expired are tried, and their refusal is told" \
	'says that the credentials have expired' "$(at)"

identity '{"issue": {"only": true}, "imds.token": {"answer": "refuse", "status": 403}}'
refused "a token that is refused is told" 'refuses a token \(403\).*AWS_EC2_METADATA_V1_DISABLED=false' "$(at)"
identity '{"issue": {"only": true}, "imds.token": {"answer": "refuse", "status": 403}, "imds.credentials": {"v1": true}, "imds.roles": {"v1": true}}'
refused "the first version is not asked by itself" 'refuses a token' "$(at)"
opens "the first version is asked where it is wanted" "$(at)" $v1

identity '{"issue": {"only": true}, "imds.token": {"delay": "20s"}}'
refused "a server that hangs is left after a second, with a word on the hop limit" 'hop limit' "$(at)" AWS_METADATA_SERVICE_TIMEOUT=
refused "a server that hangs is left after as long as is set" 'within 100 ms' "$(at)" AWS_METADATA_SERVICE_TIMEOUT=0.1
refused "a server that hangs is asked as often as is set" 'hop limit' \
	"$(at)" AWS_METADATA_SERVICE_TIMEOUT=0.1 AWS_METADATA_SERVICE_NUM_ATTEMPTS=3
identity '{"issue": {"only": true}, "imds.token": {"answer": "garbage"}}'
refused "a page in place of a token is told" 'gives no token' "$(at)"
identity '{"issue": {"only": true}, "imds.credentials": {"answer": "garbage"}}'
refused "a page in place of keys is told" 'no JSON' "$(at)"
identity '{"issue": {"only": true}, "imds.credentials": {"answer": "refuse", "status": 500, "times": 1}}'
opens "an error that passes is tried again" "$(at)" AWS_METADATA_SERVICE_NUM_ATTEMPTS=2
no_secrets

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Google: the metadata server of a machine, and buckets that want no credentials.
scheme=gs
. "$srcdir/tests/lib/creds.sh"
plan 11
at() { echo "GCE_METADATA_HOST=$host"; }
identity '{"issue": {"only": true}}'
opens "the machine's account gives a token" "$(at)"
expect_eq 1 "$(served gce.token)" "a token costs one request"
refused "a bucket that wants a token is told" 'does not know|denied' -oanonymous "$(at)"
expect_eq 1 "$(served gce.token)" "no token is asked for without credentials"
refused "an emulator is asked without a token, too" 'does not know|denied' "STORAGE_EMULATOR_HOST=$host" "$(at)"
identity '{"issue": {"only": true}, "gce.token": {"answer": "expired"}}'
refused "a token that has expired is no answer" 'expired|does not know' "$(at)"
identity '{"issue": {"only": true}, "gce.token": {"flavor": false}}'
refused "who does not say that it is Google's is not believed" 'is no metadata server' "$(at)"
identity '{"issue": {"only": true}, "gce.token": {"answer": "garbage"}}'
refused "a web page is taken for no credentials" 'no metadata server|no JSON' "$(at)"
identity '{"issue": {"only": true}, "gce.token": {"delay": "20s"}}'
refused "a server that hangs is left after some seconds" 'metadata server: .*[Tt]imed out' "$(at)"
identity '{"issue": {"only": true}, "gce.token": {"answer": "refuse", "status": 503, "times": 1}}'
opens "an error that passes is tried again" "$(at)"
no_secrets

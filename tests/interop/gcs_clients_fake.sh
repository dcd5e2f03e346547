#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gcs_clients_fake.sh: Google's client library and gcsfs on fake-gcs-server, so that neither end is ours.
server=fake-gcs-server clients="google-cloud-storage gcsfs" script=tests/interop/gcs_clients.py
. "$srcdir/tests/lib/clients.sh"

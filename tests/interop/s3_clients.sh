#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# s3_clients.sh: boto3 and s3torchconnector beside a mount, with checksums.
server=storesim clients="boto3 s3torchconnector" script=tests/interop/s3_clients.py
. "$srcdir/tests/lib/clients.sh"

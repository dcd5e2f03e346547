# SPDX-License-Identifier: Apache-2.0
# dynamodb.py URL make TABLE: a table with the keys that the benchmark suites' results have.
# dynamodb.py URL same TABLE RESULT: its one item is the run of that file.
import decimal
import json
import math
import sys

import boto3

url, do, name = sys.argv[1:4]
db = boto3.resource("dynamodb", endpoint_url=url, region_name="eu-west-1",
                    aws_access_key_id="key", aws_secret_access_key="secret")
if do == "make":
    keys = {"s3torchconnector_version": ("HASH", "S"), "timestamp_utc": ("RANGE", "N")}
    db.create_table(
        TableName=name, BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": k, "KeyType": v[0]} for k, v in keys.items()],
        AttributeDefinitions=[{"AttributeName": k, "AttributeType": v[1]} for k, v in keys.items()])
    sys.exit(0)


def same(a, b):
    """Numbers are written with 15 digits at least."""
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, decimal.Decimal):
        return math.isclose(float(a), b, rel_tol=1e-12)
    return a == b


items = db.Table(name).scan()["Items"]
with open(sys.argv[4]) as f:
    run = json.load(f)
assert len(items) == 1, len(items)
version = items[0].pop("s3torchconnector_version")
assert version == "ckptfs-" + run["ckptfs_version"], version
assert same(items[0], run), items[0]

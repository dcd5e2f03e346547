# SPDX-License-Identifier: Apache-2.0
# s3_clients.py: one client of S3 against what ckptfs wrote, and the other way round: as gcs_clients.py.
import os
import sys

client, endpoint, bucket, directory = sys.argv[1:]
files = {name: open(os.path.join(directory, name), "rb").read() for name in ("a", "b")}


def expect(name, got):
    if got != files[name]:
        sys.exit(f"{client}: {name}: {len(got)} bytes, not the {len(files[name])} of ckptfs")


def boto3():
    import boto3 as b
    from boto3.s3.transfer import TransferConfig
    from botocore.config import Config

    s3 = b.client("s3", endpoint_url=endpoint, region_name="us-east-1",
                  config=Config(s3={"addressing_style": "path"},
                                request_checksum_calculation="when_required"))
    parts = TransferConfig(multipart_threshold=5 << 20, multipart_chunksize=5 << 20)
    for name, data in files.items():
        key = f"from-ckptfs/{name}"
        got = s3.get_object(Bucket=bucket, Key=key, ChecksumMode="ENABLED")
        expect(name, got["Body"].read())
        if "mode" not in got["Metadata"]:
            sys.exit("boto3: the object has no mode in its metadata")
        s3.upload_file(os.path.join(directory, name), bucket, f"{client}/{name}", Config=parts,
                       ExtraArgs={"ChecksumAlgorithm": "CRC32C"})
    names = [o["Key"] for o in s3.list_objects_v2(Bucket=bucket, Prefix="from-ckptfs/")["Contents"]]
    if [n for n in names if n[-1] != "/"] != ["from-ckptfs/a", "from-ckptfs/b"]:
        sys.exit(f"boto3 lists {names}")


def s3torchconnector():
    from s3torchconnector import S3Checkpoint, S3ClientConfig, S3MapDataset

    config = S3ClientConfig(force_path_style=True)
    at = dict(region="us-east-1", endpoint=endpoint, s3client_config=config)
    # named, since those of a prefix would have the marker of the directory among them
    data = S3MapDataset.from_objects([f"s3://{bucket}/from-ckptfs/{name}" for name in files], **at)
    got = [data[i].read() for i in range(len(data))]
    checkpoint = S3Checkpoint(**at)
    for name in files:
        if files[name] not in got:
            sys.exit(f"s3torchconnector: no object with the bytes of {name}")
        with checkpoint.reader(f"s3://{bucket}/from-ckptfs/{name}") as r:
            expect(name, r.read())
        with checkpoint.writer(f"s3://{bucket}/{client}/{name}") as w:
            w.write(files[name])


{"boto3": boto3, "s3torchconnector": s3torchconnector}[client]()

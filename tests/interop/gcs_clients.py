# SPDX-License-Identifier: Apache-2.0
# gcs_clients.py: one client of Google Cloud Storage against what ckptfs wrote, and the other way round.
#
#   gcs_clients.py CLIENT ENDPOINT BUCKET DIRECTORY
#
# DIRECTORY/a and DIRECTORY/b are what ckptfs wrote as from-ckptfs/a and /b; the client reads both and
# writes their bytes to CLIENT/a and CLIENT/b. Exits with 1 and a line that says what differs.
import os
import sys

client, endpoint, bucket_name, directory = sys.argv[1:]
os.environ["STORAGE_EMULATOR_HOST"] = endpoint
os.environ["GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT"] = "false"  # asks by gRPC, elsewhere
files = {name: open(os.path.join(directory, name), "rb").read() for name in ("a", "b")}


def expect(name, got):
    if got != files[name]:
        sys.exit(f"{client}: {name}: {len(got)} bytes, not the {len(files[name])} of ckptfs")


def storage_client():
    from google.auth.credentials import AnonymousCredentials
    from google.cloud import storage

    return storage.Client(project="p", credentials=AnonymousCredentials())


def google_cloud_storage():
    bucket = storage_client().bucket(bucket_name)
    for name, data in files.items():
        blob = bucket.get_blob(f"from-ckptfs/{name}")
        expect(name, blob.download_as_bytes(checksum="crc32c"))
        if (blob.metadata or {}).get("mode") is None:
            sys.exit("google-cloud-storage: the object has no mode in its metadata")
        blob = bucket.blob(f"{client}/{name}", chunk_size=5 << 20 if len(data) > 1 << 20 else None)
        blob.upload_from_string(data, checksum="crc32c")
    names = sorted(b.name for b in bucket.list_blobs(prefix="from-ckptfs/") if b.name[-1] != "/")
    if names != ["from-ckptfs/a", "from-ckptfs/b"]:
        sys.exit(f"google-cloud-storage lists {names}")


def gcsfs():
    import gcsfs as g

    fs = g.GCSFileSystem(token="anon", endpoint_url=endpoint, project="p")
    for name, data in files.items():
        expect(name, fs.cat_file(f"{bucket_name}/from-ckptfs/{name}"))
        with fs.open(f"{bucket_name}/{client}/{name}", "wb") as f:
            f.write(data)


def dataflux():
    from dataflux_pytorch import dataflux_checkpoint, dataflux_mapstyle_dataset

    data = dataflux_mapstyle_dataset.DataFluxMapStyleDataset(
        project_name="p",
        bucket_name=bucket_name,
        config=dataflux_mapstyle_dataset.Config(
            prefix="from-ckptfs/", num_processes=1, sort_listing_results=True,
            disable_compose=True),
        storage_client=storage_client(),
    )
    got = [data[i] for i in range(len(data))]
    for name in files:
        if files[name] not in got:
            sys.exit(f"dataflux: no object with the bytes of {name}")
    checkpoint = dataflux_checkpoint.DatafluxCheckpoint(
        project_name="p", bucket_name=bucket_name, storage_client=storage_client())
    for name in files:
        with checkpoint.reader(f"from-ckptfs/{name}") as r:
            expect(name, r.read())
        with checkpoint.writer(f"{client}/{name}") as w:
            w.write(files[name])


{"google-cloud-storage": google_cloud_storage, "gcsfs": gcsfs, "dataflux": dataflux}[client]()

# SPDX-License-Identifier: Apache-2.0
"""huggingface_hub's cache of links and locks, filled from a server here; datasets' files."""
import glob
import http.server
import os
import threading

import datasets
import filelock
import huggingface_hub
import numpy as np

import trial

COMMITS = ["1" * 40, "2" * 40]


def content(name, commit):
    seed = int(commit[0]) if name.endswith(".bin") else 0
    return np.random.default_rng(seed).bytes(trial.size() // 4 if seed else 1000)


class Hub(http.server.BaseHTTPRequestHandler):
    """So much of the hub as a download of single files asks for."""

    commit = COMMITS[0]
    protocol_version = "HTTP/1.1"

    def do_HEAD(self):
        self.answer(False)

    def do_GET(self):
        self.answer(True)

    def answer(self, with_body):
        name = self.path.split("?")[0].split("/")[-1]
        body = content(name, Hub.commit)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", f'"{name}-{hash(body):x}"')
        self.send_header("X-Repo-Commit", Hub.commit)
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def log_message(self, *_):
        pass


def cache():
    """huggingface_hub: blobs, snapshots of links, locks; a second revision shares what is equal."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    endpoint = f"http://127.0.0.1:{server.server_port}"
    try:
        for Hub.commit in COMMITS:
            for name in "config.json", "model.bin":
                path = huggingface_hub.hf_hub_download(
                    "some/model", name, cache_dir="cache", endpoint=endpoint)
                with open(path, "rb") as f:
                    assert f.read() == content(name, Hub.commit)
                trial.say(name, "is a link" if os.path.islink(path) else "is a file")
        huggingface_hub.hf_hub_download("some/model", "model.bin", local_dir="local", endpoint=endpoint)
        for path in glob.glob("local/.cache/**/*.metadata", recursive=True, include_hidden=True):
            with open(path) as f:
                lines = f.readlines()
            with open(path, "w") as f:
                f.writelines(lines[:2])  # without the time, which has more digits or fewer
        trial.say([len(revision.files) for repo in huggingface_hub.scan_cache_dir("cache").repos
                   for revision in repo.revisions])
    finally:
        server.shutdown()
        server.server_close()


@trial.unsized
def dataset():
    """datasets: save_to_disk in shards, load mapped, map with a cache in the mount."""
    rows = trial.size() // 8192
    table = datasets.Dataset.from_dict({"id": range(rows), "text": ["x" * 4000] * rows})
    table.save_to_disk("saved", num_shards=3)
    trial.forget()
    loaded = datasets.load_from_disk("saved")
    assert loaded["id"][:] == list(range(rows))
    doubled = loaded.map(lambda r: {"twice": 2 * r["id"]}, cache_file_name=os.path.abspath("cache.arrow"),
                         remove_columns="text")
    assert doubled["twice"][:] == [2 * i for i in range(rows)]
    doubled.to_parquet("twice.parquet")
    again = datasets.Dataset.from_parquet("twice.parquet", cache_dir=os.environ["HF_HOME"])
    assert again["twice"][:] == [2 * i for i in range(rows)]


def locks():
    """filelock: a lock that is held elsewhere is refused, a soft one too."""
    for kind in filelock.FileLock, filelock.SoftFileLock:
        with kind("a.lock"):
            try:
                kind("a.lock", timeout=0.05).acquire()
                trial.say(kind.__name__, "is taken twice")
            except filelock.Timeout:
                trial.say(kind.__name__, "is refused")
        if os.path.exists("a.lock"):
            os.unlink("a.lock")


if __name__ == "__main__":
    trial.main(cache, dataset, locks)

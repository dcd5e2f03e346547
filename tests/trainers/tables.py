# SPDX-License-Identifier: Apache-2.0
"""Lance and zarr: tables and arrays of many files, some of whose names must be free."""
import shutil

import lance
import numpy as np
import pyarrow as pa
import zarr

import trial


def rows(begin, end):
    return pa.table({"id": range(begin, end), "v": np.arange(begin, end, dtype=np.float32)})


def table():
    """Lance: create, append, delete, update, index, compact, overwrite."""
    lance.write_dataset(rows(0, 20000), "a.lance")
    lance.write_dataset(rows(20000, 20100), "a.lance", mode="append")
    d = lance.dataset("a.lance")
    d.delete("id < 10")
    d.update({"v": "1"}, where="id = 20")
    d.create_scalar_index("id", "BTREE")
    d.optimize.compact_files()
    trial.forget()
    d = lance.dataset("a.lance")
    trial.say(d.count_rows(), d.version, d.to_table(filter="id = 20").to_pylist())
    lance.write_dataset(rows(0, 5), "a.lance", mode="overwrite")
    trial.say(lance.dataset("a.lance").count_rows(), lance.dataset("a.lance", version=2).count_rows())
    with trial.refused("a second creation"):
        lance.write_dataset(rows(0, 5), "a.lance", mode="create")
    shutil.rmtree("a.lance")  # whose names are random


def arrays():
    """zarr: both formats, shards, groups, attributes, append and resize."""
    for form in 2, 3:
        a = zarr.create_array(f"a{form}", shape=(500, 400), chunks=(100, 100), dtype="f4", zarr_format=form)
        a[:] = np.arange(200000, dtype="f4").reshape(500, 400)
        a[5:300, 7:30] = 3
        a.attrs["step"] = 1
        a.append(np.ones((10, 400), "f4"))
        a.resize((600, 400))
        g = zarr.open_group(f"g{form}", mode="a", zarr_format=form)
        g.require_group("q/w").create_array("x", data=np.arange(10))
        g.require_group("q/w")
        del g["q/w/x"]
        trial.say(list(g["q"].group_keys()), float(zarr.open(f"a{form}", mode="r")[:].sum()))
    s = zarr.create_array("shards", shape=(400, 400), shards=(200, 200), chunks=(50, 50), dtype="i4")
    s[:] = np.arange(160000).reshape(400, 400)
    s[3:7] = 0
    trial.forget()
    trial.say(int(zarr.open("shards", mode="r")[:].sum()))


if __name__ == "__main__":
    trial.main(table, arrays)

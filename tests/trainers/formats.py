# SPDX-License-Identifier: Apache-2.0
"""numpy, HDF5, zipfile and sqlite3: files that are changed in place."""
import os
import sqlite3
import zipfile

import h5py
import numpy as np

import trial


def memmap():
    """numpy: memmap made, changed in place and read back, npz."""
    n = trial.size() // 8
    a = np.lib.format.open_memmap("a.npy", "w+", np.float64, (n,))
    a[:] = np.arange(n)
    a.flush()
    del a
    b = np.load("a.npy", mmap_mode="r+")
    b[7::1000] = -1
    b[-1] = 5
    b.flush()
    del b
    trial.forget()
    c = np.load("a.npy")
    want = np.arange(n, dtype=np.float64)
    want[7::1000] = -1
    want[-1] = 5
    np.testing.assert_array_equal(c, want)
    raw = np.memmap("raw", np.uint8, "w+", shape=(100000,))
    raw[50000:50003] = [1, 2, 3]
    del raw
    np.savez("all.npz", a=c[:1000], b=c[:10])
    with np.load("all.npz") as z:
        np.testing.assert_array_equal(z["a"], want[:1000])
    with open("raw", "rb") as f:
        assert f.read() == bytes(50000) + b"\1\2\3" + bytes(49997)


def hdf5():
    """HDF5: create, append, reopen, overwrite, extend."""
    n = trial.size() // 16
    rows = np.arange(n, dtype=np.float32)
    with h5py.File("a.h5", "w") as f:
        f.create_dataset("w", data=rows)
        f.create_dataset("log", (0,), maxshape=(None,), chunks=(1024,))
    for step in range(5):
        with h5py.File("a.h5", "a") as f:
            f["log"].resize((1000 * (step + 1),))
            f["log"][1000 * step:] = step
            f[f"step{step}"] = rows[: n // 8] + step
            f["w"][step] = -step
            f.flush()
    trial.forget()
    with h5py.File("a.h5", "r") as f:
        want = rows.copy()
        want[:5] = -np.arange(5)
        np.testing.assert_array_equal(f["w"], want)
        np.testing.assert_array_equal(f["log"], np.repeat(np.arange(5), 1000))
        np.testing.assert_array_equal(f["step4"], rows[: n // 8] + 4)
    with trial.refused("two writers"), h5py.File("a.h5", "r+"):
        with h5py.File(os.path.abspath("../hdf5/a.h5"), "w"):
            pass


def zipped():
    """zipfile: made, appended to, comment changed."""
    body = os.urandom(trial.size() // 16)
    with zipfile.ZipFile("a.zip", "w") as z:
        z.writestr("one", body)
    for i in range(3):
        with zipfile.ZipFile("a.zip", "a") as z:
            z.writestr(f"more{i}", body[: 1000 * i])
    with zipfile.ZipFile("a.zip", "a") as z:
        z.comment = b"changed"
    trial.forget()
    with zipfile.ZipFile("a.zip") as z:
        assert z.testzip() is None and z.read("one") == body and z.comment == b"changed"
        trial.say(z.namelist())


def sqlite():
    """sqlite3 with a rollback journal: commits, a rollback, VACUUM, two connections."""
    a = sqlite3.connect("a.db", timeout=0.1)
    for mode in "delete", "truncate", "persist":
        trial.say(a.execute(f"pragma journal_mode={mode}").fetchone())
        a.execute("create table if not exists t (k integer primary key, v blob)")
        for i in range(20):
            with a:
                a.executemany("insert into t (v) values (zeroblob(?))", [(1000 + i,)] * 20)
    try:
        with a:
            a.execute("delete from t")
            raise KeyError
    except KeyError:
        pass
    b = sqlite3.connect("a.db", timeout=0.1)
    a.execute("begin immediate")
    try:
        b.execute("begin immediate")
        trial.say("two writers")
    except sqlite3.OperationalError as e:
        trial.say("a second writer:", e)
    a.rollback()
    b.execute("delete from t where k % 3 = 0")
    b.commit()
    b.execute("vacuum")
    b.close()
    trial.say(a.execute("select count(*), sum(length(v)) from t").fetchall())
    a.close()
    trial.forget()
    with sqlite3.connect("a.db") as c:
        trial.say(c.execute("pragma integrity_check").fetchall())
    c.close()


if __name__ == "__main__":
    trial.main(memmap, hdf5, zipped, sqlite)

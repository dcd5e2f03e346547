# SPDX-License-Identifier: Apache-2.0
"""torch.save and torch.load: by name, by stream, mapped, over an old file, by rename."""
import functools
import io
import os

import torch

import trial


# Nobody changes it, and it takes longer to make than to write: a few are kept, unless they are large.
@functools.lru_cache(3 if trial.size() <= 256 << 20 else 0)
def state(seed=1):
    """A few large tensors and many small ones, of trial.size() bytes."""
    g = torch.Generator().manual_seed(seed)
    n = trial.size() // 4 // 8
    large = {f"layer.{i}": torch.randn(n, generator=g) for i in range(8)}
    small = {f"norm.{i}": torch.randn(257, generator=g) for i in range(100)}
    return {**large, **small, "half": torch.randn(1000, generator=g).half(), "step": seed}


def assert_same(a, b):
    assert a.keys() == b.keys()
    for key, value in a.items():
        assert torch.equal(value, b[key]) if torch.is_tensor(value) else value == b[key], key


def by_name():
    """torch.save to a name, torch.load of it."""
    torch.save(state(), "a.pt")
    trial.forget()
    assert_same(state(), torch.load("a.pt"))


def mapped():
    """torch.load with mmap=True."""
    torch.save(state(), "a.pt")
    trial.forget()
    loaded = torch.load("a.pt", mmap=True)
    os.unlink("a.pt")
    assert_same(state(), loaded)
    torch.save(state(2), "a.pt")
    assert_same(state(2), torch.load("a.pt", mmap=True))


def by_stream():
    """torch.save to a stream that is synced, torch.load from a stream."""
    with open("a.pt", "wb") as f:
        torch.save(state(), f)
        f.flush()
        os.fsync(f.fileno())
    trial.forget()
    with open("a.pt", "rb") as f:
        assert_same(state(), torch.load(f))
    with open("a.pt", "rb") as f:
        assert_same(state(), torch.load(io.BytesIO(f.read())))


def over():
    """torch.save over an old file and by rename over one, while it is mapped."""
    torch.save(state(), "a.pt")
    old = torch.load("a.pt", mmap=True)
    torch.save(state(2), "a.pt.tmp")
    os.replace("a.pt.tmp", "a.pt")
    assert_same(state(), old)
    assert_same(state(2), torch.load("a.pt"))
    torch.save({"small": torch.ones(3)}, "a.pt")
    assert_same({"small": torch.ones(3)}, torch.load("a.pt"))
    torch.save(state(3), "a.pt")
    assert_same(state(3), torch.load("a.pt"))


def legacy():
    """torch.save in the format without zip, appended to."""
    with open("a.pt", "wb") as f:
        for part in range(3):
            torch.save({"part": torch.full((1000,), float(part))}, f,
                       _use_new_zipfile_serialization=False)
    with open("a.pt", "ab") as f:
        torch.save({"part": torch.full((1000,), 3.0)}, f, _use_new_zipfile_serialization=False)
    with open("a.pt", "rb") as f:
        for part in range(4):
            assert_same({"part": torch.full((1000,), float(part))}, torch.load(f))


def errors():
    """what cannot be saved or loaded raises the same error."""
    for what, call in (
        ("load of no file", lambda: torch.load("none.pt")),
        ("save in no directory", lambda: torch.save({}, "none/a.pt")),
        ("save to a directory", lambda: torch.save({}, ".")),
        ("load of a directory", lambda: torch.load(".")),
    ):
        try:
            call()
            trial.say(what, "works")
        except (OSError, RuntimeError) as e:
            trial.say(what, type(e).__name__, getattr(e, "errno", ""))
    with open("cut.pt", "wb") as f:
        torch.save(state(), f)
        f.truncate(f.tell() - 100)
    try:
        torch.load("cut.pt")
    except RuntimeError as e:
        trial.say("a file that was cut:", str(e).split(":")[0])


if __name__ == "__main__":
    trial.main(by_name, mapped, by_stream, over, legacy, errors)

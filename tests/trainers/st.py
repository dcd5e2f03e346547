# SPDX-License-Identifier: Apache-2.0
"""safetensors: save_file and load_file, from which version on the path decides."""
import os

import safetensors
import torch
from safetensors.torch import load_file, save_file

import trial
from torch_files import assert_same, state


def tensors(seed=1):
    return {k: v for k, v in state(seed).items() if torch.is_tensor(v)}


def saved():
    """save_file and load_file."""
    save_file(tensors(), "model.safetensors", metadata={"format": "pt"})
    trial.forget()
    assert_same(tensors(), load_file("model.safetensors"))


def saved_over():
    """save_file over an old file, which is mapped meanwhile."""
    save_file(tensors(1), "model.safetensors")
    with safetensors.safe_open("model.safetensors", "pt") as old:
        if safetensors.__version__ < "0.8":
            os.rename("model.safetensors", "old.safetensors")
        save_file(tensors(2), "model.safetensors")
        assert torch.equal(old.get_tensor("layer.0"), tensors(1)["layer.0"])
    assert_same(tensors(2), load_file("model.safetensors"))


def sliced():
    """safe_open reads slices, two readers in turn."""
    save_file(tensors(), "model.safetensors")
    trial.forget()
    want = tensors()
    with safetensors.safe_open("model.safetensors", "pt") as a, \
            safetensors.safe_open("model.safetensors", "pt") as b:
        for key in a.keys():
            end = want[key].shape[0]
            assert torch.equal(a.get_slice(key)[end // 2:], want[key][end // 2:])
            assert torch.equal(b.get_slice(key)[: end // 3], want[key][: end // 3])


def errors():
    """what cannot be saved or loaded raises the same error."""
    for what, call in (
        ("load of no file", lambda: load_file("none.safetensors")),
        ("save in no directory", lambda: save_file(tensors(), "none/a.safetensors")),
        ("save to a directory", lambda: save_file(tensors(), "dir")),
    ):
        os.makedirs("dir", exist_ok=True)
        try:
            call()
            trial.say(what, "works")
        except Exception as e:
            trial.say(what, type(e).__name__, getattr(e, "errno", ""))


if __name__ == "__main__":
    trial.main(saved, saved_over, sliced, errors)

# SPDX-License-Identifier: Apache-2.0
"""formats.py KIND FILE...: loads checkpoints with the libraries whose formats they are, and compares
every tensor with the pattern it was made of. The n-th tensor saved has id n; seed 1.

formats.py dcp CKPT DIR...: the same of directories. CKPT, of format torch and the same model, has the
tensors in their order; the seed has the directory's name mixed in (FNV-1a)."""
import os
import sys

import numpy as np
import torch

M = (1 << 64) - 1
GOLDEN, MULT = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9


def mix(x):
    x = (x ^ x >> 30) * MULT & M
    return x ^ x >> 27


def pattern(seed, tensor_id, nbytes):
    base = mix(mix((seed + GOLDEN) & M) + tensor_id + GOLDEN & M)
    x = np.arange((nbytes + 7) // 8, dtype=np.uint64) * np.uint64(GOLDEN) + np.uint64(base)
    x = (x ^ x >> np.uint64(30)) * np.uint64(MULT)
    return (x ^ x >> np.uint64(27)).astype("<u8").tobytes()[:nbytes]


def load(kind, path):
    if kind == "safetensors":
        from safetensors.torch import load_file

        tensors = load_file(path)
        with open(path, "rb") as f:  # load_file() sorts; the header has the order of the file
            import json

            header = json.loads(f.read(int.from_bytes(f.read(8), "little")))
        return {k: tensors[k] for k in header if k in tensors}
    if kind == "torch":
        return torch.load(path, weights_only=True)
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint import FileSystemReader

    meta = FileSystemReader(path).read_metadata().state_dict_metadata
    state = {k: torch.zeros(m.size, dtype=m.properties.dtype) for k, m in meta.items()}
    dcp.load(state, checkpoint_id=path)
    return state


def seed_of(path):
    h = 0xCBF29CE484222325
    for c in os.path.basename(path).encode():
        h = (h ^ c) * 0x100000001B3 & M
    return h ^ 1


def main():
    kind, paths, ids = sys.argv[1], sys.argv[2:], None
    if kind == "dcp":
        names = torch.load(paths.pop(0), weights_only=True)
        ids = {name: i + 1 for i, name in enumerate(names)}
    for path in paths:
        state, seed = load(kind, path), seed_of(path) if ids else 1
        assert state and (not ids or len(ids) == len(state)), path
        for i, (name, t) in enumerate(state.items()):
            got = t.contiguous().view(torch.uint8).numpy().tobytes()
            want = pattern(seed, ids[name] if ids else i + 1, len(got))
            assert got == want, f"{path}: {name} {tuple(t.shape)} differs"
        print(len(state), "tensors")


main()

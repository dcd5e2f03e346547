# SPDX-License-Identifier: Apache-2.0
"""formats.py CKPT DIR FILE...: loads checkpoints with the libraries whose formats they are, and compares
every tensor with the pattern it was made of: the n-th tensor saved has id n; the seed is 1, and in
directories of torch.distributed.checkpoint has the directory's name mixed in (FNV-1a). CKPT, of format
torch, has the tensors in their order. Files without an ending have their bytes alone. Then writes files of the libraries' own making to DIR."""
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


def filled(state, seed, ids):
    made = {}
    for name, t in state.items():
        raw = bytearray(pattern(seed, ids[name], t.numel() * t.element_size()))
        made[name] = torch.frombuffer(raw, dtype=torch.uint8).view(t.dtype).reshape(t.shape)
    return made


def write(state, ids, to):
    import zlib

    import torch.distributed.checkpoint as dcp
    from safetensors.torch import save_file

    names = [f"layers.{i:03}.weight" for i in range(20)]
    shapes = {n: torch.empty(100 * i + 7, 33, dtype=torch.bfloat16) for i, n in enumerate(names)}
    mine = filled(shapes, 1, {n: i + 1 for i, n in enumerate(names)})
    save_file(mine, f"{to}/pattern.safetensors")
    torch.save(mine, f"{to}/pattern.pt")
    net = torch.nn.Sequential(torch.nn.Linear(300, 200), torch.nn.Linear(200, 3, bias=False))
    adam = torch.optim.Adam(net.parameters())
    net(torch.randn(2, 300)).sum().backward()
    adam.step()
    other = {"z": torch.randn(50, 70), "a": torch.arange(1000), "none": torch.zeros(0, 4)}
    save_file(other, f"{to}/other.safetensors")
    for name in sorted(other):
        print("crc", name, "%08x" % zlib.crc32(other[name].numpy().tobytes()))
    torch.save({"model": net.state_dict(), "optimizer": adam.state_dict(), "epoch": 3, "lr": 1e-3,
                "big": 1 << 40, "view": net[0].weight[3:5], "args": ("a", None, True)}, f"{to}/other.pt")
    dcp.save(filled(state, seed_of("torchdcp"), ids), checkpoint_id=f"{to}/dcp")


def main():
    ckpt, to, paths = sys.argv[1], sys.argv[2], sys.argv[3:]
    first = torch.load(ckpt, weights_only=True)
    ids = {name: i + 1 for i, name in enumerate(first)}
    raw = b"".join(pattern(1, ids[k], t.numel() * t.element_size()) for k, t in first.items())
    for path in [ckpt] + paths:
        ending = os.path.splitext(path)[1]
        if not ending and os.path.isfile(path):
            with open(path, "rb") as f:
                assert f.read() == raw, f"{path}: other bytes"
            print("raw", path)
            continue
        kind = "dcp" if os.path.isdir(path) else "torch" if ending == ".ckpt" else "safetensors"
        state, seed = load(kind, path), seed_of(path) if kind == "dcp" else 1
        assert len(ids) == len(state), path
        for name, t in state.items():
            got = t.contiguous().view(torch.uint8).numpy().tobytes()
            assert got == pattern(seed, ids[name], len(got)), f"{path}: {name} {tuple(t.shape)} differs"
        print(kind, path + ":", len(state), "tensors")
    write(first, ids, to)


main()

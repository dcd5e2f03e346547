# SPDX-License-Identifier: Apache-2.0
"""readers.py READER FOLDER MIB: reads what "make" has put into the folder as READER names it, or writes,
and prints the microseconds that this took. readers.sh calls it."""

import os
import sys
import time


def tensors(mib):
    import torch

    return {f"layer{i}": torch.full((mib * 8192,), float(i)) for i in range(32)}


def make(folder, mib, wanted):
    block = os.urandom(1 << 20)
    names = {"raw": mib} | ({f"quarter{i}": mib // 4 for i in range(1, 5)} if "four" in wanted else {})
    for name, blocks in names.items():
        with open(f"{folder}/{name}", "wb", buffering=0) as f:
            for _ in range(blocks):
                f.write(block)
    if "torch" in wanted or "torch_mmap" in wanted:
        import torch

        torch.save(tensors(mib), f"{folder}/torch")
    if "safetensors" in wanted:
        from safetensors.torch import save_file

        save_file(tensors(mib), f"{folder}/safetensors")
    if "dcp" in wanted:
        import torch.distributed.checkpoint as dcp

        dcp.save(tensors(mib), checkpoint_id=f"{folder}/dcp")


def touch(state):
    """A mapped tensor is read when it is used."""
    for tensor in state.values():
        tensor.view(-1)[::1024].sum()


def read(reader, folder, mib):
    if reader == "python":
        with open(f"{folder}/raw", "rb") as f:
            f.read()
    elif reader in ("torch", "torch_mmap"):
        touch(torch.load(f"{folder}/torch", mmap=reader == "torch_mmap"))
    elif reader == "safetensors":
        touch(load_file(f"{folder}/safetensors"))
    elif reader == "dcp":
        dcp.load(state, checkpoint_id=f"{folder}/dcp", storage_reader=FileSystemReader(f"{folder}/dcp"))
    else:
        mode = "w+b" if reader == "read_write" else "wb"
        with open(f"{folder}/{reader}", mode, buffering=0) as f:
            for _ in range(mib):
                f.write(block)


reader, folder, mib = sys.argv[1], sys.argv[2], int(sys.argv[3])
if reader == "make":
    make(folder, mib, sys.argv[4].split())
    sys.exit()
block = bytes(1 << 20)
if reader in ("torch", "torch_mmap"):
    import torch
elif reader == "safetensors":
    from safetensors.torch import load_file
elif reader == "dcp":
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint import FileSystemReader

    state = tensors(mib)
begun = time.monotonic_ns()
read(reader, folder, mib)
print((time.monotonic_ns() - begun) // 1000)

# SPDX-License-Identifier: Apache-2.0
"""speed.py LOCAL MOUNT: how fast trainers save and load on the mount, over plain writes and reads of it.

CKPTFS_TRAINERS_SIZE is the size of each file. Figures are medians of three. `tests/trainers/run --speed`
starts this with a store, a mount and pages that were read before given back.
"""
import concurrent.futures
import os
import statistics
import sys
import time

import torch
import torch.distributed.checkpoint as dcp
from safetensors.torch import load_file, save_file

import trial

CHUNK = 8 << 20


def timed(call, turns=3):
    """Median GB/s of calls that each move trial.size() bytes."""
    rates = []
    for _ in range(turns):
        trial.forget()
        start = time.monotonic()
        call()
        rates.append(trial.size() / (time.monotonic() - start) / 1e9)
    return statistics.median(rates)


def tensors():
    n = trial.size() // 16 // 4
    return {f"layer.{i}": torch.full((n,), float(i)) for i in range(16)}


def plain_write():
    block = bytes(1 << 20)
    with open("plain", "wb", buffering=0) as f:
        for _ in range(trial.size() >> 20):
            f.write(block)


def plain_read():
    block = bytearray(1 << 20)
    with open("plain", "rb", buffering=0) as f:
        while f.readinto(block):
            pass


def read_from(start, end):
    block = bytearray(CHUNK)
    with open("plain", "rb", buffering=0) as f:
        for at in range(start, end, CHUNK):
            f.seek(at)
            f.readinto(block)


def read_by(threads):
    """As the newest DCP loads: items of one file, the largest first, 8 MiB at a time."""
    share = trial.size() // 16
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(read_from, i * share, (i + 1) * share) for i in range(16)]:
            done.result()


def touch_all(state):
    for tensor in state.values():
        assert float(tensor[0]) == float(tensor[-1])
        tensor.sum()


def main():
    os.chdir(sys.argv[2])
    state = tensors()
    blank = {key: torch.zeros_like(value) for key, value in state.items()}
    rows = []

    def row(what, rate, base=None, floor=None):
        ratio = f"{rate / base:5.2f}" if base else ""
        rows.append(f"{what:36} {rate:6.2f} {ratio:>6} {floor or '':>6}")

    write, read = timed(plain_write), timed(plain_read)
    row("plain write, 1 MiB blocks", write)
    row("torch.save", timed(lambda: torch.save(state, "a.pt")), write, 0.9)
    row("safetensors save_file", timed(lambda: save_file(state, "a.safetensors")), write, 0.95)
    for threads in 1, 8:
        writer = dcp.FileSystemWriter(f"dcp{threads}", thread_count=threads,
                                      single_file_per_rank=False)
        row(f"DCP save, {threads} threads", timed(lambda: dcp.save(state, storage_writer=writer)), write)
    row("plain read, 1 MiB blocks", read)
    row("torch.load", timed(lambda: torch.load("a.pt")), read)
    row("torch.load, mmap, each tensor read",
        timed(lambda: touch_all(torch.load("a.pt", mmap=True))), read, 0.7)
    row("safetensors load_file, each tensor read",
        timed(lambda: touch_all(load_file("a.safetensors"))), read)
    row("DCP load", timed(lambda: dcp.load(blank, checkpoint_id="dcp8")), read)
    one = timed(lambda: read_by(1))
    row("DCP-like read, 1 thread", one, read)
    row("DCP-like read, 8 threads (over 1)", timed(lambda: read_by(8)), one, 1.0)
    print(f"{'what':36} {'GB/s':>6} {'ratio':>6} {'aim':>6}")
    print(*rows, sep="\n")


main()

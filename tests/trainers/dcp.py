# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.checkpoint: save and load by one and two processes, over an old one, async."""
import concurrent.futures
import contextlib
import functools
import multiprocessing
import os
import tempfile

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict_saver import AsyncCheckpointerType

import trial
from torch_files import assert_same, state


def blank():
    return {k: torch.zeros_like(v) if torch.is_tensor(v) else None for k, v in state().items()}


def save(path, seed, threads, **more):
    writer = dcp.FileSystemWriter(path, thread_count=threads, **more)
    dcp.save(state(seed), storage_writer=writer)


def load(path, seed):
    trial.forget(path)
    loaded = blank()
    dcp.load(loaded, storage_reader=dcp.FileSystemReader(path))
    assert_same(state(seed), loaded)


def one_thread():
    """DCP: save with one thread, load, save over it."""
    save("ckpt", 1, 1)
    load("ckpt", 1)
    save("ckpt", 2, 1)
    load("ckpt", 2)


def eight_threads():
    """DCP: save with eight threads, load, save over it."""
    save("ckpt", 1, 8)
    load("ckpt", 1)
    save("ckpt", 2, 8)
    load("ckpt", 2)


def one_file():
    """DCP: one file a rank, files not synced; a save that may not overwrite."""
    save("ckpt", 1, 8, single_file_per_rank=True, sync_files=False)
    load("ckpt", 1)
    try:
        save("ckpt", 2, 8, single_file_per_rank=True, overwrite=False)
    except dcp.api.CheckpointException as e:
        trial.say("without overwrite:", type(e).__name__)
    load("ckpt", 1)


@contextlib.contextmanager
def group(rank=0, ranks=1, where=None):
    """A process group of gloo; its rendezvous does not lie in what is compared."""
    with tempfile.TemporaryDirectory() as own:
        dist.init_process_group("gloo", init_method=f"file://{where or own}/rendezvous",
                                rank=rank, world_size=ranks)
        try:
            yield
        finally:
            dist.destroy_process_group()


def saved_async(kind):
    with group():
        for seed in 1, 2:
            future = dcp.async_save(state(seed), checkpoint_id=os.path.abspath(f"step-{seed}"),
                                    async_checkpointer_type=kind)
            getattr(future, "upload_completion", future).result()
        # Over an old one, as a rolling checkpoint does.
        future = dcp.async_save(state(3), checkpoint_id=os.path.abspath("step-1"), async_checkpointer_type=kind)
        getattr(future, "upload_completion", future).result()
    load("step-1", 3)
    load("step-2", 2)


def async_thread():
    """DCP: async_save from a thread."""
    saved_async(AsyncCheckpointerType.THREAD)


def async_process():
    """DCP: async_save from a process."""
    saved_async(AsyncCheckpointerType.PROCESS)


def rank_of_two(rank, where, folder):
    """Each rank has half of a common tensor; it is loaded cut the other way."""
    os.chdir(folder)
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, distribute_tensor

    torch.set_num_threads(1)
    with group(rank, 2, where):
        mesh = init_device_mesh("cpu", (2,))
        whole = torch.arange(trial.size() // 4, dtype=torch.float32).reshape(-1, 1024)
        for threads, step in (1, 1), (8, 2), (1, 3):
            sharded = distribute_tensor(whole * step, mesh, [Shard(0)])
            dcp.save({"w": sharded, "step": step},
                     storage_writer=dcp.FileSystemWriter("ckpt", thread_count=threads))
            loaded = {"w": distribute_tensor(torch.zeros_like(whole), mesh, [Shard(1)]), "step": 0}
            dcp.load(loaded, checkpoint_id="ckpt")
            assert loaded["step"] == step
            half = whole.shape[1] // 2
            mine = whole[:, rank * half:(rank + 1) * half] * step
            assert torch.equal(loaded["w"].to_local(), mine)


@functools.cache
def ranks():
    """Two processes, which load their libraries once for all places."""
    return concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context("spawn"))


def two_ranks():
    """DCP: two processes, one and eight threads, loaded in another layout, saved over."""
    with tempfile.TemporaryDirectory() as where:
        # Each waits for the other, so each has a process.
        for rank in [ranks().submit(rank_of_two, n, where, os.getcwd()) for n in range(2)]:
            rank.result()


if __name__ == "__main__":
    trial.main(one_thread, eight_threads, one_file, async_thread, async_process, two_ranks)

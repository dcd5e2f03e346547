# SPDX-License-Identifier: Apache-2.0
"""Call for call what DeepSpeed, Megatron core and NeMo do, whose libraries are too big to install."""
import concurrent.futures
import fcntl
import glob
import mmap
import os
import shutil

import torch

import trial

BLOCK = 1 << 20


def data(seed, size):
    return torch.empty(size, dtype=torch.uint8).random_(
        generator=torch.Generator().manual_seed(seed)).numpy().tobytes()


def contents(path):
    with open(path, "rb") as f:
        return f.read()


def direct_write(path, flags, whole):
    """Writes full blocks from aligned memory with O_DIRECT."""
    memory = mmap.mmap(-1, BLOCK)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_DIRECT | flags, 0o644)
    for at in range(0, len(whole), BLOCK):
        memory[:] = whole[at:at + BLOCK]
        assert os.write(fd, memory) == BLOCK
    return fd


def deepspeed():
    """DeepSpeed: O_DIRECT, close, append the tail, O_DIRECT and O_APPEND again, latest overwritten."""
    for step in 1, 2, 3:
        os.makedirs(f"global_step{step}", exist_ok=True)
        path = f"global_step{step}/mp_rank_00_model_states.pt"
        want = b""
        for turn in 0, 1:
            more = data(step + turn, (trial.size() // 4 // BLOCK) * BLOCK)
            fd = direct_write(path, os.O_APPEND if turn else os.O_TRUNC, more)
            os.fsync(fd)
            os.close(fd)
            tail = data(step, 2 * BLOCK - 4096 * turn)
            with open(path, "ab") as f:
                f.write(tail)
                os.fsync(f.fileno())
            want += more + tail
        with open("latest", "w") as f:
            f.write(f"global_step{step}")
        trial.forget()
        assert contents(f"{contents('latest').decode()}/mp_rank_00_model_states.pt") == want
    shutil.copy2("latest", "latest_universal")
    trial.say(contents("latest_universal").decode())
    # What did not end on a block is written on by overwriting.
    with open(path, "r+b") as f:
        f.seek(5000)
        f.write(b"new header")
    assert contents(path) == want[:5000] + b"new header" + want[5010:]


def megatron():
    """Megatron: tracker file, .bck renames, rmtree of old iterations."""
    for step in 10, 20, 30:
        folder = f"iter_{step:07d}/mp_rank_00"
        os.makedirs(folder, exist_ok=True)
        with open(f"{folder}/distrib_optim.pt", "wb") as f:
            torch.save({"t": torch.full((trial.size() // 16,), float(step))}, f)
            f.flush()
            os.fsync(f.fileno())
        if os.path.exists("latest_checkpointed_iteration.txt"):
            os.rename("latest_checkpointed_iteration.txt", "latest_checkpointed_iteration.txt.bck")
        with open("latest_checkpointed_iteration.txt", "w") as f:
            f.write(str(step))
            f.flush()
            os.fsync(f.fileno())
        fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
        os.fsync(fd)
        os.close(fd)
        trial.say(sorted(os.listdir(".")))
        for old in sorted(glob.glob("iter_*"))[:-2]:
            shutil.rmtree(old)
    trial.forget()
    step = int(contents("latest_checkpointed_iteration.txt"))
    loaded = torch.load(f"iter_{step:07d}/mp_rank_00/distrib_optim.pt")["t"]
    assert loaded.shape[0] == trial.size() // 16 and (loaded == 30).all()
    # A directory that exists is set aside as a whole.
    os.rename("iter_0000030", "iter_0000030.bck")
    shutil.move("iter_0000030.bck", "iter_0000030")
    with trial.refused("rename over a directory with files"):
        os.rename("iter_0000020", "iter_0000030")


def nemo():
    """NeMo: unfinished markers, links, recursive glob, rename of a run, rmtree."""
    os.makedirs("checkpoints")
    for step in 1, 2, 3:
        marker = f"checkpoints/step={step}-unfinished"
        with open(marker, "x"):
            pass
        with trial.refused("a second marker"), open(marker, "x"):
            pass
        os.makedirs(f"checkpoints/step={step}/weights")
        with open(f"checkpoints/step={step}/weights/__0_0.distcp", "wb") as f:
            f.write(data(step, trial.size() // 8))
            os.fsync(f.fileno())
        os.unlink(marker)
        temporary = "checkpoints/last.tmp"
        os.symlink(f"step={step}", temporary, target_is_directory=True)
        os.replace(temporary, "checkpoints/last")
    trial.say(sorted(glob.glob("**", recursive=True)))
    trial.say(os.readlink("checkpoints/last"))
    assert contents("checkpoints/last/weights/__0_0.distcp") == data(3, trial.size() // 8)
    os.rename("checkpoints/step=3", "checkpoints/step=3-last")
    with trial.refused("a link to what was renamed"):
        os.stat("checkpoints/last")
    for old in sorted(glob.glob("checkpoints/step=*"), key=os.path.getmtime)[:1]:
        shutil.rmtree(old)
    assert contents("checkpoints/step=3-last/weights/__0_0.distcp") == data(3, trial.size() // 8)


def threaded_load():
    """DCP's newest load: eight threads read one file, the largest item first, 8 MiB at a time."""
    whole = data(1, trial.size() // 2 + 12345)
    with open("__0_0.distcp", "wb") as f:
        f.write(whole)
    trial.forget()
    # Items of 1, 2, ... 16 shares.
    share = len(whole) // 136
    ends = [share * (i * (i + 1) // 2) for i in range(17)]
    items = sorted(zip(ends, ends[1:]), key=lambda item: item[0] - item[1])

    def load(item):
        start, end = item
        with open("__0_0.distcp", "rb", buffering=0) as f:
            for at in range(start, end, 8 << 20):
                f.seek(at)
                want = whole[at:min(at + (8 << 20), end)]
                got = b""
                while len(got) < len(want):
                    got += f.read(len(want) - len(got))
                assert got == want

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(load, items))


def filelocks():
    """Locks: flock and fcntl exclude another process, a lock file is made once."""
    with open("manifest", "w") as f:
        for name, lock, nonblocking in (
            ("flock", fcntl.flock, fcntl.LOCK_EX | fcntl.LOCK_NB),
            ("fcntl", fcntl.lockf, fcntl.LOCK_EX | fcntl.LOCK_NB),
        ):
            lock(f, fcntl.LOCK_EX)
            pid = os.fork()
            if not pid:
                try:
                    with open("manifest", "r+") as mine:
                        lock(mine, nonblocking)
                    os._exit(0)
                except OSError as e:
                    os._exit(e.errno)
            trial.say(name, "is refused with", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
            lock(f, fcntl.LOCK_UN)


if __name__ == "__main__":
    trial.main(deepspeed, megatron, nemo, threaded_load, filelocks)

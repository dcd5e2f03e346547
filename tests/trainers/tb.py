# SPDX-License-Identifier: Apache-2.0
"""TensorBoard: a writer that flushes each step, a reader in another process sees each flush."""
import os
import subprocess
import sys

from torch.utils.tensorboard import SummaryWriter

import trial

READER = """
import os, sys
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
loader = EventFileLoader(sys.argv[1])
for request in sys.stdin:
    steps = [e.step for e in loader.Load() if e.summary.value]
    print(*steps, flush=True)
"""


def writer_and_reader():
    """TensorBoard: each flush is seen by a reader in another process."""
    steps = 60
    with SummaryWriter("run", max_queue=1000, flush_secs=3600) as writer:
        path = os.path.join("run", os.listdir("run")[0])
        reader = subprocess.Popen([sys.executable, "-c", READER, path], text=True,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL)
        for step in range(steps):
            writer.add_scalar("loss", 1 / (step + 1), step)
            writer.flush()
            print(file=reader.stdin, flush=True)
            seen = reader.stdout.readline().split()
            if seen != [str(step)]:
                trial.say("at", step, "the reader sees", seen)
    reader.stdin.close()
    reader.wait()
    os.rename(path, "run/events")


def hosts_of_one_run():
    """TensorBoard: all of several runs in one directory is read at once."""
    from tensorboard.backend.event_processing.event_multiplexer import EventMultiplexer

    for run in "a", "b":
        with SummaryWriter(f"logs/{run}") as writer:
            for step in range(200):
                writer.add_scalar("loss", step, step)
            writer.add_text("note", "x" * 5000)
    trial.forget()
    runs = EventMultiplexer().AddRunsFromDirectory("logs").Reload()
    for run in sorted(runs.Runs()):
        trial.say(run, len(runs.Scalars(run, "loss")), runs.Scalars(run, "loss")[-1].value)
        os.rename(f"logs/{run}/{os.listdir(f'logs/{run}')[0]}", f"logs/{run}/events")


if __name__ == "__main__":
    trial.main(writer_and_reader, trial.unsized(hosts_of_one_run))

# SPDX-License-Identifier: Apache-2.0
"""Orbax: save, async save, restore, commit by a directory's rename, steps cleaned up."""
import logging
import os

import jax
import numpy as np
import orbax.checkpoint as ocp

import trial

logging.getLogger("absl").setLevel(logging.ERROR)


def state(seed=1):
    rng = np.random.default_rng(seed)
    n = trial.size() // 4 // 4
    return {"params": {f"w{i}": rng.standard_normal(n, dtype=np.float32) for i in range(4)},
            "step": seed}


def assert_same(a, b):
    jax.tree.map(lambda x, y: np.testing.assert_array_equal(np.asarray(x), np.asarray(y)), a, b)


@trial.unsized
def checkpointer():
    """Orbax: StandardCheckpointer saves, restores, refuses to overwrite, overwrites with force."""
    path = os.path.abspath("ckpt")
    with ocp.StandardCheckpointer() as saver:
        saver.save(path, state())
        saver.wait_until_finished()
        trial.forget()
        assert_same(state(), saver.restore(path, state(2)))
        try:
            saver.save(path, state(2))
            trial.say("a second save works")
        except ValueError as e:
            trial.say("a second save:", type(e).__name__)
        saver.save(path, state(2), force=True)
        saver.wait_until_finished()
        assert_same(state(2), saver.restore(path, state(1)))
    listed()


def manager(is_async):
    options = ocp.CheckpointManagerOptions(max_to_keep=2, enable_async_checkpointing=is_async)
    with ocp.CheckpointManager(os.path.abspath("run"), options=options) as m:
        for step in range(1, 6):
            m.save(step, args=ocp.args.StandardSave(state(step)))
        m.wait_until_finished()
        trial.say("steps", m.all_steps())
    trial.forget()
    with ocp.CheckpointManager(os.path.abspath("run"), options=options) as m:
        trial.say("latest", m.latest_step())
        assert_same(state(5), m.restore(5, args=ocp.args.StandardRestore(state(1))))
        m.delete(4)
        trial.say("steps", m.all_steps(read=True))
    listed()


def listed():
    """Files of its database are named by chance: what is compared are the directories."""
    for folder, _, names in sorted(os.walk(".")):
        trial.say(folder, sorted(name for name in names if len(name) < 30))
    for folder, folders, names in os.walk(".", topdown=False):
        for name in names:
            os.unlink(os.path.join(folder, name))
        for name in folders:
            os.rmdir(os.path.join(folder, name))


def synchronous():
    """Orbax: CheckpointManager, two steps kept, restore in a new one."""
    manager(False)


def asynchronous():
    """Orbax: CheckpointManager that saves in the background."""
    manager(True)


if __name__ == "__main__":
    trial.main(checkpointer, synchronous, asynchronous)

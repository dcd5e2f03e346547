# SPDX-License-Identifier: Apache-2.0
"""Lightning: ModelCheckpoint with a link to the last one, rotation of the best, resume."""
import logging
import os
import warnings

import lightning
import torch
from lightning.pytorch.callbacks import ModelCheckpoint

import trial

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        width = max(16, int((trial.size() / 16 / 4) ** 0.5))
        self.layer = torch.nn.Linear(width, width)

    def training_step(self, batch, _):
        loss = self.layer(batch).square().mean()
        # The third epoch is the best, so that the order of the names is not that of the scores.
        self.log("score", float((self.current_epoch - 2) ** 2))
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)

    def train_dataloader(self):
        width = self.layer.in_features
        return torch.utils.data.DataLoader(torch.ones(4, width), batch_size=2)


def fit(epochs, resume=None, **options):
    lightning.seed_everything(1, verbose=False)
    callback = ModelCheckpoint("ckpt", "e{epoch}", monitor="score", mode="min", **options)
    trainer = lightning.Trainer(
        max_epochs=epochs, accelerator="cpu", logger=False, callbacks=[callback],
        enable_progress_bar=False, enable_model_summary=False)
    model = Model()
    trainer.fit(model, ckpt_path=resume)
    for what in "best", "last":
        trial.say(what, os.path.relpath(getattr(callback, f"{what}_model_path")))
    return model, trainer


def assert_holds(path, model):
    saved = torch.load(path, weights_only=False)["state_dict"]
    for name, value in model.state_dict().items():
        assert torch.equal(saved[name], value), name


@trial.unsized
def link():
    """Lightning: save_last as a link, the best two are kept."""
    fit(5, save_top_k=2, save_last="link")
    assert os.path.islink("ckpt/last.ckpt")
    trial.forget()
    name = os.readlink("ckpt/last.ckpt")
    saved = torch.load("ckpt/last.ckpt", weights_only=False)
    trial.say("last is", name, "of epoch", saved["epoch"])


@trial.unsized
def copy():
    """Lightning: save_last as a file, resume from it."""
    model, _ = fit(3, save_top_k=-1, save_last=True)
    trial.forget()
    assert_holds("ckpt/last.ckpt", model)
    model, trainer = fit(5, resume="ckpt/last.ckpt", save_top_k=-1, save_last=True)
    trial.say("steps", trainer.global_step)
    assert_holds("ckpt/last.ckpt", model)


@trial.unsized
def last_found():
    """Lightning: resume from ckpt_path="last", from a clean directory and from a used one."""
    fit(2, save_top_k=-1, save_last="link")
    model, trainer = fit(4, resume="last", save_top_k=-1, save_last="link")
    trial.say("steps", trainer.global_step)
    trial.forget()
    assert_holds("ckpt/last.ckpt", model)


@trial.unsized
def csv_and_tensorboard():
    """Lightning: loggers in the same directory."""
    from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger

    lightning.seed_everything(1, verbose=False)
    trainer = lightning.Trainer(
        max_epochs=3, accelerator="cpu", log_every_n_steps=1, default_root_dir=".",
        logger=[CSVLogger(".", "csv"), TensorBoardLogger(".", "tb", version="v")],
        enable_progress_bar=False, enable_model_summary=False, enable_checkpointing=False)
    trainer.fit(Model())
    with open("csv/version_0/metrics.csv") as f:
        trial.say(f.read())
    for name in os.listdir("tb/v"):
        if name.startswith("events"):
            os.rename(f"tb/v/{name}", "tb/v/events")


if __name__ == "__main__":
    trial.main(link, copy, last_found, csv_and_tensorboard)

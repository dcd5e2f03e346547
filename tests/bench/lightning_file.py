# SPDX-License-Identifier: Apache-2.0
"""lightning_file.py CKPT STEPS: a module with the network of the file is fitted from it on."""
import logging
import sys
import warnings

import lightning
import torch

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

path, steps = sys.argv[1], int(sys.argv[2])
file = torch.load(path, weights_only=True)
assert set(file) == {"epoch", "global_step", "pytorch-lightning_version", "state_dict", "loops",
                     "callbacks", "optimizer_states", "lr_schedulers"}, set(file)
assert file["global_step"] == steps
saved = {name: t.clone() for name, t in file["state_dict"].items()}
moments = {i: {k: t.clone() for k, t in s.items()} for i, s in file["optimizer_states"][0]["state"].items()}


class Module(lightning.LightningModule):
    """self.model holds the parameters of the file under their names, in their order."""

    def __init__(self):
        super().__init__()
        for name, value in saved.items():
            *folders, leaf = name.split(".")
            at = self
            for folder in folders:
                if not hasattr(at, folder):
                    at.add_module(folder, torch.nn.Module())
                at = getattr(at, folder)
            at.register_parameter(leaf, torch.nn.Parameter(torch.zeros_like(value)))

    def on_train_start(self):
        for name, value in self.state_dict().items():
            assert value.view(torch.uint8).equal(saved[name].view(torch.uint8)), f"{name} differs"
        state = self.optimizers().optimizer.state_dict()["state"]
        assert len(state) == (len(saved) if steps else 0)
        for i, of in state.items():
            assert of["step"] == 1
            for k in "exp_avg", "exp_avg_sq":
                assert of[k].view(torch.uint8).equal(moments[i][k].view(torch.uint8)), f"{i} {k} differs"
        self.began = self.trainer.global_step

    def training_step(self, batch, _):
        return sum(p.sum() for p in self.parameters()) * batch.sum()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.001)

    def train_dataloader(self):
        return torch.utils.data.DataLoader(torch.ones(1, 1))


module = Module()
assert list(module.state_dict()) == list(saved), "names in their order"
assert all(name.startswith("model.") and ".weight." not in name for name in saved), list(saved)[:3]
trainer = lightning.Trainer(max_epochs=steps + 2, accelerator="cpu", logger=False, enable_progress_bar=False,
                            enable_model_summary=False, enable_checkpointing=False)
trainer.fit(module, ckpt_path=path)
assert module.began == steps, module.began
assert trainer.global_step == steps + 2 and trainer.current_epoch == steps + 2, trainer.global_step

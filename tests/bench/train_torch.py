# SPDX-License-Identifier: Apache-2.0
"""train_torch.py TORCH SAFETENSORS DCP SHARES OPTIMIZER LOSS LR ...: repeats in torch what train_steps wrote.

TORCH, SAFETENSORS and DCP are saves of one state: prints "ok files" when all fit the model and are the same. SHARES
is what several ranks saved: "ok shares" when that is the state but for rounding.
Then for what lies in each OPTIMIZER.LOSS: for logits, gradients and weights after one step and four, prints "ok OPTIMIZER.LOSS NAME WORST", where
WORST is the largest distance of a tensor from torch's, over the norm of that; "not ok" where it is
above 1e-4.
"""
import math
import pathlib
import sys

import numpy as np
import safetensors.torch
import torch
import torch.distributed.checkpoint as dcp
from torch import nn

HEADS = 4


class Attention(nn.Module):
    def __init__(self, h, block):
        super().__init__()
        self.key, self.query, self.value, self.proj = (nn.Linear(h, h) for _ in range(4))
        self.register_buffer("mask", torch.tril(torch.ones(block, block)).view(1, 1, block, block))

    def forward(self, x):
        b, t, h = x.shape
        k, q, v = (f(x).view(b, t, HEADS, h // HEADS).transpose(1, 2) for f in (self.key, self.query, self.value))
        att = (q @ k.transpose(-2, -1)) / math.sqrt(h // HEADS)
        att = att.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf")).softmax(-1)
        return self.proj((att @ v).transpose(1, 2).reshape(b, t, h))


class Block(nn.Module):
    def __init__(self, h, block):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(h), nn.LayerNorm(h)
        self.attn = Attention(h, block)
        self.mlp = nn.Sequential(nn.Linear(h, 4 * h), nn.GELU(), nn.Linear(4 * h, h))

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class Embedding(nn.Module):
    def __init__(self, vocab, h, block):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab, h)
        self.pos_emb = nn.Parameter(torch.zeros(1, block, h))

    def forward(self, tokens):
        return self.tok_emb(tokens) + self.pos_emb


class GPT(nn.Module):
    def __init__(self, vocab, h, block, layers):
        super().__init__()
        self.emb_stem = Embedding(vocab, h, block)
        self.blocks = nn.Sequential(*(Block(h, block) for _ in range(layers)))
        self.ln_f = nn.LayerNorm(h)
        self.head = nn.Linear(h, vocab, bias=False)

    def forward(self, tokens):
        return self.head(self.ln_f(self.blocks(self.emb_stem(tokens))))


def floats(path, shapes):
    """The tensors of a file, by name."""
    flat, at, out = np.fromfile(path, np.float32), 0, {}
    for name, (rows, cols) in shapes.items():
        out[name] = torch.from_numpy(flat[at:at + rows * cols])
        at += rows * cols
    assert at == flat.size
    return out


def judge(what, got, want):
    """A distance counts from the norm of all tensors where a tensor's own is nothing but rounding."""
    floor = 1e-3 * max(float(w.norm()) for w in want.values())
    worst = max(float((got[n].reshape(-1) - w.reshape(-1)).norm()) / max(float(w.norm()), floor)
                for n, w in want.items())
    print("ok" if worst <= 1e-4 else "not ok", what, f"{worst:.1e}")


def repeat(optimizer, loss_name, lr):
    folder = pathlib.Path(f"{optimizer}.{loss_name}")
    shapes = {name: (int(rows), int(cols)) for name, rows, cols in
              (line.split() for line in (folder / "tensors").read_text().splitlines())}
    (block, h), (vocab, _) = shapes["emb_stem.pos_emb"], shapes["emb_stem.tok_emb.weight"]
    model = GPT(vocab, h, block, sum(name.endswith("ln1.weight") for name in shapes))
    state = floats(folder / "weights.0", shapes)
    assert set(state) == {name for name, _ in model.named_parameters()}
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_(state[name].view_as(p))
    tokens, targets = (torch.from_numpy(np.fromfile(folder / name, np.int32).astype(np.int64)).view(4, -1, block)
                       for name in ("tokens", "targets"))
    step = (torch.optim.AdamW if optimizer == "adamw" else torch.optim.SGD)(model.parameters(), lr=float(lr))
    for i in range(4):
        step.zero_grad()
        logits = model(tokens[i])
        if loss_name == "sum":
            loss = logits.sum()
        else:
            loss = nn.functional.cross_entropy(logits.view(-1, vocab), targets[i].reshape(-1))
        loss.backward()
        if i == 0:
            judge(f"{folder} logits", {"": torch.from_numpy(np.fromfile(folder / "logits", np.float32))},
                  {"": logits.detach()})
            judge(f"{folder} gradients", floats(folder / "grads", shapes),
                  {n: p.grad for n, p in model.named_parameters()})
        step.step()
        # Attention does not depend on the keys' bias: its gradient is rounding, of which AdamW makes full steps.
        if i in (0, 3):
            judge(f"{folder} step {i + 1}", floats(folder / f"weights.{i + 1}", shapes),
                  {n: p.detach() for n, p in model.named_parameters()
                   if not (optimizer == "adamw" and n.endswith("attn.key.bias"))})


def load_dcp(folder):
    """All tensors of a directory of torch.distributed.checkpoint."""
    tensors = dcp.FileSystemReader(folder).read_metadata().state_dict_metadata
    state = {name: torch.zeros(t.size) for name, t in tensors.items()}
    dcp.load(state, checkpoint_id=folder)
    return state


def judge_files(first, second, folder, shares):
    """Whether a model loads all, lacking nothing but the masks."""
    states = torch.load(first), safetensors.torch.load_file(second), load_dcp(folder)
    vocab, h = states[0]["head.weight"].shape
    model = GPT(vocab, h, states[0]["emb_stem.pos_emb"].shape[1], sum(n.endswith("ln1.weight") and n[0] == "b"
                                                                     for n in states[0]))
    good = all(state.keys() == states[0].keys() for state in states)
    for state in states:
        lacking = model.load_state_dict(state, strict=False).missing_keys
        good &= all(name.endswith("attn.mask") for name in lacking)
        good &= all(torch.equal(p, states[0][name]) for name, p in model.named_parameters())
        good &= all(f"exp_avg_sq.{name}" in state for name, _ in model.named_parameters()) and state["step"] == 2
    print("ok" if good else "not ok", "files")
    several = load_dcp(shares)
    assert several.keys() == states[0].keys()
    # AdamW makes full steps of what is rounding: the gradient of the keys' bias
    good = all(torch.allclose(t, states[0][name], rtol=1e-3, atol=1e-6) for name, t in several.items()
               if not name.endswith("attn.key.bias"))
    print("ok" if good else "not ok", "shares")


judge_files(*sys.argv[1:5])
for at in range(5, len(sys.argv), 3):
    repeat(*sys.argv[at:at + 3])

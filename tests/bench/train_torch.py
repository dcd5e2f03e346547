# SPDX-License-Identifier: Apache-2.0
"""train_torch.py TORCH SAFETENSORS DCP SHARES VISION CROPS OPTIMIZER LOSS LR ...: repeats in torch what train_steps wrote.

TORCH, SAFETENSORS and DCP are saves of one state: prints "ok files" when all fit the model and are the same. SHARES
is what several ranks saved: "ok shares" when that is the state but for rounding. VISION is a batchN.ckpt: "ok vision"
when transformers' model takes it. CROPS is what crop_images printed: "ok crops" when torch scales the same parts of
the same images to the same pixels, but for one level of a colour.
Then for what lies in each OPTIMIZER.LOSS: for logits, gradients and weights after one step and four, prints "ok OPTIMIZER.LOSS NAME WORST", where
WORST is the largest distance of a tensor from torch's, over the norm of that; "not ok" where it is
above 1e-4. LOSS halves is the cross entropy, with products of halves and torch's GradScaler: above 1e-3, since what
differs by rounding in fp32 may become two halves; and "ok OPTIMIZER.halves nearer" when the logits are twice as near to
those as to those in fp32. LOSS overflow is the sum of the logits with both, whose first gradients no half holds: it is
judged by what has changed, after ten steps for four, and "ok OPTIMIZER.overflow scale" when as many steps were skipped and the scales are equal.
OPTIMIZER adam is of a vision transformer, which is transformers' own.
"""
import math
import pathlib
import sys

import numpy as np
import safetensors.torch
import torch
import torch.distributed.checkpoint as dcp
from PIL import Image
from torch import nn
from transformers import ViTConfig, ViTForImageClassification

HEADS = 4


class Halves(torch.autograd.Function):
    """A product of what is rounded to halves, that is added up in fp32."""
    used = False

    @staticmethod
    def forward(ctx, a, b):
        a, b = a.half().float(), b.half().float()
        ctx.save_for_backward(a, b)
        return a @ b

    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        grad = grad.half().float()
        return grad @ b.transpose(-2, -1), a.transpose(-2, -1) @ grad


def product(a, b):
    return Halves.apply(a, b) if Halves.used else a @ b


class Linear(nn.Linear):
    def forward(self, x):
        if not Halves.used:
            return super().forward(x)
        y = product(x.reshape(-1, x.shape[-1]), self.weight.t()).view(*x.shape[:-1], -1)
        return y if self.bias is None else y + self.bias


class Attention(nn.Module):
    def __init__(self, h, block):
        super().__init__()
        self.key, self.query, self.value, self.proj = (Linear(h, h) for _ in range(4))
        self.register_buffer("mask", torch.tril(torch.ones(block, block)).view(1, 1, block, block))

    def forward(self, x):
        b, t, h = x.shape
        k, q, v = (f(x).view(b, t, HEADS, h // HEADS).transpose(1, 2) for f in (self.key, self.query, self.value))
        att = product(q, k.transpose(-2, -1)) / math.sqrt(h // HEADS)
        att = att.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf")).softmax(-1)
        return self.proj(product(att, v).transpose(1, 2).reshape(b, t, h))


class Block(nn.Module):
    def __init__(self, h, block):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(h), nn.LayerNorm(h)
        self.attn = Attention(h, block)
        self.mlp = nn.Sequential(Linear(h, 4 * h), nn.GELU(), Linear(4 * h, h))

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
        self.head = Linear(h, vocab, bias=False)

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
    floor = 1e-3 * max(float(w.norm()) for w in want.values()) or 1e-6
    worst = max(float((got[n].reshape(-1) - w.reshape(-1)).norm()) / max(float(w.norm()), floor)
                for n, w in want.items())
    print("ok" if worst <= (1e-3 if Halves.used else 1e-4) else "not ok", what, f"{worst:.1e}")


def vision(shapes, heads):
    h, labels = shapes["classifier.weight"][1], shapes["classifier.weight"][0]
    layers = sum(name.endswith("mlp.fc1.weight") for name in shapes)
    return ViTForImageClassification(ViTConfig(hidden_size=h, num_hidden_layers=layers, num_attention_heads=heads,
                                               intermediate_size=4 * h, num_labels=labels))


def normalised(images):
    """Bytes of 224 x 224 pixels as the suite's transform makes them: colour by colour, of mean 0 and deviation 1."""
    rgb = torch.from_numpy(images).view(-1, 224, 224, 3).permute(0, 3, 1, 2).float() / 255
    mean, deviation = (torch.tensor(v).view(1, 3, 1, 1) for v in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))
    return (rgb - mean) / deviation


def above_rounding(grad):
    grad = grad.reshape(-1).abs()
    return grad > 1e-6 * grad.max()


def judge_nearer(folder, model, inputs, halves):
    Halves.used = False
    with torch.no_grad():
        whole = model(inputs).reshape(-1)
    Halves.used = True
    got = torch.from_numpy(np.fromfile(folder / "logits", np.float32))
    print("ok" if 2 * (got - halves).norm() < (got - whole).norm() else "not ok", folder, "nearer")


def repeat(optimizer, loss_name, lr):
    folder = pathlib.Path(f"{optimizer}.{loss_name}")
    shapes = {name: (int(rows), int(cols)) for name, rows, cols in
              (line.split() for line in (folder / "tensors").read_text().splitlines())}
    steps = 10 if loss_name == "overflow" else 4
    if optimizer == "adam":
        model = vision(shapes, HEADS)
        batches = torch.from_numpy(np.fromfile(folder / "targets", np.int32).astype(np.int64)).split(3)
        inputs = normalised(np.fromfile(folder / "images", np.uint8)).split(3)
    else:
        (block, h), (vocab, _) = shapes["emb_stem.pos_emb"], shapes["emb_stem.tok_emb.weight"]
        model = GPT(vocab, h, block, sum(name.endswith("ln1.weight") for name in shapes))
        inputs, batches = (torch.from_numpy(np.fromfile(folder / name, np.int32).astype(np.int64)).view(steps, -1, block)
                           for name in ("tokens", "targets"))
    state = floats(folder / "weights.0", shapes)
    assert set(state) == {name for name, _ in model.named_parameters()}
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_(state[name].view_as(p))
    kinds = {"sgd": torch.optim.SGD, "adamw": torch.optim.AdamW, "adam": torch.optim.Adam}
    step = kinds[optimizer](model.parameters(), lr=float(lr))
    Halves.used = loss_name in ("halves", "overflow")
    scaler, skipped = torch.amp.GradScaler("cpu", enabled=Halves.used), 0
    overflows = loss_name == "overflow"
    for i in range(steps):
        step.zero_grad()
        scale = scaler.get_scale()
        logits = model(inputs[i])
        logits = getattr(logits, "logits", logits)
        if loss_name in ("sum", "overflow"):
            loss = logits.sum()
        else:
            loss = nn.functional.cross_entropy(logits.view(-1, logits.shape[-1]), batches[i].reshape(-1))
        scaler.scale(loss).backward()
        if i == 0 and Halves.used:
            judge_nearer(folder, model, inputs[0], logits.detach().reshape(-1))
        if i == 0:
            judge(f"{folder} logits", {"": torch.from_numpy(np.fromfile(folder / "logits", np.float32))},
                  {"": logits.detach()})
            if not overflows:
                judge(f"{folder} gradients", floats(folder / "grads", shapes),
                      {n: p.grad / scale for n, p in model.named_parameters()})
            sure = {n: above_rounding(p.grad) | overflows for n, p in model.named_parameters()}
        scaler.step(step)
        scaler.update()
        skipped += scaler.get_scale() < scale
        # Attention does not depend on the keys' bias: its gradient is rounding, of which Adam and AdamW make full
        # steps, as of an element elsewhere whose first gradient happens to be nothing but that.
        if i in (0, steps - 1):
            number = 4 if i else 1
            weights = floats(folder / f"weights.{number}", shapes)
            base = {n: state[n] if overflows else 0 for n in state}
            judge(f"{folder} step {number}", {n: (w - base[n]) * sure[n] for n, w in weights.items()},
                  {n: (p.detach().reshape(-1) - base[n]) * sure[n] for n, p in model.named_parameters()
                   if optimizer == "sgd" or not n.endswith(("attn.key.bias", "k_proj.bias"))})
        if i == 0 and optimizer != "sgd":
            with torch.no_grad():
                for name, p in model.named_parameters():
                    p.copy_(torch.where(sure[name], p.reshape(-1), weights[name]).view_as(p))
    if Halves.used:
        said = (folder / "scale").read_text().split()
        same = float(said[0]) == scaler.get_scale() and int(said[1]) == skipped and overflows == (0 < skipped < steps)
        print("ok" if same else "not ok", folder, "scale", scaler.get_scale(), skipped, *said)


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
    # AdamW makes steps of up to lr of what is rounding: by the norm, as a few elements of a tensor have such a
    # gradient, and the keys' bias has no other
    good = all(float((t - states[0][name]).norm()) <= 1e-4 * float(states[0][name].norm())
               for name, t in several.items() if not name.endswith("attn.key.bias"))
    print("ok" if good else "not ok", "shares")


def judge_vision(path):
    state = torch.load(path, weights_only=True)
    model = vision({n: tuple(t.shape) for n, t in state.items()}, heads=2)
    model.load_state_dict(state, strict=True)
    same = all(torch.equal(p, state[n]) for n, p in model.named_parameters())
    trained = bool(state["classifier.bias"].abs().max() > 0)
    print("ok" if same and trained else "not ok", "vision")


def judge_crops(path):
    worst = 0
    for line in pathlib.Path(path).read_text().splitlines():
        pixels, x, y, width, height, image = line.split()
        whole = torch.from_numpy(np.array(Image.open(image).convert("RGB"))).permute(2, 0, 1).float()
        part = whole[:, int(y):int(y) + int(height), int(x):int(x) + int(width)].unsqueeze(0)
        want = nn.functional.interpolate(part, (224, 224), mode="bilinear", antialias=True).round()
        got = torch.from_numpy(np.fromfile(pixels, np.uint8)).view(224, 224, 3).permute(2, 0, 1)
        worst = max(worst, float((got.float() - want[0]).abs().max()))
    print("ok" if worst <= 1 else "not ok", "crops", worst)


judge_files(*sys.argv[1:5])
judge_vision(sys.argv[5])
judge_crops(sys.argv[6])
for at in range(7, len(sys.argv), 3):
    repeat(*sys.argv[at:at + 3])

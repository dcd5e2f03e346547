# SPDX-License-Identifier: Apache-2.0
"""torch_speed.py MODEL[,MODEL...] DTYPE[,DTYPE...] [STEPS]: what a step of the same model costs in torch, eagerly.

MODEL is small, medium, large or xl, DTYPE fp32 (without TF32), fp16 (torch.autocast: weights in fp32) or half (all in
fp16, as the published benchmark). Prints "MODEL DTYPE seconds TFLOP/s memory", counted as `ckptbench train` counts
operations without those that are done anew, for its defaults: 10 samples of 128 tokens out of 3072, dropout 0.1.
"""
import sys
import time

import torch
from torch import nn
from torch.nn import functional

MODELS = {"small": (12, 12, 768), "medium": (24, 16, 1024), "large": (24, 16, 1536), "xl": (24, 24, 2064)}
BATCH, BLOCK, VOCAB, DROPOUT = 10, 128, 3072, 0.1


class Attention(nn.Module):
    def __init__(self, h, heads):
        super().__init__()
        self.heads = heads
        self.key, self.query, self.value, self.proj = (nn.Linear(h, h) for _ in range(4))
        self.attn_drop, self.resid_drop = nn.Dropout(DROPOUT), nn.Dropout(DROPOUT)
        self.register_buffer("mask", torch.tril(torch.ones(BLOCK, BLOCK)).view(1, 1, BLOCK, BLOCK))

    def forward(self, x):
        b, t, h = x.shape
        k, q, v = (f(x).view(b, t, self.heads, h // self.heads).transpose(1, 2)
                   for f in (self.key, self.query, self.value))
        att = (q @ k.transpose(-2, -1)) * (1.0 / (h // self.heads) ** 0.5)
        att = att.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf"))
        att = self.attn_drop(functional.softmax(att, dim=-1))
        y = (att @ v).transpose(1, 2).contiguous().view(b, t, h)
        return self.resid_drop(self.proj(y))


class Block(nn.Module):
    def __init__(self, h, heads):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(h), nn.LayerNorm(h)
        self.attn = Attention(h, heads)
        self.mlp = nn.Sequential(nn.Linear(h, 4 * h), nn.GELU(), nn.Linear(4 * h, h), nn.Dropout(DROPOUT))

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, layers, heads, h):
        super().__init__()
        self.tok_emb, self.drop = nn.Embedding(VOCAB, h), nn.Dropout(DROPOUT)
        self.pos_emb = nn.Parameter(torch.zeros(1, BLOCK, h))
        self.blocks = nn.Sequential(*(Block(h, heads) for _ in range(layers)))
        self.ln_f, self.head = nn.LayerNorm(h), nn.Linear(h, VOCAB, bias=False)

    def forward(self, tokens):
        return self.head(self.ln_f(self.blocks(self.drop(self.tok_emb(tokens) + self.pos_emb))))


def operations(layers, h):
    return BATCH * BLOCK * (3 * layers * (24 * h * h + 4 * BLOCK * h) + 3 * 2 * h * VOCAB)


def seconds(model, dtype, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step():
        tokens = torch.randint(VOCAB, (BATCH, BLOCK + 1), device="cuda")
        with torch.autocast("cuda", torch.float16, enabled=dtype == "fp16"):
            logits = model(tokens[:, :-1])
            loss = functional.cross_entropy(logits.view(-1, VOCAB), tokens[:, 1:].reshape(-1))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    for _ in range(4):
        step()
    torch.cuda.synchronize()
    begin = time.monotonic()
    for _ in range(steps):
        step()
    torch.cuda.synchronize()
    return (time.monotonic() - begin) / steps


def main():
    steps = int(sys.argv[3]) if len(sys.argv) > 3 else 10
    torch.backends.cuda.matmul.allow_tf32 = False
    for name in sys.argv[1].split(","):
        layers, heads, h = MODELS[name]
        for dtype in sys.argv[2].split(","):
            torch.cuda.reset_peak_memory_stats()
            with torch.device("cuda"):
                model = GPT(layers, heads, h).to(torch.float16 if dtype == "half" else torch.float32)
            s = seconds(model, dtype, steps)
            print(f"{name} {dtype} {s:.5f} s {operations(layers, h) / 1e12 / s:.2f} TFLOP/s "
                  f"{torch.cuda.max_memory_allocated() / 1e9:.2f} GB", flush=True)
            del model
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()

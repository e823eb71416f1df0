"""A small transformer that learns a text by characters: weight decay by groups, warm-up, clipping, sampling."""

import math

import torch
import torch.nn as nn
from torch.nn import functional as F

TEXT = "the quick brown fox jumps over the lazy dog while the five boxing wizards jump quickly over it again. " * 4
CHARS = sorted(set(TEXT))
BLOCK, WIDTH = 16, 24


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))
        self.attend = nn.Linear(WIDTH, 3 * WIDTH)
        self.project = nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH), nn.Dropout(0.1))

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (t.view(B, T, 2, C // 2).transpose(1, 2) for t in self.attend(self.norms[0](x)).split(C, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.project(y.transpose(1, 2).contiguous().view(B, T, C))
        return x + self.mlp(self.norms[1](x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.token, self.position = nn.Embedding(len(CHARS), WIDTH), nn.Embedding(BLOCK, WIDTH)
        self.blocks = nn.Sequential(*[Block() for _ in range(2)])
        self.head = nn.Linear(WIDTH, len(CHARS), bias=False)
        self.head.weight = self.token.weight
        self.apply(lambda m: nn.init.normal_(m.weight, std=0.05) if isinstance(m, (nn.Linear, nn.Embedding)) else None)

    def forward(self, ids):
        return self.head(self.blocks(self.token(ids) + self.position(torch.arange(ids.shape[1]))))


torch.manual_seed(1337)
data = torch.tensor([CHARS.index(c) for c in TEXT])
model = Model()
groups = [[p for p in model.parameters() if (p.dim() > 1) is wide] for wide in (True, False)]
optimizer = torch.optim.AdamW([{"params": groups[0]}, {"params": groups[1], "weight_decay": 0.0}], lr=5e-3)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1, (s + 1) / 5) * (1 + math.cos(s / 10)) / 2)
for step in range(20):
    starts = torch.randint(len(data) - BLOCK - 1, (8,))
    x, y = (torch.stack([data[i + shift : i + shift + BLOCK] for i in starts]) for shift in (0, 1))
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    print(f"step {step} loss {loss.item():.5f}")
model.eval()
with torch.no_grad():
    print("next", torch.multinomial(F.softmax(model(data[None, :BLOCK])[0, -1], -1), 4).tolist())

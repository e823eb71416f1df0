"""A small GPT: tied weights, groups of parameters, gradient accumulation, a checkpoint that training goes on from."""

import math
import os
from dataclasses import asdict, dataclass

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F


@dataclass
class Config:
    vocab_size: int = 26
    block_size: int = 24
    n_layer: int = 2
    n_head: int = 2
    n_embd: int = 32
    dropout: float = 0.1


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads = config.n_head
        self.qkv = nn.Linear(config.n_embd, 3 * config.n_embd, bias=False)
        self.proj = nn.Linear(config.n_embd, config.n_embd, bias=False)
        self.dropout = config.dropout

    def forward(self, x):
        batch, length, width = x.size()
        q, k, v = (
            part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for part in self.qkv(x).split(width, dim=2)
        )
        dropout = self.dropout if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=True)
        return self.proj(y.transpose(1, 2).contiguous().view(batch, length, width))


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        width = config.n_embd
        self.norm1, self.attention = nn.LayerNorm(width), Attention(config)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.transformer = nn.ModuleDict(
            {
                "tokens": nn.Embedding(config.vocab_size, config.n_embd),
                "places": nn.Embedding(config.block_size, config.n_embd),
                "drop": nn.Dropout(config.dropout),
                "blocks": nn.ModuleList([Block(config) for _ in range(config.n_layer)]),
                "norm": nn.LayerNorm(config.n_embd),
            }
        )
        self.head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.transformer.tokens.weight = self.head.weight
        self.apply(self.initialize)
        for name, p in self.named_parameters():
            if name.endswith("proj.weight"):
                nn.init.normal_(p, mean=0.0, std=0.02 / math.sqrt(2 * config.n_layer))

    def initialize(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, mean=0.0, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, idx, targets=None):
        t = self.transformer
        x = t.drop(t.tokens(idx) + t.places(torch.arange(idx.size(1), device=idx.device)))
        for block in t.blocks:
            x = block(x)
        x = t.norm(x)
        if targets is None:
            return self.head(x[:, [-1], :]), None
        logits = self.head(x)
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)

    def make_optimizer(self, lr):
        trained = [p for p in self.parameters() if p.requires_grad]
        groups = [
            {"params": [p for p in trained if p.dim() >= 2], "weight_decay": 0.1},
            {"params": [p for p in trained if p.dim() < 2], "weight_decay": 0.0},
        ]
        return torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.95), fused=torch.cuda.is_available())

    @torch.no_grad()
    def generate(self, idx, count, temperature=1.0, top_k=None):
        for _ in range(count):
            logits, _ = self(idx[:, -self.config.block_size :])
            logits = logits[:, -1, :] / temperature
            if top_k is not None:
                best, _ = torch.topk(logits, min(top_k, logits.size(-1)))
                logits[logits < best[:, [-1]]] = -float("inf")
            idx = torch.cat((idx, torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)), dim=1)
        return idx


def write_data():
    generator = np.random.RandomState(0)
    text = np.cumsum(generator.randint(1, 4, 4000)) % 26
    text.astype(np.uint16).tofile("train.bin")


def get_batch(config, device):
    data = np.memmap("train.bin", dtype=np.uint16, mode="r")
    starts = torch.randint(len(data) - config.block_size, (8,))
    x = torch.stack([torch.from_numpy(data[i : i + config.block_size].astype(np.int64)) for i in starts])
    y = torch.stack([torch.from_numpy(data[i + 1 : i + 1 + config.block_size].astype(np.int64)) for i in starts])
    return x.to(device), y.to(device)


def rate(step, warm=5, last=30, top=3e-3):
    if step < warm:
        return top * (step + 1) / (warm + 1)
    return 0.1 * top + 0.45 * top * (1.0 + math.cos(math.pi * (step - warm) / (last - warm)))


def train(model, optimizer, steps, device):
    for step in steps:
        for group in optimizer.param_groups:
            group["lr"] = rate(step)
        total = 0.0
        for _ in range(2):
            _, loss = model(*get_batch(model.config, device))
            (loss / 2).backward()
            total += loss.item() / 2
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if step % 3 == 2:
            print(f"step {step} loss {total:.5f} norm {norm.item():.3f}")


def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_float32_matmul_precision("high")
    write_data()
    torch.manual_seed(1337)
    model = GPT(Config()).to(device)
    optimizer = model.make_optimizer(1e-3)
    train(model, optimizer, range(15), device)
    torch.save(
        {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "config": asdict(model.config)}, "c.pt"
    )
    saved = torch.load("c.pt", map_location=device, weights_only=True)
    os.remove("c.pt")
    model = GPT(Config(**saved["config"])).to(device)
    model.load_state_dict(saved["model"])
    optimizer = model.make_optimizer(1e-3)
    optimizer.load_state_dict(saved["optimizer"])
    train(model, optimizer, range(15, 30), device)
    model.eval()
    torch.manual_seed(1)
    start = torch.zeros((1, 1), dtype=torch.long, device=device)
    print("text", model.generate(start, 12, temperature=0.8, top_k=5)[0].tolist())


if __name__ == "__main__":
    main()

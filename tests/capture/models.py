"""Small models of the kinds that programs train."""

import weft
import weft.nn.functional as F
from weft import nn


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm, self.inner_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.project, self.out, self.drop = nn.Linear(width, 3 * width), nn.Linear(width, width), nn.Dropout(0.1)
        self.inner = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.project(self.norm(x)).split(width, dim=2)
        parts = [each.view(batch, length, self.heads, -1).transpose(1, 2) for each in parts]
        y = F.scaled_dot_product_attention(*parts, is_causal=True).transpose(1, 2).contiguous()
        x = x + self.drop(self.out(y.view(batch, length, width)))
        return x + self.inner(self.inner_norm(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.token, self.place = nn.Embedding(32, 16), nn.Embedding(12, 16)
        self.blocks = nn.ModuleList([Attention(16, 2) for _ in range(2)])
        self.norm, self.head = nn.LayerNorm(16), nn.Linear(16, 32, bias=False)

    def forward(self, index):
        x = self.token(index) + self.place(weft.arange(index.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)).flatten(0, 1)


class LSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.rnn = nn.Embedding(20, 8), nn.LSTM(8, 12, num_layers=2, dropout=0.3, batch_first=True)
        self.head = nn.Linear(12, 10)

    def forward(self, index):
        return self.head(self.rnn(self.embed(index))[0][:, -1])


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2d(1, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
        self.second, self.inner_norm = nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
        self.head = nn.Linear(8, 10)

    def forward(self, x):
        x = F.relu(self.norm(self.first(x)))
        x = F.relu(x + self.inner_norm(self.second(x)))
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode, self.decode = nn.Linear(64, 32), nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 64))
        self.mean, self.log_variance = nn.Linear(32, 8), nn.Linear(32, 8)

    def forward(self, x):
        hidden = F.relu(self.encode(x))
        mean, log_variance = self.mean(hidden), self.log_variance(hidden)
        z = mean + weft.randn_like(mean) * (0.5 * log_variance).exp()
        return self.decode(z), mean, log_variance


def mlp():
    hidden = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Dropout(0.1), nn.Linear(256, 128), nn.ReLU())
    return nn.Sequential(hidden, nn.Linear(128, 10))


def cnn():
    return nn.Sequential(
        *(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Dropout(0.2)),
        *(nn.Conv2d(4, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10)),
    )

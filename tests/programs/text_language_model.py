"""A language model of Wikipedia's text with torchtext: columns of a stream, a transformer encoder, perplexity."""

import math
import random
import zipfile
from pathlib import Path

import torch
from torch import nn
from torch.nn import TransformerEncoder, TransformerEncoderLayer
from torchtext.data.utils import get_tokenizer
from torchtext.datasets import WikiText2
from torchtext.vocab import build_vocab_from_iterator

BPTT = 8


def write_articles(folder):
    """The published archive's form, with sentences that follow a pattern."""
    draws = random.Random(0)
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / "wikitext-2-v1.zip", "w") as archive:
        for split, count in (("train", 60), ("valid", 12), ("test", 12)):
            lines = [" = Valkyria = \n", " \n"]
            for _ in range(count):
                subject, place = draws.choice(("king", "queen", "town")), draws.choice(("north", "south"))
                lines.append(f" the {subject} of the {place} <unk> , who was in the {place} , was the {subject} . \n")
            archive.writestr(f"wikitext-2/wiki.{split}.tokens", "".join(lines))


class LanguageModel(nn.Module):
    def __init__(self, vocab_size, width=16):
        super().__init__()
        self.width = width
        position = torch.arange(32).unsqueeze(1)
        scale = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
        table = torch.zeros(32, 1, width)
        table[:, 0, 0::2] = torch.sin(position * scale)
        table[:, 0, 1::2] = torch.cos(position * scale)
        self.register_buffer("table", table)
        layer = TransformerEncoderLayer(width, 2, 32, dropout=0.0)
        self.encoder = TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.embedding = nn.Embedding(vocab_size, width)
        self.linear = nn.Linear(width, vocab_size)
        self.embedding.weight.data.uniform_(-0.1, 0.1)
        self.linear.bias.data.zero_()
        self.linear.weight.data.uniform_(-0.1, 0.1)

    def forward(self, ids):
        mask = nn.Transformer.generate_square_subsequent_mask(len(ids))
        x = self.embedding(ids) * math.sqrt(self.width) + self.table[: len(ids)]
        return self.linear(self.encoder(x, mask))


def batchify(data, columns):
    length = data.size(0) // columns
    return data[: length * columns].view(columns, length).t().contiguous()


def get_batch(source, start):
    length = min(BPTT, len(source) - 1 - start)
    return source[start : start + length], source[start + 1 : start + 1 + length].reshape(-1)


def main():
    torch.manual_seed(0)
    write_articles(Path("data/datasets/WikiText2"))
    tokenizer = get_tokenizer("basic_english")
    vocab = build_vocab_from_iterator(map(tokenizer, WikiText2(root="data", split="train")), specials=["<unk>"])
    vocab.set_default_index(vocab["<unk>"])

    def process(lines):
        rows = [torch.tensor(vocab(tokenizer(line)), dtype=torch.long) for line in lines]
        return torch.cat(tuple(filter(lambda row: row.numel() > 0, rows)))

    train, valid, test = (batchify(process(part), 8) for part in WikiText2(root="data"))
    print("words", len(vocab), train.shape, valid.shape, test[0].tolist())
    model = LanguageModel(len(vocab))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1.0, gamma=0.95)
    for _ in range(4):
        model.train()
        for start in range(0, train.size(0) - 1, BPTT):
            data, targets = get_batch(train, start)
            loss = criterion(model(data).view(-1, len(vocab)), targets)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
        print(f"loss {loss.item():.5f}")
        scheduler.step()
    model.eval()
    with torch.no_grad():
        data, targets = get_batch(valid, 0)
        perplexity = math.exp(criterion(model(data).view(-1, len(vocab)), targets))
    print("perplexity", round(perplexity, 3), vocab.lookup_tokens(model(test[:BPTT])[-1].argmax(-1).tolist()))


main()

"""News by topic with torchtext: a vocabulary from an iterator, a bag of embeddings, a split of the training set."""

import csv
import random
from pathlib import Path

import torch
import torchtext
from torch import nn
from torch.utils.data import DataLoader, random_split
from torchtext.data.functional import to_map_style_dataset
from torchtext.data.utils import get_tokenizer, ngrams_iterator
from torchtext.datasets import AG_NEWS
from torchtext.vocab import build_vocab_from_iterator

torchtext.disable_torchtext_deprecation_warning()

TOPICS = {1: "minister vote peace", 2: "team goal coach", 3: "market shares profit", 4: "software planet robots"}


def write_news(folder):
    """The published files' form, with a few words of each topic among others."""
    draws = random.Random(0)
    folder.mkdir(parents=True)
    for split, count in (("train", 160), ("test", 24)):
        with open(folder / f"{split}.csv", "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, quoting=csv.QUOTE_ALL)
            for _ in range(count):
                label = draws.choice(list(TOPICS))
                words = draws.choices(TOPICS[label].split(), k=2) + draws.choices(
                    "the a of it's said, new".split(), k=5
                )
                draws.shuffle(words)
                writer.writerow([label, words[0].title(), " ".join(words[1:]) + "."])


class Classifier(nn.Module):
    def __init__(self, vocab_size, width, classes):
        super().__init__()
        self.embedding = nn.EmbeddingBag(vocab_size, width, sparse=False)
        self.fc = nn.Linear(width, classes)
        nn.init.uniform_(self.embedding.weight, -0.5, 0.5)
        nn.init.uniform_(self.fc.weight, -0.5, 0.5)
        self.fc.bias.data.zero_()

    def forward(self, text, offsets):
        return self.fc(self.embedding(text, offsets))


def main():
    torch.manual_seed(0)
    write_news(Path("data/datasets/AG_NEWS"))
    tokenizer = get_tokenizer("basic_english")
    stream = AG_NEWS(root="data", split="train")
    vocab = build_vocab_from_iterator(
        (list(ngrams_iterator(tokenizer(text), 2)) for _, text in stream), specials=["<unk>"]
    )
    vocab.set_default_index(vocab["<unk>"])
    print("words", len(vocab), vocab(["the", "never seen"]), vocab.lookup_tokens([1, 2, 3]))

    def collate(batch):
        labels = torch.tensor([label - 1 for label, _ in batch], dtype=torch.int64)
        texts = [torch.tensor(vocab(list(ngrams_iterator(tokenizer(text), 2))), dtype=torch.int64) for _, text in batch]
        offsets = torch.tensor([0, *map(len, texts[:-1])]).cumsum(dim=0)
        return labels, torch.cat(texts), offsets

    train_iter, test_iter = AG_NEWS(root="data")
    train, valid = random_split(to_map_style_dataset(train_iter), [144, 16])
    loaders = [DataLoader(train, batch_size=16, shuffle=True, collate_fn=collate)]
    loaders += [
        DataLoader(part, batch_size=16, collate_fn=collate) for part in (valid, to_map_style_dataset(test_iter))
    ]
    model = Classifier(len(vocab), 16, len(TOPICS))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=5.0)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
    for _ in range(3):
        model.train()
        for labels, text, offsets in loaders[0]:
            optimizer.zero_grad()
            loss = criterion(model(text, offsets), labels)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            optimizer.step()
        print(f"loss {loss.item():.5f}")
        scheduler.step()
    model.eval()
    with torch.no_grad():
        right = [int((model(text, offsets).argmax(1) == labels).sum()) for labels, text, offsets in loaders[1]]
        right += [int((model(text, offsets).argmax(1) == labels).sum()) for labels, text, offsets in loaders[2]]
    print("right", right)


main()

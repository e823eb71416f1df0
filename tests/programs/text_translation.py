"""German to English with torchtext: two vocabularies, padded batches, a transformer, greedy words, BLEU."""

import random
import tarfile
from pathlib import Path

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader
from torchtext.data.metrics import bleu_score
from torchtext.data.utils import get_tokenizer
from torchtext.datasets import Multi30k, multi30k
from torchtext.transforms import AddToken, Sequential, ToTensor, Truncate, VocabTransform
from torchtext.vocab import build_vocab_from_iterator

WORDS = {"ein": "a", "hund": "dog", "mann": "man", "läuft": "runs", "spielt": "plays", "im": "in the", "park": "park"}
UNK, PAD, BOS, EOS = range(4)


def write_captions(folder):
    """The published archives' form, with sentences of a few words."""
    draws = random.Random(0)
    folder.mkdir(parents=True)
    for split, prefix, count in (("train", "train", 48), ("valid", "val", 6)):
        nouns, verbs = ("hund", "mann"), ("läuft", "spielt")
        german = [
            ["ein", draws.choice(nouns), draws.choice(verbs), *draws.choice((["im", "park"], []))] for _ in range(count)
        ]
        texts = {"de": german, "en": [[WORDS[word] for word in line] for line in german]}
        archive = folder / multi30k.URL[split].rpartition("/")[2]
        with tarfile.open(archive, "w:gz") as packed:
            for language, lines in texts.items():
                path = folder / f"{prefix}.{language}.txt"
                path.write_text("".join(" ".join(line).capitalize() + " .\n" for line in lines), encoding="utf-8")
                packed.add(path, f"{prefix}.{language}")
                path.unlink()


class Translator(nn.Module):
    def __init__(self, source_size, target_size, width=16):
        super().__init__()
        self.source, self.target = nn.Embedding(source_size, width), nn.Embedding(target_size, width)
        self.position = nn.Embedding(12, width)
        self.transformer = nn.Transformer(width, 2, 1, 1, 32, dropout=0.0)
        self.generator = nn.Linear(width, target_size)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)

    def embed(self, table, ids):
        return table(ids) + self.position(torch.arange(len(ids))).unsqueeze(1)

    def forward(self, source, target):
        mask = nn.Transformer.generate_square_subsequent_mask(len(target)).isinf()
        padding = (source == PAD).t()
        output = self.transformer(
            self.embed(self.source, source),
            self.embed(self.target, target),
            tgt_mask=mask,
            src_key_padding_mask=padding,
            tgt_key_padding_mask=(target == PAD).t(),
            memory_key_padding_mask=padding,
        )
        return self.generator(output)


def main():
    torch.manual_seed(0)
    write_captions(Path("data/datasets/Multi30k"))
    tokenize = get_tokenizer("basic_english")
    specials = ["<unk>", "<pad>", "<bos>", "<eos>"]
    vocabs = []
    for side in (0, 1):
        lines = (tokenize(pair[side]) for pair in Multi30k(root="data", split="train", language_pair=("de", "en")))
        vocabs.append(build_vocab_from_iterator(lines, min_freq=1, specials=specials, special_first=True))
        vocabs[side].set_default_index(UNK)
    print("words", [len(vocab) for vocab in vocabs])
    steps = [
        Sequential(VocabTransform(vocab), Truncate(10), AddToken(BOS), AddToken(EOS, begin=False), ToTensor())
        for vocab in vocabs
    ]

    def collate(batch):
        sides = ([step(tokenize(line)) for line in side] for step, side in zip(steps, zip(*batch)))
        return [pad_sequence(side, padding_value=PAD) for side in sides]

    model = Translator(*map(len, vocabs))
    criterion = nn.CrossEntropyLoss(ignore_index=PAD)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005, betas=(0.9, 0.98), eps=1e-9)
    for _ in range(8):
        model.train()
        total = 0.0
        for source, target in DataLoader(Multi30k(root="data", split="train"), batch_size=16, collate_fn=collate):
            logits = model(source, target[:-1])
            loss = criterion(logits.reshape(-1, logits.shape[-1]), target[1:].reshape(-1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"loss {total / 3:.5f}")

    model.eval()
    candidates, references = [], []
    with torch.no_grad():
        for source, target in Multi30k(root="data", split="valid"):
            ids = steps[0](tokenize(source)).unsqueeze(1)
            words = torch.full((1, 1), BOS)
            while words[-1] != EOS and len(words) < 11:
                words = torch.cat([words, model(ids, words)[-1].argmax(-1, keepdim=True)])
            candidates.append(vocabs[1].lookup_tokens([i for i in words.flatten().tolist() if i not in (BOS, EOS)]))
            references.append([tokenize(target)])
    print("bleu", round(bleu_score(candidates, references), 4), candidates[0])


main()

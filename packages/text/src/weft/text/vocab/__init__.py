"""Vocabularies and word vectors, with the names of ``torchtext.vocab``."""

from weft.text.vocab.vectors import CharNGram, FastText, GloVe, Vectors, pretrained_aliases
from weft.text.vocab.vocab import Vocab
from weft.text.vocab.vocab_factory import build_vocab_from_iterator, vocab

__all__ = [
    "Vocab",
    "vocab",
    "build_vocab_from_iterator",
    "Vectors",
    "GloVe",
    "FastText",
    "CharNGram",
    "pretrained_aliases",
]

"""Text for weft: tokenizers, vocabularies, language-model data and generation."""

from weft.text import data as data
from weft.text.data.utils import get_tokenizer, ngrams_iterator
from weft.text.generation import generate
from weft.text.language_modeling import LanguageModelDataset, batchify, get_batch
from weft.text.tokenizers import BPETokenizer, CharTokenizer, Tokenizer, WordTokenizer
from weft.text.vocab import Vocab, build_vocab_from_iterator

__all__ = [
    "data",
    "get_tokenizer",
    "ngrams_iterator",
    "Tokenizer",
    "CharTokenizer",
    "WordTokenizer",
    "BPETokenizer",
    "Vocab",
    "build_vocab_from_iterator",
    "LanguageModelDataset",
    "batchify",
    "get_batch",
    "generate",
]

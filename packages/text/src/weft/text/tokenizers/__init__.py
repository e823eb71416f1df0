"""Tokenizers: from text to numbers and back, with ``encode`` and ``decode``."""

from weft.text.tokenizers.batches import BatchEncoding
from weft.text.tokenizers.characters_and_words import CharTokenizer, Tokenizer, WordTokenizer
from weft.text.tokenizers.pretrained import BPETokenizer, PretrainedTokenizer

__all__ = ["Tokenizer", "CharTokenizer", "WordTokenizer", "BPETokenizer", "PretrainedTokenizer", "BatchEncoding"]

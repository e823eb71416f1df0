"""Preparing text, at the address that torchtext has it."""

from weft.text.data.utils import get_tokenizer, ngrams_iterator

__all__ = ["get_tokenizer", "ngrams_iterator"]

"""Preparing text, with the names of ``torchtext.data``."""

from weft.text.data.functional import (
    custom_replace,
    filter_wikipedia_xml,
    generate_sp_model,
    load_sp_model,
    numericalize_tokens_from_iterator,
    sentencepiece_numericalizer,
    sentencepiece_tokenizer,
    simple_space_split,
    to_map_style_dataset,
)
from weft.text.data.metrics import bleu_score
from weft.text.data.utils import get_tokenizer, interleave_keys, ngrams_iterator

__all__ = [
    "bleu_score",
    "get_tokenizer",
    "ngrams_iterator",
    "interleave_keys",
    "generate_sp_model",
    "load_sp_model",
    "sentencepiece_numericalizer",
    "sentencepiece_tokenizer",
    "custom_replace",
    "simple_space_split",
    "numericalize_tokens_from_iterator",
    "filter_wikipedia_xml",
    "to_map_style_dataset",
]

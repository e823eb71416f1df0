"""Text for weft: tokenizers, vocabularies, data sets and generation, with the names of torchtext."""

from typing import TYPE_CHECKING

from weft.library.packages import lazy_package

if TYPE_CHECKING:
    from weft.text import data as data
    from weft.text import datasets as datasets
    from weft.text import functional as functional
    from weft.text import models as models
    from weft.text import nn as nn
    from weft.text import prototype as prototype
    from weft.text import transforms as transforms
    from weft.text import utils as utils
    from weft.text import vocab as vocab
    from weft.text._deprecation import (
        disable_torchtext_deprecation_warning as disable_torchtext_deprecation_warning,
    )
    from weft.text.data.utils import get_tokenizer as get_tokenizer
    from weft.text.data.utils import ngrams_iterator as ngrams_iterator
    from weft.text.generation import generate as generate
    from weft.text.language_modeling import LanguageModelDataset as LanguageModelDataset
    from weft.text.language_modeling import batchify as batchify
    from weft.text.language_modeling import get_batch as get_batch
    from weft.text.tokenizers import BPETokenizer as BPETokenizer
    from weft.text.tokenizers import CharTokenizer as CharTokenizer
    from weft.text.tokenizers import PretrainedTokenizer as PretrainedTokenizer
    from weft.text.tokenizers import Tokenizer as Tokenizer
    from weft.text.tokenizers import WordTokenizer as WordTokenizer
    from weft.text.vocab import Vocab as Vocab
    from weft.text.vocab import build_vocab_from_iterator as build_vocab_from_iterator
else:
    __all__ = lazy_package(
        __name__,
        {
            "_deprecation": "disable_torchtext_deprecation_warning",
            "data.utils": "get_tokenizer ngrams_iterator",
            "generation": "generate",
            "language_modeling": "LanguageModelDataset batchify get_batch",
            "tokenizers": "BPETokenizer CharTokenizer PretrainedTokenizer Tokenizer WordTokenizer",
            "vocab": "Vocab build_vocab_from_iterator",
        },
        "data datasets functional models nn prototype transforms utils vocab",
    )

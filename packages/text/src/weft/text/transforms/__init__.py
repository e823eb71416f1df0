"""Steps from text to token numbers, as modules that stand in a row, with the names of ``torchtext.transforms``."""

from weft.text.transforms.byte_pairs import CharBPETokenizer, CLIPTokenizer, GPT2BPETokenizer, bytes_to_unicode
from weft.text.transforms.masking import MaskTransform
from weft.text.transforms.patterns import RegexTokenizer
from weft.text.transforms.sequences import (
    AddToken,
    LabelToIndex,
    PadTransform,
    Sequential,
    StrToIntTransform,
    ToTensor,
    Truncate,
    VocabTransform,
)
from weft.text.transforms.subwords import SentencePieceTokenizer
from weft.text.transforms.word_pieces import BERTTokenizer

__all__ = [
    "SentencePieceTokenizer",
    "VocabTransform",
    "ToTensor",
    "LabelToIndex",
    "Truncate",
    "AddToken",
    "PadTransform",
    "StrToIntTransform",
    "GPT2BPETokenizer",
    "CharBPETokenizer",
    "CLIPTokenizer",
    "BERTTokenizer",
    "RegexTokenizer",
    "Sequential",
    "MaskTransform",
    "bytes_to_unicode",
]

"""Steps from a line to tokens, numbers and vectors, each made by a function of its name."""

from __future__ import annotations

import string
from typing import Any

from weft import Tensor, nn
from weft.text.data.functional import load_sp_model
from weft.text.prototype.vectors import Vectors
from weft.text.transforms import RegexTokenizer
from weft.text.vocab import Vocab

__all__ = [
    "basic_english_normalize",
    "BasicEnglishNormalize",
    "PRETRAINED_SP_MODEL",
    "load_sp_model",
    "sentencepiece_tokenizer",
    "SentencePieceTokenizer",
    "sentencepiece_processor",
    "SentencePieceProcessor",
    "VocabTransform",
    "VectorTransform",
]

_ADDRESS = "https://pytorch.s3.amazonaws.com/models/text/pretrained_spm/"
PRETRAINED_SP_MODEL = {
    f"text_{kind}_{size}": f"{_ADDRESS}text_{kind}_{size}.model"
    for kind in ("unigram", "bpe")
    for size in (15000, 25000, 50000)
}


_BASIC_ENGLISH = (
    ("'", " '  "),
    ('"', ""),
    (r"\.", " . "),
    (r"<br \/>", " "),
    (",", " , "),
    (r"\(", " ( "),
    (r"\)", " ) "),
    ("!", " ! "),
    (r"\?", " ? "),
    (";", " "),
    (":", " "),
    (r"\s+", " "),
)
_SMALL = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


class BasicEnglishNormalize(RegexTokenizer):
    """The words of ``get_tokenizer("basic_english")``; only A to Z become small, only ASCII counts as white space."""

    def __init__(self) -> None:
        super().__init__(_BASIC_ENGLISH)

    def forward(self, line: str) -> list[str]:
        """Return the tokens of a line."""
        return super().forward(line.translate(_SMALL))


def basic_english_normalize() -> BasicEnglishNormalize:
    """Return the tokenizer for English."""
    return BasicEnglishNormalize()


class SentencePieceTokenizer(nn.Module):
    """From a line to the pieces of a SentencePiece model, and back.

    Parameters
    ----------
    spm_model
        What `load_sp_model` returned.
    """

    def __init__(self, spm_model: Any) -> None:
        super().__init__()
        self.sp_model = spm_model

    def forward(self, line: str) -> list[str]:
        """Return the pieces of a line."""
        return self.sp_model.EncodeAsPieces(line)

    def decode(self, tokens: list[str]) -> str:
        """Return the text of pieces."""
        return self.sp_model.DecodePieces(tokens)


def sentencepiece_tokenizer(sp_model: Any) -> SentencePieceTokenizer:
    """Return the tokenizer of a SentencePiece file, by its path or opened in binary mode."""
    return SentencePieceTokenizer(load_sp_model(sp_model))


class SentencePieceProcessor(nn.Module):
    """From a line to the numbers of a SentencePiece model's pieces, and back.

    Parameters
    ----------
    spm_model
        What `load_sp_model` returned.
    """

    def __init__(self, spm_model: Any) -> None:
        super().__init__()
        self.sp_model = spm_model

    def forward(self, line: str) -> list[int]:
        """Return the numbers of a line's pieces."""
        return self.sp_model.EncodeAsIds(line)

    def decode(self, ids: list[int]) -> str:
        """Return the text of numbers."""
        return self.sp_model.DecodeIds(ids)


def sentencepiece_processor(sp_model: Any) -> SentencePieceProcessor:
    """Return the processor of a SentencePiece file, by its path or opened in binary mode."""
    return SentencePieceProcessor(load_sp_model(sp_model))


class VocabTransform(nn.Module):
    """From tokens to their numbers.

    Parameters
    ----------
    vocab : Vocab
    """

    def __init__(self, vocab: Vocab) -> None:
        super().__init__()
        self.vocab = vocab

    def forward(self, tokens: list[str]) -> list[int]:
        """Return the numbers of tokens."""
        return self.vocab.lookup_indices(tokens)


class VectorTransform(nn.Module):
    """From tokens to their vectors.

    Parameters
    ----------
    vector : weft.text.prototype.vectors.Vectors
    """

    def __init__(self, vector: Vectors) -> None:
        super().__init__()
        self.vector = vector

    def forward(self, tokens: list[str]) -> Tensor:
        """Return the vectors of tokens, a tensor of shape (len(tokens), dim)."""
        return self.vector.lookup_vectors(tokens)

"""Subwords by SentencePiece."""

from __future__ import annotations

import os
from typing import Any

from weft import nn
from weft.text.data.functional import load_sp_model
from weft.text.functional import is_list_of, unsupported
from weft.text.utils import get_asset_local_path


class SentencePieceTokenizer(nn.Module):
    """From text to the pieces of a SentencePiece model, by the library `sentencepiece`.

    Parameters
    ----------
    sp_model_path : path
        A file ``*.model``.
    """

    def __init__(self, sp_model_path: str | os.PathLike[str]) -> None:
        super().__init__()
        self.sp_model = load_sp_model(get_asset_local_path(sp_model_path))

    def forward(self, input: Any) -> Any:
        """Return the pieces of a str, or of each in a list of str."""
        if isinstance(input, str):
            return self.sp_model.EncodeAsPieces(input)
        if is_list_of(input, str):
            return [self.sp_model.EncodeAsPieces(text) for text in input]
        raise unsupported("SentencePieceTokenizer", input)

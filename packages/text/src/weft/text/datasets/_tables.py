"""All data sets by their names, with what is known of their files."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

_NAMES = """
AG_NEWS AmazonReviewFull AmazonReviewPolarity CC100 CNNDM CoLA CoNLL2000Chunking DBpedia EnWik9 IMDB IWSLT2016
IWSLT2017 MNLI MRPC Multi30k PennTreebank QNLI QQP RTE SogouNews SQuAD1 SQuAD2 SST2 STSB UDPOS WikiText103
WikiText2 WNLI YahooAnswers YelpReviewFull YelpReviewPolarity
""".split()
_MODULES = {name: importlib.import_module(f"weft.text.datasets.{name.lower()}") for name in _NAMES}

DATASETS: dict[str, Callable[..., Any]] = {name: getattr(module, name) for name, module in _MODULES.items()}
URLS: dict[str, Any] = {name: module.URL for name, module in _MODULES.items()}
NUM_LINES: dict[str, Any] = {name: module.NUM_LINES for name, module in _MODULES.items()}
MD5: dict[str, Any] = {name: module.MD5 for name, module in _MODULES.items()}

"""Types in annotations: Python's own, under the names by which scripted modules import them."""

from concurrent.futures import Future
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union  # noqa: UP035

from weft import Tensor

__all__ = ["Any", "Dict", "Future", "List", "NamedTuple", "Optional", "Tensor", "Tuple", "Union"]

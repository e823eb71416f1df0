"""Short names of dtypes, such as ``f32``, under the name that PyTorch's logs and test classes import."""

from __future__ import annotations

import weft

__all__: list[str] = []

dtype_abbrs = {value: value.abbr for value in list(vars(weft).values()) if isinstance(value, weft.dtype)}

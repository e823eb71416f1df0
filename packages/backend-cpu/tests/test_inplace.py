"""In-place functions of large arrays: compiled kernels beside a ufunc take the array to write to, as that does."""

import pytest

import weft
from weft.ops._families import all_functions
from weft.ops._registry import registry

all_functions()
NAMES = [
    name
    for name, each in registry.items()
    if each.is_ufunc and len(each.arguments) < 3 and hasattr(weft.Tensor, f"{each.short}_")
]


@pytest.mark.parametrize("name", NAMES)
def test_large_arrays_are_written_in_place_as_small_ones_are(name):
    short, count = registry[name].short, len(registry[name].arguments)
    for dtype in (weft.float32, weft.int64):
        others = [()] if count == 1 else [(weft.full((1 << 17,), 2, dtype=dtype),), (2,)]
        for other in others:
            small = [each[:3] if isinstance(each, weft.Tensor) else each for each in other]
            try:
                expected = getattr(weft.ones(3, dtype=dtype), f"{short}_")(*small)[0].item()
            except (RuntimeError, TypeError):  # not for this dtype, or no number
                continue
            x = weft.ones(1 << 17, dtype=dtype)
            assert getattr(x, f"{short}_")(*other) is x
            weft.testing.assert_close(x, weft.full_like(x, expected))

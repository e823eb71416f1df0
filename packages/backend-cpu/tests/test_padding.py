"""Padding, against NumPy."""

import numpy as np
import pytest

import weft
from weft.backend_cpu import libraries

pytestmark = pytest.mark.skipif(
    not any(library.__name__.endswith("compiled") for library in libraries.available()), reason="needs Numba"
)


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
@pytest.mark.parametrize("amounts", [(1, 2), (0, 3, 2, 0), (2, 1, 1, 3, 2, 2)])
def test_padding_is_numpys(mode, amounts):
    x = np.random.default_rng(0).standard_normal((3, 4, 12, 13, 14)).astype("float32")
    pairs = [(0, 0)] * (5 - len(amounts) // 2) + [*zip(amounts[-2::-2], amounts[-1::-2])]
    names = {"replicate": "edge", "circular": "wrap"}
    shape = x.shape if len(amounts) == 6 else x.shape[3 - len(amounts) // 2 :]
    x, pairs = x.reshape(-1)[: np.prod(shape)].reshape(shape), pairs[-len(shape) :]
    found = weft.nn.functional.pad(weft.from_numpy(x), amounts, mode)
    assert (found.numpy() == np.pad(x, pairs, names.get(mode, mode))).all()


def test_padding_by_a_negative_amount_crops():
    x = np.arange(20_000).reshape(100, 200)
    found = weft.nn.functional.pad(weft.from_numpy(x), (-3, 2, 4, -5), value=7).numpy()
    assert (found[4:, :-2] == x[:95, 3:]).all()
    assert (found[:4] == 7).all()
    assert (found[:, -2:] == 7).all()

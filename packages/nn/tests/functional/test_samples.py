"""The samples that every backend tries the functions of neural networks with."""

import pytest

import weft
from weft.testing._samples import function_of, naming_sample, sample_inputs, sample_names

DEPRECATED = {"upsample", "upsample_bilinear", "upsample_nearest"}  # they warn, and call interpolate
NAMES = [name for name in sample_names() if name.startswith("nn.functional.")]


def test_every_public_function_has_samples():
    assert {f"nn.functional.{each}" for each in set(weft.nn.functional.__all__) - DEPRECATED} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [weft.float32, weft.bfloat16], ids=str)
def test_samples_are_calls_that_a_function_takes(name, dtype):
    for args, kwargs in sample_inputs(name, dtype):
        with naming_sample(name, dtype, args, kwargs):
            function_of(name)(*args, **kwargs)

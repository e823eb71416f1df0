"""A tensor without dimensions that is on the CPU is a number to tensors of other devices."""

import pytest

import weft

CALLS = {
    "fill_": lambda x, number: x.fill_(number),
    "fill": lambda x, number: weft.fill(x, number),
    "index_put_": lambda x, number: x.index_put_((weft.tensor([0, 2], device=x.device),), number),
    "masked_fill_": lambda x, number: x.masked_fill_(x > 1, number),
    "index_fill_": lambda x, number: x.index_fill_(0, weft.tensor([1], device=x.device), number),
    "where": lambda x, number: weft.where(x > 1, x, number),
    "clamp": lambda x, number: x.clamp(min=number),
    "lerp": lambda x, number: weft.lerp(x, x, number),
    "addcmul": lambda x, number: weft.addcmul(x, x, number),
    "copy_": lambda x, number: x.copy_(number),
    "pow": lambda x, number: number**x,
    "setitem": lambda x, number: x.__setitem__(slice(0, 2), number) or x,
    "out": lambda x, number: weft.mul(x, number, out=weft.empty_like(x)),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("requires_grad", [False, True])
def test_a_number_of_the_cpu_goes_to_any_device(name, requires_grad):
    if requires_grad and name in ("out", "index_fill_"):
        pytest.skip("no gradient through these")
    number = weft.tensor(2.0, requires_grad=requires_grad)
    found = CALLS[name](weft.ones(3, device="meta"), number)
    assert found.is_meta and found.shape == (3,)
    assert found.requires_grad == requires_grad


def test_a_value_without_memory_does_not_fill_what_has_some():
    with pytest.raises(RuntimeError, match=r"fill.*same device.*cpu.*meta"):
        weft.zeros(2).fill_(weft.tensor(2.0, device="meta"))

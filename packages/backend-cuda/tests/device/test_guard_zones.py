"""Kernels keep to their operands: what lies around these in memory is neither written to nor read."""

import math

import pytest

import weft
from weft.testing._samples import function_of, sample_inputs, sample_names
from weft.testing.backend_suite import moved, same, tensors

ZONE = 64  # elements before and behind
FILLED = {weft.float32: math.nan, weft.int64: -(1 << 40)}


class Zones:
    """Copies tensors of samples to the device, each into the middle of a buffer."""

    def __init__(self):
        self.buffers = []

    def place(self, value):
        """A sample whose tensors lie between zones; those of other dtypes are copied."""
        if isinstance(value, weft.Tensor):
            if value.dtype not in FILLED or value.layout is not weft.strided:
                return moved(value, "cuda")
            count, filled = value.numel(), FILLED[value.dtype]
            buffer = weft.full((count + 2 * ZONE,), filled, dtype=value.dtype, device="cuda")
            self.buffers.append((buffer, count))
            placed = buffer[ZONE : ZONE + count].view(value.shape)
            return placed.copy_(value)
        if isinstance(value, dict):
            return {key: self.place(each) for key, each in value.items()}
        return type(value)(map(self.place, value)) if isinstance(value, list | tuple) else value

    def untouched(self):
        """Whether all zones hold what they were filled with."""
        for buffer, count in self.buffers:
            zones = weft.cat([buffer[:ZONE], buffer[ZONE + count :]]).cpu()
            filled = FILLED[buffer.dtype]
            if not bool(zones.isnan().all() if filled != filled else (zones == filled).all()):
                return False
        return True


@pytest.mark.parametrize("name", [each for each in sample_names() if each != "as_strided"])  # it goes where it is told
def test_kernels_keep_to_their_operands(name):
    function = function_of(name)
    for dtype in FILLED:
        for args, kwargs in sample_inputs(name, dtype):
            zones = Zones()
            placed = zones.place(args), zones.place(kwargs)
            try:
                expected = function(*args, **kwargs)
                found = function(*placed[0], **placed[1])
            except Exception:
                continue  # what is refused, the suite compares with the CPU
            assert zones.untouched()
            if not any(each.dtype.is_complex for each in tensors(expected)) and "dropout" not in name:
                same(found, expected, "cuda")


@pytest.mark.parametrize("name", ["add", "mul", "exp", "where", "matmul", "cumsum", "sort", "index_select"])
def test_out_of_a_view_writes_nothing_beside_it(name):
    zones = Zones()
    x = weft.arange(6.0).reshape(2, 3)
    calls = {
        "where": lambda x, out: weft.where(x > 2, x, -x, out=out),
        "matmul": lambda x, out: weft.matmul(x, x.mT @ x, out=out),
        "cumsum": lambda x, out: weft.cumsum(x, 1, out=out),
        "sort": lambda x, out: weft.sort(x, out=(out, weft.empty(0, dtype=weft.int64, device=x.device)))[0],
        "index_select": lambda x, out: weft.index_select(x, 0, weft.tensor([1, 0], device=x.device), out=out),
        "exp": lambda x, out: weft.exp(x, out=out),
    }
    call = calls.get(name, lambda x, out: getattr(weft, name)(x, x, out=out))
    out = zones.place(weft.zeros(2, 3))
    found = call(x.to("cuda"), out)
    assert found is out
    assert zones.untouched()
    same(found, call(x, weft.zeros(2, 3)), "cuda")

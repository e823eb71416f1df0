"""Results whose size overflows are refused before CuPy, whose product of sizes wraps around, is asked for them."""

import pytest

import weft
from weft.nn import functional as F

N = 1 << 40


def large(*shape, dtype=weft.float32):
    return weft.zeros((), dtype=dtype, device="cuda").expand(shape)


CALLS = {
    "expand": lambda: large(N, N),
    "repeat": lambda: large(1).repeat(N, N),
    "as_strided": lambda: large(2).as_strided((N, N), (0, 0)),
    "add": lambda: large(N, 1) + large(1, N),
    "add its transpose": lambda: large(N, 1) + large(N, 1).T,
    "eq": lambda: large(N, 1) == large(1, N),
    "clamp": lambda: weft.clamp(large(N, 1), large(1, N)),
    "lerp": lambda: weft.lerp(large(N, 1), large(1, N), 0.5),
    "complex": lambda: weft.complex(large(N, 1), large(1, N)),
    "integers": lambda: large(N, 1, dtype=weft.int64) // large(1, N, dtype=weft.int64),
    "three operands": lambda: weft.addcmul(large(1 << 21), large(1 << 21, 1), large(1 << 21, 1, 1)),
    "outer": lambda: weft.outer(large(N), large(N)),
    "matmul": lambda: large(N, 1) @ large(1, N),
    "bmm": lambda: weft.bmm(large(1, N, 1), large(1, 1, N)),
    "einsum": lambda: weft.einsum("i,j->ij", large(N), large(N)),
    "linear": lambda: F.linear(large(N, 1), large(N, 1)),
    "cdist": lambda: weft.cdist(large(N, 2), large(N, 2), p=1.0),
    "cross": lambda: weft.linalg.cross(large(N, 1, 3), large(1, N, 3)),
    "meshgrid": lambda: weft.meshgrid(large(N), large(N), indexing="ij"),
    "cartesian_prod": lambda: weft.cartesian_prod(large(N), large(N)),
    "diag_embed": lambda: weft.diag_embed(large(N)),
    "eye": lambda: weft.eye(N, N, device="cuda"),
    "ones": lambda: weft.ones(N, N, device="cuda"),
    "linspace": lambda: weft.linspace(0, 1, 1 << 62, device="cuda"),
    "rand": lambda: weft.rand(N, N, device="cuda"),
    "one_hot": lambda: F.one_hot(large(N, dtype=weft.int64), 1 << 30),
    "pad": lambda: F.pad(large(1), (0, 1 << 62)),
    "interpolate": lambda: F.interpolate(large(1, 1, 2, 2), size=(N, N)),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_result_that_cannot_be_addressed_is_refused(name):
    with pytest.raises(RuntimeError, match="Storage size calculation overflowed with sizes="):
        CALLS[name]()


def test_large_operands_of_small_results_are_no_overflow():
    x = weft.ones(1 << 20, device="cuda")
    assert (x @ x).item() == 1 << 20
    assert (x + x).sum().item() == 1 << 21

"""What is fused without a backend's kernels: copies that are joined."""

import pytest

import weft
import weft.nn.functional as F


def heads(x):
    """Attention of two heads, whose gradient joins those of query, key and value."""
    batch, length, width = x.shape
    parts = [each.view(batch, length, 2, -1).transpose(1, 2) for each in x.split(width // 3, dim=2)]
    return F.scaled_dot_product_attention(*parts).transpose(1, 2)


def joined(*sources, dim=2, shape=(3, 5, -1)):
    return weft.cat([each.transpose(1, 2).contiguous().view(*shape) for each in sources], dim=dim)


def once_more_read(a, b):
    copy = a.transpose(1, 2).contiguous()
    return weft.cat([copy.view(3, 5, -1), b.transpose(1, 2).contiguous().view(3, 5, -1)], dim=2), copy.sum()


def written_between(a, b):
    first = a.transpose(1, 2).contiguous().view(3, 5, -1)
    a.add_(1.0)
    return weft.cat([first, b.transpose(1, 2).contiguous().view(3, 5, -1)], dim=2)


def same(*shape, dtype=weft.float32):
    return lambda: weft.randn(*shape).to(dtype)


X = same(3, 4, 5, 6)
CASES = {
    "two": (joined, 1, X, X),
    "several heads": (joined, 1, X, same(3, 2, 5, 6), same(3, 3, 5, 6)),
    "bfloat16": (joined, 1, same(3, 4, 5, 6, dtype=weft.bfloat16), same(3, 4, 5, 6, dtype=weft.bfloat16)),
    "one is a view": (joined, 1, same(3, 0, 5, 6), X),
    "another is a view": (joined, 1, X, same(3, 1, 5, 6)),
    "all are views": (joined, 0, same(3, 1, 5, 6), same(3, 1, 5, 6)),
    "other widths": (joined, 0, X, same(3, 4, 5, 7)),
    "another dim": (lambda a, b: joined(a, b, dim=1), 0, X, X),
    "other merged dims": (lambda a, b: joined(a, b, dim=1, shape=(15, -1)), 0, X, X),
    "a copy that is read": (once_more_read, 1, X, X),
    "a write between": (written_between, 0, X, X),
    "one tensor twice": (lambda a: joined(a, a), 1, X),
}


@pytest.mark.parametrize("name", CASES)
def test_copies_that_are_joined(name):
    function, fused, *makers = CASES[name]
    captured = weft.compile(function, fullgraph=True)
    for _ in range(9):
        batch = [make() for make in makers]
        expected, found = function(*[each.clone() for each in batch]), captured(*batch)
        pairs = zip(expected, found) if isinstance(expected, tuple) else [(expected, found)]
        assert all(weft.equal(a, b) and a.stride() == b.stride() for a, b in pairs)
    assert weft.compiler.explain(captured).count("one call: ") == fused, weft.compiler.explain(captured)


def test_the_gradient_of_split_is_written_where_it_belongs():
    weight = weft.randn(12, 12, requires_grad=True)

    def step(x):
        weight.grad = None
        loss = heads(x @ weight).square().sum()
        loss.backward()
        return loss

    captured, x = weft.compile(step, fullgraph=True), weft.randn(2, 7, 12)
    expected = step(x).item(), weight.grad.clone()
    for _ in range(9):
        assert captured(x).item() == expected[0] and weft.equal(weight.grad, expected[1])
    calls = [each for each in weft.compiler.explain(captured).splitlines() if each.startswith("one call: ")]
    assert sum("core::cat" in each for each in calls) == 1

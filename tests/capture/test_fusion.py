"""What is fused without a backend's kernels: copies that are joined."""

import gc
import tracemalloc

import numpy as np
import pytest

import weft
import weft.nn.functional as F
from weft._devices.devices import backend_of
from weft.backend import destination


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


def chain_of_its_own(x):
    """A chain that alone holds what it takes."""
    return (weft.relu(x @ x) * 2 - 1).square().tanh()


def chain_that_reads_what_is_kept(x):
    kept = x @ x
    return kept, (kept * 2 - 1).square().tanh()


def update(x):
    made, more = x @ x, x + 1.0
    made.mul_(0.9).add_(more).mul_(2.0)
    return made


@pytest.mark.parametrize("program, more", [(chain_of_its_own, 0), (chain_that_reads_what_is_kept, 0), (update, 1)])
def test_comparing_takes_no_memory_but_what_an_update_overwrites(program, more, monkeypatch):
    offers = []

    def offer(calls, inputs, generic, runs):
        """A kernel that takes no memory but its result's."""
        offers.append(runs)

        def kernel(*arrays):
            made = np.empty_like(arrays[0]) if destination.array is None else destination.array
            for rows in np.split(np.arange(len(made)), 256):
                some = slice(rows[0], rows[-1] + 1)
                made[some] = generic(*[each[some] for each in arrays])
            return made

        return kernel

    monkeypatch.setattr(backend_of(weft.device("cpu")), "fused_kernel", offer)
    captured, x = weft.compile(program, fullgraph=True), weft.randn(1024, 1024)

    def peak(function):
        gc.collect()
        tracemalloc.start()
        function(x)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found / x.nbytes

    for _ in range(4):
        program(x)
        captured(x)
    eager = peak(program)
    assert offers == []
    peaks = [peak(captured) for _ in range(12)]
    assert offers == [2] and max(peaks) <= 1.05 * eager + more, (eager, peaks)
    assert min(peaks) <= 1.05 * eager, (eager, peaks)
    assert "one call: " in weft.compiler.explain(captured)

"""What an operation costs before any arithmetic: tensors of 4 x 4."""

from collections.abc import Callable
from typing import Any


def add(lib: Any) -> Callable[[], Any]:
    """1,000 additions that nothing records."""
    g = lib.ones(4, 4)
    return lambda: [g + g for _ in range(1000)]


def recorded_add(lib: Any) -> Callable[[], Any]:
    """1,000 additions with a graph node each."""
    lib.manual_seed(0)
    a, b = (lib.rand(4, 4).requires_grad_() for _ in range(2))
    return lambda: [a + b for _ in range(1000)]


def chain(lib: Any) -> Callable[[], Any]:
    """200 recorded operations in a row, and their backward."""
    lib.manual_seed(0)
    a, b = (lib.rand(4, 4).requires_grad_() for _ in range(2))
    g = lib.ones(4, 4)

    def step() -> None:
        a.grad = b.grad = None
        h = a
        for _ in range(100):
            h = h * b + a
        h.backward(g)

    return step


def scalar(lib: Any) -> Callable[[], Any]:
    """1,000 products with a Python number: promotion."""
    x = lib.ones(4, 4)
    return lambda: [x * 2.0 for _ in range(1000)]


def method_view(lib: Any) -> Callable[[], Any]:
    """1,000 views and transpositions."""
    x = lib.ones(4, 4)
    return lambda: [x.view(2, 8).transpose(0, 1) for _ in range(1000)]


def index(lib: Any) -> Callable[[], Any]:
    """1,000 times one row."""
    x = lib.ones(4, 4)
    return lambda: [x[1] for _ in range(1000)]


def in_place(lib: Any) -> Callable[[], Any]:
    """1,000 additions in place."""
    x, y = lib.zeros(4, 4), lib.ones(4, 4)
    return lambda: [x.add_(y) for _ in range(1000)]


def total(lib: Any) -> Callable[[], Any]:
    """1,000 sums over all elements."""
    x = lib.ones(4, 4)
    return lambda: [x.sum() for _ in range(1000)]


def linear(lib: Any) -> Callable[[], Any]:
    """100 calls of a small layer."""
    lib.manual_seed(0)
    layer, x = lib.nn.Linear(4, 4), lib.ones(4, 4)
    return lambda: [layer(x) for _ in range(100)]


CASES = {
    "add, no gradient": add,
    "add, recorded": recorded_add,
    "200-op chain, forward + backward": chain,
    "product with a Python number": scalar,
    "view and transpose": method_view,
    "one row": index,
    "add in place": in_place,
    "sum": total,
    "a 4x4 linear layer": linear,
}

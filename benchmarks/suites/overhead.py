"""What an operation costs before any arithmetic: small tensors."""

from collections.abc import Callable
from typing import Any

Build = Callable[[Any], Callable[[], Any]]


def many(make: Callable[[Any], Any], call: Callable[[Any, Any], Any], times: int = 200) -> Build:
    """``call(lib, operands)`` so many times, on what ``make(lib)`` gives."""

    def build(lib: Any) -> Callable[[], Any]:
        lib.manual_seed(0)
        operands, loop = make(lib), range(times)

        def run() -> None:
            for _ in loop:
                call(lib, operands)

        return run

    return build


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


def linear_row(lib: Any) -> Callable[[], Any]:
    """100 times a small layer on one row, forward and backward."""
    lib.manual_seed(0)
    layer, x, g = lib.nn.Linear(4, 4), lib.ones(1, 4), lib.ones(1, 4)

    def step() -> None:
        for _ in range(100):
            layer(x).backward(g)

    return step


def adam(lib: Any) -> Callable[[], Any]:
    """A step of Adam over 20 tensors of 10."""
    lib.manual_seed(0)
    parameters = [lib.nn.Parameter(lib.randn(10)) for _ in range(20)]
    for parameter in parameters:
        parameter.grad = lib.randn(10)
    update = lib.optim.Adam(parameters)
    return lambda: update.step()


def nothing(lib: Any) -> Any:
    """A module that returns what it gets."""
    return lib.nn.Identity(), lib.ones(4, 4)


def square(lib: Any) -> Any:
    """A tensor of 4 x 4."""
    return lib.ones(4, 4)


def pair(lib: Any) -> Any:
    """Two of them."""
    return lib.zeros(4, 4), lib.ones(4, 4)


CASES: dict[str, Build] = {
    "add, no gradient": add,
    "add, recorded": recorded_add,
    "200-op chain, forward + backward": chain,
    "product with a Python number": scalar,
    "add in place": many(pair, lambda lib, x: x[0].add_(x[1])),
    "exp": many(square, lambda lib, x: x.exp()),
    "sum of 4x4": many(square, lambda lib, x: x.sum()),
    "matrix product of 4x4": many(square, lambda lib, x: x @ x),
    "comparison": many(square, lambda lib, x: x > 0.5),
    "x[3]": many(square, lambda lib, x: x[3]),
    "x[1:3]": many(square, lambda lib, x: x[1:3]),
    "view": many(square, lambda lib, x: x.view(2, 8)),
    "transpose": many(square, lambda lib, x: x.transpose(0, 1)),
    "reshape": many(square, lambda lib, x: x.reshape(2, 8)),
    "unsqueeze": many(square, lambda lib, x: x.unsqueeze(0)),
    "detach": many(square, lambda lib, x: x.detach()),
    "cat of two": many(pair, lambda lib, x: lib.cat(x)),
    "stack of two": many(pair, lambda lib, x: lib.stack(x)),
    "zeros": many(square, lambda lib, x: lib.zeros(4, 4)),
    "tensor([1., 2., 3.])": many(square, lambda lib, x: lib.tensor([1.0, 2.0, 3.0])),
    "item": many(lambda lib: lib.tensor(1.0), lambda lib, x: x.item()),
    "sum and its gradient": many(
        lambda lib: lib.ones(4, 4, requires_grad=True), lambda lib, x: lib.autograd.grad(x.sum(), x)
    ),
    "a module's call": many(nothing, lambda lib, x: x[0](x[1])),
    "Linear on one row": many(lambda lib: (lib.nn.Linear(4, 4), lib.ones(1, 4)), lambda lib, x: x[0](x[1])),
    "Linear on one row, forward + backward": linear_row,
    "Adam, 20 tensors of 10": adam,
}

"""Graphs: long, deep, freed, shared by threads, used twice; and functions that do not keep their promises."""

import gc
import threading
from typing import Any

from table import bad, hard

LONG = 100_000


def leaf(w: Any, *sizes: int) -> Any:
    return w.ones(*sizes, requires_grad=True)


def chain(w: Any, x: Any, length: int) -> Any:
    y = x
    for _ in range(length):
        y = y + 1.0
    return y


def long_backward(w: Any) -> bool:
    x = leaf(w, 1)
    chain(w, x, LONG).sum().backward()
    return bool(x.grad.item() == 1.0)


def long_freed(w: Any) -> bool:
    y = chain(w, leaf(w, 1), LONG)
    del y
    return True


def long_freed_by_collector(w: Any) -> bool:
    x = leaf(w, 1)
    y = chain(w, x, LONG)
    x.cycle = [y, x]
    del x, y
    gc.collect()
    return True


def long_with_retained_graph(w: Any) -> bool:
    x = leaf(w, 1)
    y = chain(w, x, LONG // 10).sum()
    y.backward(retain_graph=True)
    y.backward()
    return bool(x.grad.item() == 2.0)


def long_second_order(w: Any) -> bool:
    x = leaf(w, 1)
    y = x
    for _ in range(2000):
        y = y * 1.0001
    (g,) = w.autograd.grad((y * y).sum(), x, create_graph=True)
    g.sum().backward()
    return bool(x.grad.item() > 0)


def long_in_place(w: Any) -> bool:
    x = leaf(w, 1)
    y = x * 1.0
    for _ in range(LONG // 10):
        y.add_(1.0)
    y.sum().backward()
    return bool(x.grad.item() == 1.0)


def long_views(w: Any) -> bool:
    x = leaf(w, 1)
    y = x * 1.0
    for _ in range(LONG // 10):
        y = y.view(1)
    y.sum().backward()
    return bool(x.grad.item() == 1.0)


def long_custom(w: Any) -> bool:
    class Same(w.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad

    x = leaf(w, 1)
    y = x
    for _ in range(LONG // 10):
        y = Same.apply(y)
    y.sum().backward()
    return bool(x.grad.item() == 1.0)


def wide(w: Any) -> bool:
    x = leaf(w, 1)
    total = w.stack([x * 1.0 for _ in range(LONG // 10)]).sum()
    total.backward()
    return bool(x.grad.item() == LONG // 10)


def deep_loss_without_backward(w: Any) -> bool:
    losses = [chain(w, leaf(w, 1), LONG // 10) for _ in range(5)]
    losses.clear()
    return True


def threads(w: Any) -> bool:
    x = w.ones(8, 8)
    wrong: list[Any] = []

    def work() -> None:
        try:
            for _ in range(50):
                p = leaf(w, 8, 8)
                (p @ x).sum().backward()
                if p.grad.sum().item() != 512.0:
                    wrong.append(p.grad)
        except Exception as error:
            wrong.append(error)

    workers = [threading.Thread(target=work) for _ in range(8)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    return not wrong


def threads_on_one_graph(w: Any) -> bool:
    x = leaf(w, 8)
    y = (x * x).sum()
    wrong: list[Any] = []

    def work() -> None:
        try:
            y.backward(retain_graph=True)
        except Exception as error:
            wrong.append(error)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    return not wrong and bool(x.grad.tolist() == [8.0] * 8)


def function(w: Any, *, forward: Any = None, backward: Any = None) -> Any:
    """A custom Function of these halves."""

    class Custom(w.autograd.Function):
        pass

    Custom.forward = staticmethod(forward or (lambda ctx, x: x.clone()))
    Custom.backward = staticmethod(backward or (lambda ctx, grad: grad))
    return Custom


def backward_of(**halves: Any) -> Any:
    return lambda w: function(w, **halves).apply(leaf(w, 2)).sum().backward()


def recursive(ctx: Any, grad: Any) -> Any:
    return recursive(ctx, grad)


def hook_that(returns: Any) -> Any:
    def call(w: Any) -> Any:
        x = leaf(w, 2)
        y = x * 2
        y.register_hook(lambda grad: returns(w, grad))
        return y.sum().backward()

    return call


def freed(w: Any) -> Any:
    x = leaf(w, 2)
    y = (x.exp() * x).sum()
    w.autograd.grad(y, x)
    return w.autograd.grad(y, x)


def second_without_graph(w: Any) -> Any:
    x = leaf(w, 2)
    (g,) = w.autograd.grad((x**3).sum(), x)
    return g.sum().backward()


def deleted_data(w: Any) -> Any:
    x = leaf(w, 2)
    y = x * x
    x.data = w.ones(3)
    return y.sum().backward()


def saved_resized(w: Any) -> Any:
    x = leaf(w, 2)
    z = x * 1.0
    y = z * z
    z.detach().resize_(0)
    z.detach().zero_()
    return y.sum().backward()


def generator_in_backward(w: Any) -> Any:
    x = leaf(w, 2)
    with w.no_grad():
        y = x * 2
    return y.sum().backward()


def checkpoint_changed(w: Any) -> Any:
    from weft.utils.checkpoint import checkpoint

    state = [0]

    def body(x: Any) -> Any:
        state[0] += 1
        return x.exp() if state[0] == 1 else x[:1].exp()

    return checkpoint(body, leaf(w, 2), use_reentrant=False).sum().backward()


ROWS = [
    hard("backward through 100,000 nodes", long_backward),
    hard("100,000 nodes freed", long_freed),
    hard("100,000 nodes in a cycle, collected", long_freed_by_collector),
    hard("a long graph kept and used twice", long_with_retained_graph),
    hard("a second derivative of a long graph", long_second_order),
    hard("10,000 writes in place", long_in_place),
    hard("10,000 views of views", long_views),
    hard("10,000 custom functions", long_custom),
    hard("10,000 uses of one leaf", wide),
    hard("long graphs dropped together", deep_loss_without_backward),
    hard("eight threads, each with its graph", threads),
    hard("four threads on one graph", threads_on_one_graph),
    bad("a graph that was freed by grad", freed, RuntimeError, "second time", "retain_graph"),
    bad("a second derivative without its graph", second_without_graph, RuntimeError, "requires_grad|require grad"),
    bad("backward of what was made under no_grad", generator_in_backward, RuntimeError, "requires_grad|require grad"),
    bad("backward of integers", lambda w: w.arange(3).sum().backward(), RuntimeError, "requires_grad|require grad"),
    bad("backward of complex numbers without a gradient",
        lambda w: (leaf(w, 1) * 1j).sum().backward(), RuntimeError, "complex|real"),
    bad("backward with a gradient of text", lambda w: leaf(w, 2).exp().backward("a"), TypeError, "gradient|str"),
    bad("backward with a gradient of complex numbers",
        lambda w: leaf(w, 2).exp().backward(w.ones(2, dtype=w.complex64)), RuntimeError, "complex"),
    bad("backward for inputs that are no tensors", lambda w: leaf(w, 2).sum().backward(inputs=[3]), TypeError,
        "inputs|Tensor|int"),
    bad("backward for no inputs", lambda w: leaf(w, 2).sum().backward(inputs=[]), RuntimeError, "inputs|empty"),
    bad("grad of nothing", lambda w: w.autograd.grad([], leaf(w, 2)), (RuntimeError), "outputs|grad|element"),
    bad("grad of a list of numbers", lambda w: w.autograd.grad([1.0], leaf(w, 2)), (TypeError), "grad|Tensor|float"),
    bad("grad for text", lambda w: w.autograd.grad(leaf(w, 2).sum(), "x"), TypeError, "grad|Tensor|str"),
    bad("grad with too many grad_outputs",
        lambda w: (lambda x: w.autograd.grad(x.sum(), x, [w.ones(()), w.ones(())]))(leaf(w, 2)), RuntimeError,
        "grad"),
    bad("a custom function that returns None", backward_of(forward=lambda ctx, x: None), AttributeError,
        "sum"),
    bad("a custom gradient that is text", backward_of(backward=lambda ctx, grad: "a"), RuntimeError,
        "Custom|backward|str"),
    bad("a custom gradient of another shape", backward_of(backward=lambda ctx, grad: grad.new_ones(7)), RuntimeError,
        "Custom", "7"),
    bad("a custom gradient that raises", backward_of(backward=lambda ctx, grad: 1 / 0), ZeroDivisionError, "division"),
    bad("a custom gradient that never returns", backward_of(backward=recursive), RecursionError, "recursion"),
    bad("a custom gradient of the wrong number", backward_of(backward=lambda ctx, grad: (grad, grad, grad)),
        RuntimeError, "Custom", "3"),
    bad("a saved tensor that is none",
        backward_of(forward=lambda ctx, x: (ctx.save_for_backward("a"), x.clone())[1],
                    backward=lambda ctx, grad: (ctx.saved_tensors, grad)[1]), TypeError, "save_for_backward"),
    bad("a custom function without forward", lambda w: type("F", (w.autograd.Function,), {}).apply(leaf(w, 2)),
        NotImplementedError, "forward"),
    bad("a custom function without backward",
        lambda w: type("F", (w.autograd.Function,), {"forward": staticmethod(lambda ctx, x: x.clone())})
        .apply(leaf(w, 2)).sum().backward(), NotImplementedError, "backward"),
    bad("a hook that returns text", hook_that(lambda w, grad: "a"), TypeError, "hook|str"),
    bad("a hook that returns another shape", hook_that(lambda w, grad: w.ones(7)), RuntimeError, "hook",
        "7|size|shape"),
    bad("a hook that raises", hook_that(lambda w, grad: 1 / 0), ZeroDivisionError, "division"),
    bad("a hook that is none", lambda w: leaf(w, 2).register_hook(3), TypeError, "hook|callable"),
    bad("a leaf whose data changed its shape", deleted_data, RuntimeError, "shape|size|match"),
    bad("a saved tensor that was written through detach", saved_resized, RuntimeError,
        "modified|in-?place|version|changed"),
    bad("a write in place to a saved result",
        lambda w: (lambda y: (y.zero_(), y.sum().backward()))(leaf(w, 2).exp()), RuntimeError, "exp", "zero_"),
    bad("no_grad of a number", lambda w: w.set_grad_enabled(None), TypeError, "set_grad_enabled|bool"),
    bad("gradcheck of integers", lambda w: w.autograd.gradcheck(lambda x: x, w.arange(3)), ValueError, "gradcheck"),
    bad("jacobian of what is no function", lambda w: w.autograd.functional.jacobian(3, w.ones(2)), TypeError,
        "jacobian|callable|int"),
    bad("hessian of what is no number", lambda w: w.autograd.functional.hessian(lambda x: x, w.ones(2)), RuntimeError,
        "hessian"),
    bad("retain_grad of a leaf without gradient", lambda w: w.ones(2).retain_grad(), RuntimeError, "retain_grad"),
    bad("a recomputed block that does something else", checkpoint_changed, RuntimeError, "checkpoint"),
    bad("an optimizer's step with a closure that raises",
        lambda w: w.optim.SGD([leaf(w, 2)], lr=0.1).step(lambda: 1 / 0), ZeroDivisionError, "division"),
    bad("an optimizer with a learning rate of text", lambda w: w.optim.SGD([leaf(w, 2)], lr="a"), TypeError,
        "learning rate|lr|str"),
    bad("an optimizer's state of another", lambda w: w.optim.SGD([leaf(w, 2)], lr=0.1).load_state_dict({}), KeyError,
        "param_groups|state"),
]  # fmt: skip

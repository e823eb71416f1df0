"""weft.library: ops of one's own."""

import importlib
import sys

import numpy
import pytest

import weft
from weft.library import custom_op
from weft.library.kernels import wrap_kernels
from weft.library.multi_tensor import multi_tensor


def sine():
    @custom_op("mylib::numpy_sin", mutates_args=())
    def numpy_sin(x: weft.Tensor, scale: float = 1.0) -> weft.Tensor:
        return weft.from_numpy(numpy.sin(x.numpy())) * scale

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.scale = inputs[1]

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x.cos() * ctx.scale, None

    numpy_sin.register_autograd(backward, setup_context=setup_context)
    return numpy_sin


def test_a_custom_op_is_called_as_its_function():
    x = weft.tensor([0.5, 1.0])
    assert weft.allclose(sine()(x, scale=2.0), 2 * x.sin())


def test_a_custom_op_is_differentiated_as_registered():
    x = weft.tensor([0.5, 1.0], requires_grad=True)
    sine()(x, 3.0).sum().backward()
    assert weft.allclose(x.grad, 3 * x.detach().cos())


def test_a_custom_op_is_mapped_as_registered():
    op = sine()
    seen = []

    @op.register_vmap
    def rule(info, in_dims, x, scale):
        seen.append(in_dims)
        return op(x, scale), in_dims[0]

    x = weft.arange(6.0).reshape(2, 3)
    assert weft.allclose(weft.func.vmap(op)(x), x.sin())
    assert seen == [(0, None)]


def test_without_a_formula_backward_says_what_is_missing():
    @custom_op("mylib::double")
    def double(x: weft.Tensor) -> weft.Tensor:
        return x * 2

    with pytest.raises(RuntimeError, match="register_autograd"):
        double(weft.ones(2, requires_grad=True)).sum().backward()


def test_writes_to_arguments_are_counted():
    @custom_op("mylib::fill_seven", mutates_args=("x",))
    def fill_seven(x: weft.Tensor) -> weft.Tensor:
        x.fill_(7)
        return x.sum()

    x = weft.zeros(2)
    fill_seven(x)
    assert x.tolist() == [7.0, 7.0]
    assert x._version > 0


def test_results_that_are_arguments_are_refused():
    @custom_op("mylib::same")
    def same(x: weft.Tensor) -> weft.Tensor:
        return x

    with pytest.raises(RuntimeError, match="alias"):
        same(weft.ones(2))


def test_kernels_are_chosen_by_device():
    @custom_op("mylib::only_there", device_types="cuda")
    def only_there(x: weft.Tensor) -> weft.Tensor:
        return x * 2

    with pytest.raises(NotImplementedError, match="no kernel for device 'cpu'"):
        only_there(weft.ones(2))
    only_there.register_kernel("cpu", lambda x: x * 3)
    assert only_there(weft.ones(2)).tolist() == [3.0, 3.0]


@pytest.mark.parametrize("name", ["sin", "a::b::c", "::sin"])
def test_names_need_a_namespace(name):
    with pytest.raises(ValueError, match="namespace::name"):
        custom_op(name, lambda x: x)


def test_wrapped_kernels_run_until_they_are_put_back():
    called = []

    def counting(name, kernel):
        def counted(*args):
            called.append(name)
            return kernel(*args)

        return counted

    undo = wrap_kernels({"core::matmul"}, counting)
    product = weft.ones(2, 2) @ weft.ones(2, 2)
    for each in undo:
        each()
    assert weft.equal(product, weft.full((2, 2), 2.0))
    assert weft.equal(weft.ones(2, 2) @ weft.ones(2, 2), product)
    assert called == ["core::matmul"]


def test_a_multi_tensor_step_writes_into_all_parameters():
    @multi_tensor
    def descend(param, grad, *, lr):
        param.add_(grad, alpha=-lr)

    params, grads = [weft.ones(2), weft.ones(20000)], [weft.ones(2), weft.ones(20000)]
    with weft.no_grad():
        descend(params, grads, lr=0.5)
    assert all(weft.equal(each, weft.full_like(each, 0.5)) for each in params)


def test_a_lazy_package_imports_a_module_when_one_of_its_names_is_asked_for(tmp_path, monkeypatch):
    package = tmp_path / "shelves"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from weft.library.packages import lazy_package\n"
        '__all__ = lazy_package(__name__, {"first": "Book", "second": "second"}, "third")\n'
    )
    (package / "first.py").write_text("class Book: pass\n")
    (package / "second.py").write_text("def second(): return 2\n")
    (package / "third.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    import shelves

    try:
        assert shelves.__all__ == ["Book", "second", "third"]
        assert {"Book", "first", "second", "third"} <= set(dir(shelves))
        assert not [name for name in sys.modules if name.startswith("shelves.")]
        assert shelves.Book.__module__ == "shelves.first"
        importlib.import_module("shelves.second")
        assert shelves.second() == 2  # the function, though Python has set the module
        assert shelves.third.__name__ == "shelves.third"
        with pytest.raises(AttributeError, match="module 'shelves' has no attribute 'fourth'"):
            _ = shelves.fourth
    finally:
        for name in [name for name in sys.modules if name.split(".")[0] == "shelves"]:
            del sys.modules[name]

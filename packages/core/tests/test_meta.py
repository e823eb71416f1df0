"""The device meta: what it says of shapes, dtypes and strides is what the CPU computes; what it cannot say, it refuses.

transformers, accelerate and diffusers build models there (`from_pretrained`, `init_empty_weights`).
"""

import copy
import io
import pickle
import subprocess
import sys

import numpy
import pytest

import weft
from weft._meta.array import MetaArray
from weft._meta.namespace import namespace as xp
from weft.testing._samples import function_of, naming_sample, sample_inputs, sample_names
from weft.testing.backend_suite import gradients, moved, tensors

# Arrays against NumPy's ----------------------------------------------------------------------------------------------

LAYOUTS = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.transpose(2, 0, 1),
    "reversed": lambda x: x.T,
    "with gaps": lambda x: x[:, ::2],
    "expanded": lambda x: numpy.broadcast_to(x[:1], (4, *x.shape[1:])),
    "with 1": lambda x: x[:, :1],
    "channels last": lambda x: x.transpose(0, 2, 1)[:, :, None],
    "empty": lambda x: x[:, :0],
    "0-d": lambda x: x[0, 0, 0, ...],
}
VIEWS = {
    "index": lambda xp, x: x[..., None, :1],
    "reshape": lambda xp, x: x.reshape(-1),
    "split": lambda xp, x: x.reshape(*x.shape[:-1], 1, x.shape[-1]),
    "merge": lambda xp, x: x.reshape(x.shape[0], -1) if x.size else x,
    "ravel": lambda xp, x: x.ravel("K"),
    "swapaxes": lambda xp, x: x.swapaxes(0, -1),
    "moveaxis": lambda xp, x: xp.moveaxis(x, 0, -1),
    "squeeze": lambda xp, x: x.squeeze(),
    "flip": lambda xp, x: xp.flip(x, 0),
    "diagonal": lambda xp, x: x.diagonal(1, 0, 1),
    "real": lambda xp, x: x.real,
    "bytes": lambda xp, x: x.view("uint8") if x.flags.c_contiguous else x,
}
FUNCTIONS = {
    "negative": lambda xp, x: xp.negative(x),
    "add": lambda xp, x: x + x,
    "add row": lambda xp, x: x + x[:1],
    "add number": lambda xp, x: 2 + x,
    "compare": lambda xp, x: x > 1,
    "divide": lambda xp, x: x / 2,
    "where": lambda xp, x: xp.where(x > 0, x, 0),
    "sum": lambda xp, x: xp.asarray(x.sum(axis=0)),
    "sum of two": lambda xp, x: xp.asarray(xp.sum(x, axis=(0, -1))),
    "sum, kept": lambda xp, x: x.sum(axis=1, keepdims=True).squeeze(1),
    "any": lambda xp, x: xp.asarray(x.any(axis=-1)),
    "mean": lambda xp, x: xp.asarray(x.mean(axis=0, dtype="float64")),
    "cumsum": lambda xp, x: xp.cumsum(x, axis=1),
    "copy": lambda xp, x: x.copy(),
    "copy in order": lambda xp, x: xp.array(x),
    "astype": lambda xp, x: x.astype("float64"),
    "empty_like": lambda xp, x: xp.empty_like(x),
    "ascontiguousarray": lambda xp, x: xp.ascontiguousarray(x),
    "concatenate": lambda xp, x: xp.ascontiguousarray(xp.concatenate([x, x], 1)),
    "stack": lambda xp, x: xp.ascontiguousarray(xp.stack([x, x], 1)),
    "take": lambda xp, x: xp.ascontiguousarray(xp.take(x, xp.asarray([0, 0, 1]), axis=0)),
    "fancy": lambda xp, x: xp.ascontiguousarray(x[xp.asarray([0, 1]), ..., xp.asarray([[0], [0]])]),
    "fancy and number": lambda xp, x: xp.ascontiguousarray(x[0, ..., xp.asarray([0, 0])]),
    "argsort": lambda xp, x: xp.ascontiguousarray(xp.argsort(x, axis=-1)),
    "argmax": lambda xp, x: xp.asarray(xp.argmax(x, axis=0)),
    "matmul": lambda xp, x: xp.matmul(x, x.swapaxes(-1, -2)),
    "repeat": lambda xp, x: xp.ascontiguousarray(xp.repeat(x, 2, axis=0)),
    "diff": lambda xp, x: xp.diff(x, axis=0),
    "tril": lambda xp, x: xp.tril(x),
    "clip": lambda xp, x: xp.clip(x, 0, 1),
    "fft": lambda xp, x: xp.fft.fftn(x, axes=(0,)),
}
ONLY_WITH_DIMENSIONS = ("argmax", "repeat", "tril")
CASES = [
    (name, layout)
    for name in [*VIEWS, *FUNCTIONS]
    for layout in LAYOUTS
    if layout != "0-d" or name not in ONLY_WITH_DIMENSIONS
]


def described(array):
    """Shape, dtype, and the strides that mean something."""
    strides = [s for s, n in zip(array.strides, array.shape) if n > 1] if array.size else []
    return tuple(array.shape), array.dtype, strides


def without_memory(array):
    """An array of the same geometry on the meta device."""
    low, high = numpy.lib.array_utils.byte_bounds(array) if array.size else (0, 0)
    base = MetaArray((high - low,), numpy.dtype("uint8"))
    return base._view(array.shape, array.strides, 0, array.dtype)


@pytest.mark.parametrize("dtype", ["float32", "int8", "complex64", "bool"])
@pytest.mark.parametrize(("name", "layout"), CASES)
def test_a_rule_says_what_numpy_does(name, layout, dtype):
    function = {**VIEWS, **FUNCTIONS}[name]
    array = LAYOUTS[layout](numpy.ones((3, 4, 5), dtype))
    try:
        expected = function(numpy, array)
    except Exception as error:
        with pytest.raises((ValueError, TypeError, IndexError)):
            function(xp, without_memory(array))
        assert isinstance(error, (ValueError, TypeError, IndexError))
        return
    found = function(xp, without_memory(array))
    assert isinstance(found, MetaArray)
    assert described(found) == described(expected)


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("ij,jk", [(2, 3), (3, 4)]),
        ("ij,jk->ki", [(2, 3), (3, 4)]),
        ("...ij,...jk", [(5, 1, 2, 3), (6, 3, 4)]),
        ("i...j,jk->k...i", [(2, 7, 3), (3, 4)]),
        ("ii->i", [(3, 3)]),
        ("ab,c->", [(2, 3), (4,)]),
    ],
)
def test_einsum_has_the_shape_of_numpys(subscripts, shapes):
    arrays = [numpy.ones(shape) for shape in shapes]
    found = xp.einsum(subscripts, *[without_memory(each) for each in arrays])
    assert found.shape == numpy.einsum(subscripts, *arrays).shape


def test_no_function_of_numpy_gets_at_memory_that_is_not_there():
    array = MetaArray((2, 3), numpy.dtype("float32"))
    for read in (numpy.asarray, numpy.array, bool, float, list, numpy.nonzero, numpy.unique, numpy.savetxt):
        with pytest.raises((NotImplementedError, TypeError)):
            read(array) if read is not list else read(array.sum())


# Ops against the CPU's -----------------------------------------------------------------------------------------------

# The number of results depends on values: PyTorch refuses these, too.
REFUSED = {"argwhere", "bincount", "masked_select", "nonzero", "unique", "unique_consecutive"}

# Of these the CPU's results are in order, whatever their operands; PyTorch's, and those here, keep the operands' order.
IN_ORDER = {
    "core::ceil", "core::floor", "core::isreal", "core::log1p", "core::logaddexp", "core::sgn", "core::sign",
    "core::trunc", "core::zeta",
}  # fmt: skip
TRIED = [name for name in sample_names() if "." not in name]  # portions try their functions in their own tests
NUMBERS = {"core::addcmul", "core::addcdiv"}  # their derived samples have tensors for numbers, which have to be read


def told(value):
    """What the meta device says of a result."""
    return [
        (
            tuple(each.shape),
            each.dtype,
            each.requires_grad,
            [s for s, n in zip(each.stride(), each.shape) if n > 1] if each.numel() else [],
        )
        for each in tensors(value)
    ]


@pytest.mark.parametrize("name", [name for name in TRIED if name not in NUMBERS])
@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "complex64", "bfloat16"])
def test_an_op_has_the_shape_dtype_and_strides_of_its_result(name, dtype):
    for args, kwargs in sample_inputs(name, getattr(weft, dtype)):
        with naming_sample(name, getattr(weft, dtype), args, kwargs):
            agrees(function_of(name), args, kwargs, name in REFUSED, name in IN_ORDER)


def agrees(function, args, kwargs, refused, in_order):
    """One sample gives on the meta device what it gives on the CPU."""
    try:
        here = function(*moved(args, "cpu"), **moved(kwargs, "cpu"))
    except Exception:
        return
    there_args, there_kwargs = moved(args, "meta"), moved(kwargs, "meta")
    try:
        there = function(*there_args, **there_kwargs)
    except NotImplementedError:
        assert refused, "it was refused"
        return
    except RuntimeError as error:
        assert refused and "meta" in str(error)
        return
    if in_order:
        here = [each.contiguous() for each in tensors(here)]
        there = [each.contiguous() for each in tensors(there)]
    assert told(there) == told(here)
    assert all(each.is_meta for each in tensors(there))


@pytest.mark.parametrize("name", TRIED)
def test_gradients_have_the_shape_and_dtype_of_the_cpus(name):
    for args, kwargs in sample_inputs(name, weft.float32):
        with naming_sample(name, weft.float32, args, kwargs):
            try:
                here = gradients(function_of(name), *moved((args, kwargs), "cpu", requires_grad=True))
            except Exception:
                continue
            if name in REFUSED | NUMBERS:
                continue
            there = gradients(function_of(name), *moved((args, kwargs), "meta", requires_grad=True))
            assert [each and each[:2] for each in told(there)] == [each and each[:2] for each in told(here)]


# What programs do ----------------------------------------------------------------------------------------------------


@pytest.fixture
def x():
    return weft.empty(2, 3, device="meta")


def test_import_does_not_bring_the_room_of_meta():
    code = "import weft, sys; weft.ones(2) + 1; print([name for name in sys.modules if 'weft._meta' in name])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_factories_make_meta_tensors():
    with weft.device("meta"):
        made = [weft.empty(2), weft.ones(2), weft.arange(2), weft.randn(2), weft.tensor([1, 2]), weft.eye(2)]
    made += [weft.zeros(2, device="meta"), weft.empty_like(weft.ones(2), device="meta"), weft.ones(2).to("meta")]
    weft.set_default_device("meta")
    try:
        made.append(weft.full((2,), 3))
    finally:
        weft.set_default_device(None)
    assert all(each.is_meta and len(each) == 2 for each in made)
    assert not weft.ones(2).is_meta


def test_the_device_has_no_index(x):
    assert x.device == weft.device("meta") == weft.empty(1, device="meta:1").device
    assert x.get_device() == -1


def test_repr_has_the_shape(x):
    assert repr(x) == "tensor(..., device='meta', size=(2, 3))"
    assert repr(x.long()[0]) == "tensor(..., device='meta', size=(3,), dtype=weft.int64)"
    assert repr(x.requires_grad_() + 1) == "tensor(..., device='meta', size=(2, 3), grad_fn=<AddBackward0>)"


@pytest.mark.parametrize("read", [float, int, bool, lambda x: x.item(), lambda x: 1 in x])
def test_numbers_cannot_be_read(read):
    with pytest.raises(RuntimeError, match=r"Tensor\.item\(\) cannot be called on meta tensors"):
        read(weft.empty(1, device="meta"))


@pytest.mark.parametrize(
    "copy_out",
    [
        lambda x: x.cpu(),
        lambda x: x.to("cpu", weft.float64),
        lambda x: x.tolist(),
        lambda x: weft.ones(2, 3).copy_(x),
        lambda x: weft.ones(2, 3).set_(x.untyped_storage().cpu()),
    ],
)
def test_nothing_is_copied_out(x, copy_out):
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
        copy_out(x)


def test_numpy_is_refused(x):
    with pytest.raises(TypeError, match="can't convert meta device type tensor to numpy"):
        x.numpy()


def test_devices_do_not_mix(x):
    assert (x + weft.tensor(1.0)).is_meta
    assert x[weft.tensor([0, 1])].is_meta
    with pytest.raises(RuntimeError, match="same device"):
        x + weft.ones(2, 3)


def test_copies_into_it_only_check_shapes(x):
    assert x.copy_(weft.ones(3)) is x
    with pytest.raises(RuntimeError):
        x.copy_(weft.ones(4))
    x[0], x[:, 1:], x[x > 0] = 1.0, weft.ones(2, 2), weft.ones(5)
    assert x._version > 0
    with pytest.raises(RuntimeError, match="size"):
        x[0] = weft.ones(4, device="meta")


def test_views_share_a_storage(x):
    view = x.t()[1:]
    assert view._base is x
    assert (view.stride(), view.storage_offset()) == ((1, 3), 1)
    assert view.untyped_storage() == x.untyped_storage() != weft.empty(2, 3, device="meta").untyped_storage()
    assert x.data_ptr() == x.untyped_storage().data_ptr() == 0
    assert x.untyped_storage().nbytes() == 24
    with pytest.raises(RuntimeError):
        x.t().view(-1)
    assert x.as_strided((2, 2), (1, 2), 1).stride() == (1, 2)


def test_backward_gives_meta_gradients():
    x = weft.empty(4, 3, device="meta", requires_grad=True)
    w = weft.empty(5, 3, device="meta", requires_grad=True)
    ((x @ w.T).relu() ** 2).mean().backward()
    assert (x.grad.is_meta, x.grad.shape, w.grad.shape) == (True, x.shape, w.shape)
    written = x * 1
    written[:2].mul_(2)
    (grad,) = weft.autograd.grad(written.sum(), x)
    assert grad.is_meta


def test_out_is_checked_and_resized(x):
    out = weft.empty(0, device="meta")
    assert weft.add(x, x, out=out) is out
    assert out.shape == x.shape


def test_random_functions_draw_nothing():
    weft.manual_seed(0)
    expected = weft.rand(3)
    weft.manual_seed(0)
    with weft.device("meta"):
        weft.rand(5), weft.randperm(5), weft.empty(3).normal_(), weft.multinomial(weft.rand(3), 2)
        weft.rand(2, generator=weft.Generator(device="cpu"))
    assert weft.equal(weft.rand(3), expected)


def test_copies_and_files_keep_what_it_is():
    x = weft.empty(2, 3, device="meta").t().requires_grad_()
    file = io.BytesIO()
    weft.save({"x": x}, file)
    file.seek(0)
    for other in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), weft.load(file)["x"]):
        assert (other.is_meta, other.shape, other.stride(), other.requires_grad) == (True, (3, 2), (1, 3), True)


def test_files_load_onto_it():
    file = io.BytesIO()
    weft.save(weft.ones(2, 3), file)
    file.seek(0)
    assert weft.load(file, map_location="meta").is_meta


@pytest.mark.parametrize(
    "function",
    [
        weft.nonzero,
        weft.unique,
        weft.unique_consecutive,
        lambda x: x[x > 0],
        lambda x: x.masked_select(x > 0),
        lambda x: weft.bincount(x.long()[0]),
        lambda x: weft.equal(x, x),
        lambda x: weft.repeat_interleave(x.long()[0]),
    ],
)
def test_what_depends_on_values_is_refused(x, function):
    with pytest.raises(RuntimeError, match="meta"):
        function(x)


def test_an_op_of_a_third_party_declares_a_meta_kernel():
    from weft.library.declare import op

    @op(namespace="sparkle", name="above")
    def above(input):
        return above.op(input)

    @above.kernel
    def _(xp, input):
        return input.copy() if xp.any(input > 0) else xp.zeros_like(input)

    with pytest.raises(NotImplementedError, match="values"):
        above(weft.empty(2, device="meta"))

    @above.meta
    def _(xp, input):
        return xp.empty(input.shape, input.dtype)

    weft.backend.invalidate_kernels()
    assert above(weft.empty(2, device="meta")).shape == (2,)

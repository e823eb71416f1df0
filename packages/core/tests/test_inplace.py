"""Writing in place: into results, views, bases; what autograd makes of it, and what it refuses."""

import numpy
import pytest

import weft
from weft.autograd import gradcheck, gradgradcheck
from weft.ops.views import set_basic


def leaf(*values):
    return weft.tensor(values or (1.0, 1.0), requires_grad=True)


def sums(x, *parts):
    (sum(part.sum() for part in parts)).backward()
    return x.grad.tolist()


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.add_(1),
        lambda x: x[0].add_(1),
        lambda x: x.view(2).add_(1),
        lambda x: x.__setitem__(0, 1),
        lambda x: x.__iadd__(1),
        lambda x: x.zero_(),
        lambda x: x.copy_(weft.zeros(2)),
    ],
)
def test_a_leaf_that_requires_grad_is_written_to_only_without_recording(write):
    x = leaf()
    with pytest.raises(RuntimeError, match="leaf"):
        write(x)
    assert x.tolist() == [1, 1]
    with weft.no_grad():
        write(x)
    assert x.requires_grad
    assert x.is_leaf


def test_a_view_that_requires_grad_by_itself_is_a_leaf():
    view = weft.ones(4)[:2].requires_grad_()
    assert view.is_leaf
    with pytest.raises(RuntimeError, match="leaf"):
        view.add_(1)


WRITES = {
    "arithmetic": lambda y, x: y.add_(1).mul_(x).sub_(x * 2).div_(3),
    "power": lambda y, x: y.pow_(2),
    "functions": lambda y, x: y.exp_().tanh_().sigmoid_(),
    "itself": lambda y, x: y.mul_(y.clone()).add_(y.clone()),
    "zero": lambda y, x: y.zero_(),
    "fill": lambda y, x: y.fill_(x[0, 0]),
    "copy": lambda y, x: y.copy_(x[0] * 2),
    "clamp": lambda y, x: y.clamp_(-0.2, 0.2),
    "element": lambda y, x: y.__setitem__((0, 1), x[1, 1] * 3),
    "row": lambda y, x: y.__setitem__(0, y[1].clone() * 2),
    "slice": lambda y, x: y.__setitem__((slice(None), slice(0, 3, 2)), x[:, :1]),
    "mask": lambda y, x: y.__setitem__(x > 0, x.sum()),
    "indices": lambda y, x: y.__setitem__((weft.tensor([0, 1]), weft.tensor([2, 0])), x[0, :2]),
    "index": lambda y, x: y.__setitem__(weft.tensor([1]), 5.0),
    "masked_fill": lambda y, x: y.masked_fill_(x > 0, 2.0),
    "index_add": lambda y, x: y.index_add_(0, weft.tensor([1, 1]), x),
    "scatter": lambda y, x: y.scatter_(1, weft.tensor([[0], [2]]), x[:, :1] * 2),
    "view": lambda y, x: y[1].mul_(x[0]),
    "view of a view": lambda y, x: y.t()[1:].narrow(1, 0, 1).mul_(3),
    "reshaped": lambda y, x: y.view(3, 2)[1].exp_(),
    "diagonal": lambda y, x: y.diagonal().mul_(x[0, 0]),
    "two views": lambda y, x: (y[0].mul_(2), y[:, 0].add_(x[1, 2]), y.t()[2].pow_(2)),
    "expanded from": lambda y, x: y.add_(x[:1].expand(2, 3)),
    "real part": lambda y, x: weft.view_as_real(weft.complex(y, x))[..., 0].mul_(2),
}


@pytest.mark.parametrize("write", list(WRITES.values()), ids=list(WRITES))
def test_gradients_after_a_write_agree_with_differences_twice(write):
    weft.manual_seed(0)

    def function(x):
        y = x * 1.5
        write(y, x)
        return (y * weft.arange(6.0).view(2, 3)).sum(), y[0], y.t()

    x = (weft.rand(2, 3, dtype=weft.float64) - 0.5).requires_grad_()
    assert gradcheck(function, x)
    assert gradgradcheck(function, x)


@pytest.mark.parametrize("write", list(WRITES.values()), ids=list(WRITES))
def test_a_write_has_the_same_values_with_and_without_recording(write):
    weft.manual_seed(0)
    x = weft.rand(2, 3) - 0.5
    plain, recorded = x * 1.5, x.clone().requires_grad_() * 1.5
    write(plain, x)
    write(recorded, x.clone().requires_grad_())
    assert plain.tolist() == recorded.tolist()


def test_a_write_changes_the_tensor_and_every_view_of_it():
    base = weft.zeros(2, 3)
    row, column = base[0], base[:, 1]
    row.add_(1)
    column.mul_(5)
    base.t()[2].sub_(1)
    assert base.tolist() == [[1, 5, 0], [0, 0, -1]]
    assert row.tolist() == [1, 5, 0]
    assert column.tolist() == [5, 0]


def test_the_result_of_a_write_is_the_tensor_itself():
    x = leaf()
    y = x * 1
    z = y
    y += 1
    y *= 2
    y -= x
    y /= 2
    assert z is y
    assert y.add_(1) is y
    assert y.tolist() == [2.5, 2.5]


def test_a_view_of_a_base_that_was_written_to_has_its_new_history():
    x = leaf(1.0, 2.0, 3.0)
    base = x * 1
    view = base[1:]
    base.mul_(2)
    assert sums(x, view * weft.tensor([1.0, 10.0])) == [0, 2, 20]


def test_a_constant_that_a_recorded_value_is_written_into_gets_a_history_and_so_do_its_views():
    x = leaf(2.0, 3.0)
    base = weft.zeros(4)
    before, written = base[2:], base[1:3]
    written.copy_(x)
    assert base.requires_grad
    assert before.requires_grad
    assert written.requires_grad
    assert not base.is_leaf
    assert sums(x, before * weft.tensor([5.0, 7.0])) == [0, 5]
    buffer = weft.zeros(3)
    for i in range(2):
        buffer[i] = x[i] * (i + 1)
    x.grad = None
    assert sums(x, buffer) == [1, 2]


def test_in_place_writes_to_one_of_several_views_are_refused_where_recorded():
    x = weft.ones(2, 2, requires_grad=True)
    base = x * 1
    for views in (base.unbind(0), base.split(1), base.chunk(2)):
        with pytest.raises(RuntimeError, match="multiple views"):
            views[0].add_(1)
    with weft.no_grad():
        base.unbind(0)[0].add_(1)
    assert base.tolist() == [[2, 2], [1, 1]]
    constant = weft.ones(2, 2).unbind(0)
    constant[0].add_(1)
    with pytest.raises(RuntimeError, match="multiple views"):
        constant[0].add_(leaf())


def test_a_view_that_was_made_without_recording_is_not_written_to_with_it():
    base = leaf() * 1
    with weft.no_grad():
        view = base[0]
    with pytest.raises(RuntimeError, match="no_grad"):
        view.add_(1)


def test_memory_that_elements_share_is_written_to_only_by_filling_it():
    x = weft.ones(2, 1).expand(2, 3)
    for write in (lambda: x.add_(1), lambda: x.copy_(weft.ones(2, 3)), lambda: x.__setitem__(0, weft.ones(3))):
        with pytest.raises(RuntimeError, match="clone"):
            write()
    assert x.fill_(3).tolist() == [[3] * 3] * 2
    assert x.zero_().tolist() == [[0] * 3] * 2
    assert weft.ones(2, 1).expand(2, 1).add_(1).tolist() == [[2], [2]]


@pytest.mark.parametrize(
    ("target", "write", "says"),
    [
        (weft.ones(3), lambda t: t.add_(weft.ones(2, 3)), r"\[2, 3\]"),
        (weft.ones(3, dtype=weft.int64), lambda t: t.add_(1.5), "(?i)long|int64"),
        (weft.ones(3, dtype=weft.int64), lambda t: t.mul_(weft.ones(3)), "(?i)long|int64"),
        (weft.ones(3, dtype=weft.int64), lambda t: t.div_(2), "(?i)long|int64"),
        (weft.ones(3, dtype=weft.bool), lambda t: t.add_(1), "(?i)bool"),
        (weft.ones(3), lambda t: t.mul_(1j), "(?i)float"),
    ],
)
def test_a_write_neither_enlarges_nor_changes_the_category(target, write, says):
    before = target.tolist()
    with pytest.raises(RuntimeError, match=says):
        write(target)
    assert target.tolist() == before


def test_a_write_may_lose_precision_but_not_category():
    assert weft.ones(2).add_(weft.ones(2, dtype=weft.float64)).dtype is weft.float32
    assert weft.ones(2, dtype=weft.uint8).add_(weft.ones(2, dtype=weft.int64)).dtype is weft.uint8


CHANGED = {
    "an input": (lambda y: y * y, lambda y, z: y.add_(1), "MulBackward0.*add_"),
    "an output": (lambda y: y.exp(), lambda y, z: z.add_(1), "ExpBackward0.*add_"),
    "through a view": (lambda y: y * y, lambda y, z: y[0].zero_(), "MulBackward0.*zero_"),
    "a view, through its base": (lambda y: y[:1] * y[:1], lambda y, z: y.__setitem__(1, 5), "MulBackward0"),
    "without recording": (lambda y: y * y, lambda y, z: y.detach().copy_(z), "MulBackward0.*copy_"),
    "by out=": (lambda y: y * y, lambda y, z: weft.add(z.detach(), 1, out=y.detach()), "MulBackward0.*add"),
}


@pytest.mark.parametrize(("compute", "change", "says"), list(CHANGED.values()), ids=list(CHANGED))
def test_a_saved_tensor_that_was_changed_names_who_saved_and_who_changed_it(compute, change, says):
    y = leaf() * 2
    z = compute(y)
    change(y, z)
    with pytest.raises(RuntimeError, match=f"(?s){says}") as error:
        z.sum().backward()
    assert "modified by an inplace operation" in str(error.value)


def test_a_tensor_that_was_not_saved_may_change():
    x = leaf()
    y = x * 2
    z = y + 1
    y.add_(1)
    assert sums(x, z) == [2, 2]


def test_views_in_place_change_the_geometry_and_keep_the_history():
    x = weft.ones(2, 3, requires_grad=True)
    y = x * 1
    assert y.t_() is y
    y.unsqueeze_(0).squeeze_(0).transpose_(0, 1).swapdims_(0, 1)
    assert y.shape == (3, 2)
    (y * weft.arange(6.0).view(3, 2)).sum().backward()
    assert x.grad.tolist() == [[0, 2, 4], [1, 3, 5]]
    base = weft.zeros(2, 3)
    view = base[:, :2]
    view.t_()
    view.copy_(weft.tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert base.tolist() == [[1, 3, 0], [2, 4, 0]]


# Operands in the memory that is written to


def square():
    return weft.arange(9.0).reshape(3, 3).clone()


PARTLY_SHARED = [
    "x.add_(x.t())",
    "x.t().mul_(x)",
    "x[1:].add_(x[:-1])",
    "x[1:].copy_(x[:-1])",
    "x[1:] = x[:-1]",
    "x[1:] += x[:-1]",
    "x += x[0]",
    "x.add_(x[0, 0])",
    "x.copy_(x[0])",
    "x.view(-1)[1:].sub_(x.view(-1)[:-1])",
    "x.addcmul_(x.t(), x)",
    "x.lerp_(x.t(), 0.5)",
    "x.clamp_(x.t())",
    "x.atan2_(x.t())",
    "weft.add(x, x.t(), out=x)",
    "weft.exp(x.t(), out=x)",
    "weft.clamp(x.t(), 0, 1, out=x)",
    "weft.lerp(x, x.t(), 0.5, out=x)",
    "weft.addcmul(x, x.t(), x, out=x)",
]
SHARED_WHERE_POSITIONS_ARE_READ = [
    "x.scatter_(0, weft.zeros(3, 3, dtype=weft.int64), x)",
    "x.scatter_add_(0, weft.zeros(3, 3, dtype=weft.int64), x)",
    "x.scatter_reduce_(0, weft.zeros(3, 3, dtype=weft.int64), x, 'sum')",
    "x.index_add_(0, weft.arange(3), x)",
    "x.index_copy_(0, weft.arange(3), x)",
    "x.index_reduce_(0, weft.arange(3), x, 'prod')",
    "x.index_put_((weft.arange(3),), x)",
    "x.put_(weft.arange(9), x)",
    "x[[0, 1]] = x[:2]",
    "x[[0]] = x[1]",
    "x[x > 3] = x[0]",
    "x.addr_(x[0], x[0])",
]


@pytest.mark.parametrize("write", PARTLY_SHARED + SHARED_WHERE_POSITIONS_ARE_READ)
@pytest.mark.parametrize("large", [False, True])
def test_operands_that_overlap_what_is_written_are_refused_and_nothing_is_written(write, large):
    side = 128 if large else 3  # so many that kernels of a backend may do it
    x = weft.arange(float(side * side)).reshape(side, side).clone()
    before = x.tolist()
    with pytest.raises(RuntimeError, match="single memory location"):
        exec(write, {"x": x, "weft": weft})
    assert x.tolist() == before


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        ("x.add_(x)", lambda x: x + x),
        ("x.mul_(x.view(3, 3))", lambda x: x * x),
        ("x.view(3, 3).mul_(x)", lambda x: x * x),
        ("x.t().add_(x.t())", lambda x: x + x),
        ("x.copy_(x)", lambda x: x),
        ("x[...] = x", lambda x: x),
        ("x[0] += x[1]", lambda x: numpy.stack([x[0] + x[1], x[1], x[2]])),
        ("x[:, 0].add_(x[:, 1])", lambda x: numpy.stack([x[:, 0] + x[:, 1], x[:, 1], x[:, 2]], 1)),
        ("x.addcmul_(x, x)", lambda x: x + x * x),
        ("weft.add(x, x, out=x)", lambda x: x + x),
    ],
)
def test_the_tensor_itself_and_parts_beside_it_are_operands_as_any(write, expected):
    x = square()
    wanted = expected(x.numpy().copy())
    exec(write, {"x": x, "weft": weft})
    assert x.tolist() == wanted.tolist()


def test_copies_have_no_more_dimensions_than_their_target():
    x = weft.zeros(3)
    with pytest.raises(RuntimeError, match="broadcast shape"):
        x.copy_(weft.ones(1, 3))
    x[:] = weft.ones(1, 3)  # an assignment leaves leading ones out
    assert x.tolist() == [1, 1, 1]


DTYPES = ["bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))]
DTYPES += ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"]
OTHERWISE = frozenset(  # that give the tensor other geometry or history, or draw numbers
    "requires_grad_ resize_ resize_as_ resize_as_sparse_ sparse_resize_ sparse_resize_and_clear_ set_ detach_ "
    "squeeze_ unsqueeze_ t_ transpose_ swapaxes_ swapdims_ as_strided_ share_memory_ rename_ retain_grad_ apply_ map_ "
    "map2_ masked_scatter_ normal_ uniform_ random_ bernoulli_ cauchy_ exponential_ geometric_ log_normal_".split()
)
WRITING = sorted(name for name in dir(weft.Tensor) if name[-1] == "_" and name[0] != "_" and name not in OTHERWISE) + [
    f"__i{name}__" for name in "add sub mul truediv floordiv mod pow and or xor lshift rshift".split()
]
ELEMENTS = 37  # more than the vectors of any loop of NumPy's, and no multiple of them


def spread(values, distance):
    """The values with so many elements from each to the next; what lies between them has none of them."""
    base = weft.full((len(values), distance), 1, dtype=values.dtype)
    base[:, 0] = values
    return base


@pytest.mark.parametrize("dtype", DTYPES)
def test_writes_at_any_distance_between_elements_are_those_to_contiguous_ones(dtype):
    """NumPy's own loops overwrite what they have yet to read at some distances, or write what they read elsewhere.

    What they give of contiguous arrays, which no such loop runs on, is the reference.
    """
    weft.manual_seed(0)
    x, y = (weft.rand(ELEMENTS).mul_(5).add_(1).to(getattr(weft, dtype)) for _ in range(2))
    ran = 0
    for name in WRITING:
        write = getattr(weft.Tensor, name)
        for args in ((), (y,), (2,), (2, 3), (y, y)):
            expected = x.clone()
            try:
                write(expected, *args)
            except (RuntimeError, NotImplementedError, TypeError, IndexError, ValueError):  # takes no such arguments
                continue
            for distance in range(2, 33):
                base = spread(x, distance)
                write(base[:, 0], *args)
                assert_same(base[:, 0], expected, (name, distance))
                assert (base[:, 1:] == 1).all(), (name, distance)
            ran += 1
            break
    assert ran > 30


def assert_same(found, expected, what):
    """Equal, but for the last digits: vector loops round `exp` and its like otherwise than those of one element."""
    half = expected.dtype in (weft.float16, weft.bfloat16)
    close = numpy.isclose(
        *(each.to(weft.complex128).numpy() for each in (found, expected)), rtol=1e-2 if half else 1e-5, equal_nan=True
    )
    assert close.all() and found.dtype is expected.dtype, what


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", "neg abs square sqrt reciprocal isfinite sign floor bitwise_not logical_not".split())
def test_results_are_written_at_any_distance_to_what_the_caller_gives(name, dtype):
    """`numpy.negative` and `numpy.isfinite` write wrong results at some distances, also from one array to another."""
    x = weft.arange(1, ELEMENTS + 1).to(getattr(weft, dtype))
    function = getattr(weft, name)
    try:
        expected = function(x)
    except (RuntimeError, NotImplementedError):
        return  # not of this dtype
    for distance in range(1, 33):
        base, out = spread(x, distance), weft.zeros(ELEMENTS, distance, dtype=expected.dtype)
        assert_same(function(base[:, 0]), expected, distance)
        if name != "isfinite":  # it has no out, as in PyTorch
            function(base[:, 0], out=out[:, 0])
            assert_same(out[:, 0], expected, distance)
            assert not out[:, 1:].any(), distance
        if expected.dtype is x.dtype:
            weft._foreach_copy_([base[:, 0]], [function(base[:, 0])])
            assert_same(base[:, 0], expected, distance)


GEOMETRY = {
    "unsqueeze_": lambda t: t.unsqueeze_(0),
    "squeeze_": lambda t: t.squeeze_(),
    "t_": lambda t: t.t_(),
    "transpose_": lambda t: t.transpose_(0, -1),
    "swapaxes_": lambda t: t.swapaxes_(0, 1),
    "as_strided_": lambda t: t.as_strided_((2,), (1,)),
}


@pytest.mark.parametrize("change", GEOMETRY.values(), ids=GEOMETRY)
@pytest.mark.parametrize("recorded", [True, False], ids=["recorded", "no_grad"])
def test_a_view_of_repeated_elements_may_change_its_geometry_and_keeps_its_history(change, recorded):
    x = weft.ones(3, 1, requires_grad=True)
    view = (x * 2).expand(3, 4)
    with weft.set_grad_enabled(recorded):
        change(view)
    assert view.grad_fn is not None
    (found,) = weft.autograd.grad(view.sum(), x)
    assert found.sum().item() == 2 * view.numel()


SEVERAL = {
    "unbind": lambda t: t.unbind()[1],
    "iteration": lambda t: list(t)[1],
    "split": lambda t: t.split(1)[1],
    "split_with_sizes": lambda t: t.split_with_sizes([1, 2])[1],
    "chunk": lambda t: t.chunk(2)[0],
    "part of one": lambda t: t.unbind()[1][1:],
    "one of a part": lambda t: t[1:].unbind()[0],
}


@pytest.mark.parametrize("take", SEVERAL.values(), ids=SEVERAL)
def test_one_of_several_views_is_not_written_to_where_that_is_recorded(take):
    base = weft.ones(3, 4, requires_grad=True) * 1
    view = take(base)
    for write in (lambda: view.add_(1), lambda: view.unsqueeze_(0), lambda: view.__setitem__(0, 5.0)):
        with pytest.raises(RuntimeError, match="view"):
            write()
    plain = take(weft.ones(3, 4))
    with pytest.raises(RuntimeError, match="multiple views"):
        plain.copy_(weft.ones(plain.shape, requires_grad=True))
    assert plain.add_(1).sum() == 2 * plain.numel()
    with weft.no_grad():
        view.add_(1)
    with pytest.raises(RuntimeError, match="multiple views"):
        view * 1


@pytest.mark.parametrize("name", ["tensor_split", "hsplit", "vsplit"])
def test_pieces_that_are_slices_may_be_written_to(name):
    x = weft.ones(4, 4, requires_grad=True)
    base = x * 1
    getattr(base, name)(2)[1].mul_(3)
    base.sum().backward()
    assert x.grad.sum() == 8 + 3 * 8


def test_pieces_of_unsafe_split_are_no_views():
    x = weft.ones(4, requires_grad=True)
    first, second = (x * 2).unsafe_split(2)
    assert first._base is None
    first.mul_(3)
    (first + second).sum().backward()
    assert x.grad.tolist() == [6, 6, 2, 2]
    assert first.detach_().grad_fn is None


def test_a_view_that_was_not_recorded_is_not_written_to_where_that_is_recorded():
    base = weft.ones(3, requires_grad=True) * 1
    with weft.no_grad():
        view = base[1:]
    for each in (view, view[1:]):
        with pytest.raises(RuntimeError, match="created in no_grad mode"):
            each.add_(1)
    with weft.inference_mode():
        inside = base[1:]
    with pytest.raises(RuntimeError, match="created in inference mode"):
        inside.add_(1)


@pytest.mark.parametrize(
    "make", [lambda: weft.arange(12.0).reshape(3, 4), lambda: weft.ones(3, 4)], ids=["view", "own"]
)
def test_a_leaf_is_not_written_to_through_views_whether_or_not_it_is_one_itself(make):
    x = make().requires_grad_()
    for write in (lambda: x[0].add_(1), lambda: x.__setitem__(0, 5.0), lambda: x.t().relu_(), lambda: x[1:].zero_()):
        with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
            write()
    with pytest.raises(RuntimeError, match="leaf Variable"):
        x.add_(1)
    assert x.is_leaf


def test_a_view_from_before_its_base_required_grad_is_not_written_to_either():
    base = weft.ones(2, 3)
    view = base[:1]
    base.requires_grad_()
    assert view.requires_grad
    with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
        view.add_(1)


def test_other_memory_is_not_set_under_a_recorded_view():
    view = (weft.ones(3, requires_grad=True) * 1)[1:]
    with pytest.raises(RuntimeError, match="derivative for set_ is not implemented"):
        view.set_(weft.ones(2))


def test_integers_have_no_history_after_a_copy_of_what_has():
    x, y = weft.zeros(2, dtype=weft.int64), weft.ones(2, requires_grad=True)
    for write in (lambda: x.copy_(y * 2), lambda: x.__setitem__(..., y), lambda: x.__setitem__(0, y[0])):
        write()
        assert not x.requires_grad and x.grad_fn is None


def test_rows_of_a_tensor_are_assigned_to_all_of_it():
    x = square()
    x[:] = x[1]
    assert x.tolist() == [[3, 4, 5]] * 3


def test_imaginary_numbers_are_true():
    x, y = weft.zeros(2, dtype=weft.bool), weft.tensor([1j, 0])
    assert x.copy_(y).tolist() == [True, False] == y.to(weft.bool).tolist()
    x[...] = y.flip(0)
    assert x.tolist() == [False, True]


@pytest.mark.parametrize("shape", [(6,), (3, 4)])
def test_writes_of_chosen_elements_of_expanded_tensors_warn_and_reach_all_that_share_memory(shape):
    def expanded():
        return weft.zeros(1).expand(shape) if len(shape) == 1 else weft.zeros(3, 1).expand(shape)

    index = weft.tensor([0])
    mask = weft.zeros(shape, dtype=weft.bool)
    mask[0] = True
    writes = [
        lambda x: x.index_fill_(0, index, 1.0),
        lambda x: x.masked_fill_(mask, 1.0),
    ]
    weft.set_warn_always(True)
    try:
        for write in writes:
            x = expanded()
            with pytest.warns(UserWarning, match="expanded tensors"):
                write(x)
            wanted = weft.ones(shape) if len(shape) == 1 else weft.tensor([[1.0], [0.0], [0.0]]).expand(shape)
            assert x.tolist() == wanted.tolist()
    finally:
        weft.set_warn_always(False)


def test_values_put_at_positions_of_an_expanded_tensor_are_refused():
    x, index = weft.zeros(1).expand(6), weft.tensor([0, 1])
    for write in (
        lambda: x.index_put_((index,), weft.tensor([1.0, 2.0])),
        lambda: x.__setitem__(index, weft.tensor([1.0, 2.0])),
    ):
        with pytest.raises(RuntimeError, match="single memory location"):
            write()
    assert x.tolist() == [0.0] * 6


def test_a_recorded_write_of_chosen_elements_of_an_expanded_tensor_is_refused():
    x = weft.zeros(3, 1, requires_grad=True).clone().expand(3, 4)
    with pytest.raises(RuntimeError, match="single memory location"):
        x.masked_fill_(x == 0, 1.0)


WRITES_AT_POSITIONS = {
    "mask": lambda v: v.__setitem__(weft.tensor([False, True, False, False]), 9),
    "index": lambda v: v.__setitem__(weft.tensor([1]), 9),
    "index_put_": lambda v: v.index_put_((weft.tensor([1]),), weft.tensor(9.0)),
    "masked_fill_": lambda v: v.masked_fill_(weft.tensor([False, True, False, False])[:, None], 9),
    "index_fill_": lambda v: v.index_fill_(0, weft.tensor([1]), 9),
    "index_copy_": lambda v: v.index_copy_(0, weft.tensor([1]), weft.full((1, 2), 9.0)),
    "scatter_": lambda v: v.scatter_(0, weft.tensor([[1, 1]]), 9.0),
    "masked_scatter_": lambda v: v.masked_scatter_(
        weft.tensor([[False], [True], [False], [False]]), weft.full((2,), 9.0)
    ),
    "put_": lambda v: v.put_(weft.tensor([2, 3]), weft.full((2,), 9.0)),
    "slice": lambda v: v.__setitem__(slice(1, 2), 9),
}


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("write", WRITES_AT_POSITIONS.values(), ids=WRITES_AT_POSITIONS)
def test_what_is_written_at_positions_of_overlapping_windows_stays(write, requires_grad):
    x = weft.arange(5.0)
    if requires_grad:
        x = x.requires_grad_() * 1
    windows = x.unfold(0, 2, 1)
    write(windows)
    assert x.tolist() == [0, 9, 9, 3, 4]
    assert windows.tolist() == [[0, 9], [9, 9], [9, 3], [3, 4]]


NUMBERS_THAT_ARE_WRITTEN = {
    "fill_": lambda z, v: z.fill_(v),
    "masked_fill_": lambda z, v: z.masked_fill_(z == 0, v),
    "index_fill_": lambda z, v: z.index_fill_(0, weft.tensor([0, 1, 2]), v),
    "copy_": lambda z, v: z.copy_(v),
    "slice": lambda z, v: z.__setitem__(slice(None), v),
    "mask": lambda z, v: z.__setitem__(z == 0, v),
    "add_": lambda z, v: z.add_(v),
}


@pytest.mark.parametrize("dtype", [weft.float16, weft.float32, weft.float64, weft.complex64], ids=str)
@pytest.mark.parametrize("number", [weft.float32, weft.float64, weft.bfloat16], ids=str)
@pytest.mark.parametrize("write", NUMBERS_THAT_ARE_WRITTEN.values(), ids=NUMBERS_THAT_ARE_WRITTEN)
def test_a_number_that_is_written_gets_a_gradient_of_its_own_dtype(write, number, dtype):
    value, target = weft.tensor(2.0, dtype=number, requires_grad=True), weft.zeros(3, dtype=dtype)
    write(target, value)
    (target * 3).sum().real.backward()
    assert value.grad.dtype is number and value.grad == 9


def test_views_that_were_not_recorded_are_refused_as_such_also_those_of_several():
    x = weft.ones(2, requires_grad=True).clone()
    with weft.no_grad():
        views = (*x.unbind(), x.view_as(x))
    for view in views:
        with pytest.raises(RuntimeError, match="created in no_grad mode"):
            view.add_(1)
    with pytest.raises(RuntimeError, match="returns multiple views"):
        x.unbind()[0].add_(1)


@pytest.mark.parametrize("key", [1, slice(None, None, 2), (Ellipsis, -1), (slice(1, 3), None, 0), ()])
def test_a_write_as_a_function_has_the_gradients_of_what_stays_and_of_what_is_written(key):
    key = key if isinstance(key, tuple) else (key,)
    whole = weft.randn(4, 3, dtype=weft.float64, requires_grad=True)
    source = weft.randn(whole.detach()[key].shape, dtype=weft.float64, requires_grad=True)
    written = whole.detach().clone()
    written[key] = source.detach()
    assert weft.equal(set_basic(whole, source, key), written)
    assert weft.autograd.gradcheck(lambda *values: set_basic(*values, key), (whole, source))
    assert weft.autograd.gradgradcheck(lambda *values: set_basic(*values, key), (whole, source))


@pytest.mark.parametrize(("mode", "block"), [(weft.no_grad, "no_grad block"), (weft.inference_mode, "inference_mode")])
def test_a_view_of_a_leaf_that_is_an_unrecorded_view_itself_is_not_written_to(mode, block):
    x = weft.zeros(2)
    with mode():
        leaf = x.view(2)
    view = leaf.requires_grad_().view(2)
    with pytest.raises(RuntimeError, match=f"a view of a view .* is being .* inside the {block}"):
        view.add_(1)

"""What ``out=`` takes."""

import pytest

import weft


def test_a_sum_is_converted_to_the_dtype_of_out():
    out = weft.empty(2, dtype=weft.float64)
    assert weft.sum(weft.ones(2, 3), 1, out=out) is out
    assert out.tolist() == [3.0, 3.0]


@pytest.mark.parametrize("call", [
    lambda out: weft.mm(weft.ones(2, 2), weft.ones(2, 2), out=out),
    lambda out: weft.gather(weft.ones(2, 2), 0, weft.zeros(2, 2, dtype=weft.int64), out=out),
    lambda out: weft.isneginf(weft.ones(2, 2), out=out),
])  # fmt: skip
def test_other_results_want_an_out_of_their_dtype(call):
    with pytest.raises(RuntimeError, match="to have dtype"):
        call(weft.empty(2, 2, dtype=weft.float64))


def test_the_dtype_of_what_is_made_is_that_of_out():
    assert weft.linspace(0, 2, 3, out=weft.empty(3, dtype=weft.int64)).tolist() == [0, 1, 2]


def test_cat_refuses_to_lose_a_category_with_a_type_error():
    with pytest.raises(TypeError, match="cat: result type Float"):
        weft.cat([weft.ones(1), weft.ones(1)], out=weft.empty(2, dtype=weft.int64))


def test_out_must_not_lie_over_an_input():
    x = weft.arange(4.0)
    with pytest.raises(RuntimeError, match=r"take: .*single memory location"):
        weft.take(x, weft.tensor([0, 1]), out=x[:2])


INDEX = weft.tensor([[0, 1, 2]] * 3)
INTO_THE_FIRST = {  # functions that may write into their first operand, and not into another
    "addbmm": (weft.rand(2, 3, 3), weft.rand(2, 3, 3)),
    "addmm": (weft.rand(3, 3), weft.rand(3, 3)),
    "index_add": (0, INDEX[0], weft.rand(3, 3)),
    "index_copy": (0, INDEX[0], weft.rand(3, 3)),
    "log_softmax": (0,),
    "logcumsumexp": (0,),
    "nan_to_num": (),
    "renorm": (2, 0, 1),
    "round": (),
    "scatter": (0, INDEX, weft.rand(3, 3)),
    "scatter_add": (0, INDEX, weft.rand(3, 3)),
    "scatter_reduce": (0, INDEX, weft.rand(3, 3), "sum"),
    "softmax": (0,),
    "tril": (),
    "triu": (),
}


@pytest.mark.parametrize("name", INTO_THE_FIRST)
def test_the_first_operand_may_be_out(name):
    function, rest = getattr(weft, name), INTO_THE_FIRST[name]
    expected = function(weft.linspace(-2, 2, 9).reshape(3, 3), *rest)
    for view in (lambda x: x, lambda x: x.view_as(x)):
        x = weft.linspace(-2, 2, 9).reshape(3, 3)
        out = view(x)
        assert function(x, *rest, out=out) is out
        assert x.tolist() == expected.tolist()
    rows = weft.linspace(-2, 2, 12).reshape(4, 3)
    with pytest.raises(RuntimeError, match=f"{name}: .*single memory location"):
        function(rows[:3], *rest, out=rows[1:])
    for other in rest:
        if isinstance(other, weft.Tensor) and other.shape == (3, 3) and other.dtype == weft.float32:
            with pytest.raises(RuntimeError, match=f"{name}: .*single memory location"):
                function(x, *rest, out=other)


@pytest.mark.parametrize(
    ("dtype", "value"), [(weft.uint8, 300), (weft.int8, -129), (weft.float16, 1e6), (weft.int32, float("nan"))]
)
def test_a_value_that_a_dtype_does_not_hold_is_refused(dtype, value):
    with pytest.raises(RuntimeError, match="without overflow"):
        weft.full((2,), value, dtype=dtype)


def test_small_negative_values_wrap_around_in_unsigned_integers():
    assert weft.full((1,), -5, dtype=weft.uint8).item() == 251


def test_a_wrong_out_leaves_the_others_as_they_were():
    values, where = weft.zeros(2), weft.zeros(2)
    with pytest.raises(RuntimeError, match=r"max: Expected out tensor to have dtype long int"):
        weft.max(weft.ones(2, 3), 1, out=(values, where))
    assert values.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "nansum"])
def test_a_dtype_that_is_given_must_be_that_of_out(name):
    with pytest.raises(RuntimeError, match=f"{name}: Expected out tensor to have dtype weft.float64"):
        getattr(weft, name)(weft.ones(2), 0, dtype=weft.float64, out=weft.zeros(()))


def test_the_dtype_of_out_is_what_a_sum_is_computed_in():
    assert weft.sum(weft.tensor([1.5, 2.5]), 0, out=weft.zeros((), dtype=weft.int64)).item() == 3


def test_out_that_grows_into_an_input_is_refused():
    index = weft.tensor([0, 1, 1])
    with pytest.raises(RuntimeError, match=r"gather: .*single memory location"), pytest.warns(UserWarning):
        weft.gather(weft.tensor([4, 5, 6]), 0, index[1:], out=index[:1])


def test_an_input_of_cat_is_no_out():
    x, y = weft.zeros(0), weft.ones(2, 3)
    with pytest.raises(RuntimeError, match=r"cat: .*single memory location"):
        weft.cat([x, y], out=x)


def test_positions_as_a_tuple_have_no_out():
    with pytest.raises(RuntimeError, match=r"nonzero: .*as_tuple"):
        weft.nonzero(weft.ones(2), as_tuple=True, out=weft.empty(0, dtype=weft.int64))


@pytest.mark.parametrize(
    "call", ["zeros(2, 3)", "ones(2, 3)", "empty(2, 3)", "full((2, 3), 1.0)", "rand(2, 3)", "randn(2, 3)", "eye(2, 3)",
             "normal(0.0, 1.0, (2, 3))", "linspace(0, 1, 3)", "logspace(0, 1, 3)", "bernoulli(weft.ones(2, 3))"]
)  # fmt: skip
def test_functions_that_are_told_a_size_give_it_to_their_output_in_silence(call):
    out = weft.ones(5)
    made = eval(f"weft.{call[:-1]}, out=out)", {"weft": weft, "out": out})
    assert made is out and out.shape[-1] == 3
    with pytest.warns(UserWarning, match="resized"):
        weft.add(weft.ones(4), 1, out=out)


@pytest.mark.parametrize("name", "neg sign sgn floor ceil trunc round frac bitwise_not nan_to_num".split())
@pytest.mark.parametrize("dtype", ["int8", "float32", "float64", "int64"])
def test_functions_that_only_move_elements_on_their_axis_write_into_their_own_dtype(name, dtype):
    if (name == "frac") == dtype.startswith("int") or (name == "bitwise_not") == dtype.startswith("float"):
        dtype = "float32" if name == "frac" else "int64"
    x = weft.tensor([1, 0, 3]).to(getattr(weft, dtype))
    function = getattr(weft, name)
    out = weft.empty(3, dtype=x.dtype)
    assert function(x, out=out) is out
    assert out.tolist() == function(x).tolist()
    for other in ("int8", "int64", "float16", "float32", "float64"):
        if other != dtype:
            with pytest.raises(RuntimeError, match="dtype"):
                function(x, out=weft.empty(3, dtype=getattr(weft, other)))


def test_the_warning_of_a_resized_output_is_found_by_its_first_words():
    with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
        weft.add(weft.ones(3), 1, out=weft.empty(2))


@pytest.mark.parametrize(("call", "words"), [
    (lambda: weft.linalg.inv(weft.eye(2), out=weft.empty(2, 2, dtype=weft.int32)), "dtype float, but got int instead"),
    (lambda: weft.signbit(weft.ones(2), out=weft.empty(2)), "does not support non-boolean outputs"),
    (lambda: weft.all(weft.ones(2, 2), 0, out=weft.empty(2)), "all only supports bool tensor for result, got: Float"),
    (lambda: weft.fft.fft(weft.ones(2), out=weft.empty(2)), "fft expects a complex output tensor, but got Float"),
    (lambda: weft.float_power(weft.ones(2), 2, out=weft.empty(2)), "operation's result requires dtype Double"),
])  # fmt: skip
def test_an_output_of_another_dtype_is_refused_in_pytorchs_words(call, words):
    with pytest.raises(RuntimeError, match=words):
        call()


WITHOUT_OUTPUT = {
    **dict.fromkeys(("isnan", "isinf", "isfinite", "isreal"), ()),
    **dict.fromkeys(("fill", "rsub"), (1.0,)),
    "select_scatter": (weft.zeros(2), 0, 0),
    "diagonal_scatter": (weft.zeros(2),),
    "as_strided_scatter": (weft.zeros(2), (2,), (1,)),
}


@pytest.mark.parametrize("name", WITHOUT_OUTPUT)
def test_functions_that_take_no_output_refuse_one(name):
    function, x, out = getattr(weft, name), weft.ones(2, 2), weft.full((2, 2), 7.0)
    with pytest.raises(TypeError, match=f"{name}.*'out'"):
        function(x, *WITHOUT_OUTPUT[name], out=out)
    assert out.eq(7).all()
    assert function(x, *WITHOUT_OUTPUT[name]).shape == x.shape

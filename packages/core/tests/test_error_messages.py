"""Errors and warnings by which programs tell cases apart have PyTorch's types and key words."""

import math
from collections.abc import Callable
from typing import Any

import pytest

import weft


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda: weft.tensor_split(weft.zeros(3), weft.ones(1, 1).long()),
            RuntimeError,
            "tensor_split expected tensor_i",
        ),
        (lambda: weft.tensor_split(weft.tensor(1), 1), RuntimeError, "expected at least a 1-dimensional tensor"),
        (lambda: weft.view_as_complex(weft.ones(2, 2).int()), RuntimeError, "view_as_complex is only supported for"),
        (lambda: weft.view_as_real(weft.zeros(2)), RuntimeError, "view_as_real is only supported for complex"),
        (lambda: weft.column_stack([]), RuntimeError, "column_stack expects a non-empty TensorList"),
        (lambda: weft.stack([]), RuntimeError, "stack expects a non-empty TensorList"),
        (lambda: weft.sort(weft.zeros(2) + 1j), RuntimeError, "Sort does not support complex dtypes"),
        (lambda: weft.randint(0, 0, (2,)), RuntimeError, "random_ expects 'from' to be less than 'to'"),
        (lambda: weft.tril_indices(-1, 2), RuntimeError, "row must be non-negative"),
        (lambda: weft.triu_indices(2, -1), RuntimeError, "col must be non-negative"),
        (
            lambda: weft.polar(weft.ones(2).int(), weft.ones(2).int()),
            RuntimeError,
            "Expected both inputs to be Half, F",
        ),
        (lambda: weft.iinfo(weft.float32), TypeError, r"iinfo\(\) requires an integer input type"),
        (lambda: weft.finfo(weft.int32), TypeError, r"finfo\(\) requires a floating point input type"),
        (lambda: weft.cummax(weft.tensor(1.0), 9), IndexError, "Expected reduction dim -1 or 0 for scalar but got 9"),
        (lambda: weft.LongTensor((6, 0), 1, 1, 0), TypeError, "received an invalid combination of arguments"),
        (lambda: weft.set_num_threads(1 << 65), RuntimeError, "expects a positive integer"),
        (lambda: weft.ones(1).set_(weft.ones(1), 99, (1,), (1,)), RuntimeError, "out of bounds for storage of size"),
        (lambda: type("Derived", (weft.FloatTensor,), {}), TypeError, "FloatTensor' is not an acceptable base type"),
        (lambda: weft.Size([1]) + [2], TypeError, r"can only concatenate tuple \(not list\) to .*Size"),
    ],
)
def test_errors_have_the_words_that_programs_look_for(
    call: Callable[[], Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("call", [weft.add, weft.normal])
def test_an_output_with_elements_is_resized_with_a_warning(call: Callable[..., Any]) -> None:
    out = weft.zeros(3)
    with pytest.warns(
        UserWarning, match="An output with one or more elements was resized.*This behavior is deprecated"
    ):
        call(weft.ones(2, 2), weft.ones(2, 2), out=out)
    assert out.shape == (2, 2)


def test_every_write_to_chosen_elements_of_an_expanded_tensor_warns() -> None:
    expanded, mask = weft.zeros(1).expand(3), weft.tensor([True, False, True])
    for value in (1.0, weft.tensor(2.0)):
        with pytest.warns(UserWarning, match="expanded tensors"):
            expanded.masked_fill_(mask, value)


def test_a_size_leaves_other_classes_their_own_sum() -> None:
    class Anything:
        def __radd__(self, other: Any) -> float:
            return math.pi

    assert weft.Size([1]) + Anything() == math.pi


def test_a_tensor_without_memory_is_formatted_as_it_is_shown() -> None:
    nothing = weft.empty((), device="meta")
    assert format(nothing) == repr(nothing)


def test_compressed_tensors_are_their_own_copy_on_the_same_device_and_dtype() -> None:
    rows = weft.tensor([[0, 1], [2, 0]]).to_sparse_csr()
    for moved in (rows.to(rows), rows.to(rows.dtype), rows.to("cpu"), rows.to(weft.empty_like(rows))):
        assert moved is rows
    assert rows.to(rows, copy=True) is not rows


def test_an_operator_may_return_nothing() -> None:
    with weft.library._scoped_library("said_nothing", "DEF") as library:
        library.define("call(Tensor x) -> None")
        library.impl("call", lambda x: None, "CPU")
        assert weft.ops.said_nothing.call(weft.ones(1)) is None

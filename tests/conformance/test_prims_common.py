"""The questions of `weft._prims_common` about dtypes and shapes have PyTorch's answers."""

import itertools

import pytest

import weft
from weft import _prims_common as ours

torch = pytest.importorskip("torch", reason="PyTorch, the oracle, is installed in the conformance environment only")
theirs = pytest.importorskip("torch._prims_common")

DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()
OPERANDS = [*itertools.product(DTYPES, ((), (2,))), True, 3, 1.5, 1j]


def operand(library, described):
    if not isinstance(described, tuple):
        return described
    name, shape = described
    return library.ones(shape, dtype=getattr(library, name))


def names(found):
    return [str(each).partition(".")[2] for each in found]


@pytest.mark.parametrize("kind", [each.name for each in ours.ELEMENTWISE_TYPE_PROMOTION_KIND])
def test_elementwise_functions_have_pytorchs_dtypes(kind):
    for pair in itertools.product(OPERANDS, OPERANDS):
        if torch.result_type(*(operand(torch, each) for each in pair)) is torch.complex32:
            continue  # weft computes with none, and promotes to complex64
        found, expected = (
            module.elementwise_dtypes(
                *(operand(library, each) for each in pair),
                type_promotion_kind=module.ELEMENTWISE_TYPE_PROMOTION_KIND[kind],
            )
            for module, library in ((ours, weft), (theirs, torch))
        )
        assert names(found) == names(expected), pair


@pytest.mark.parametrize("name", DTYPES)
def test_dtypes_are_what_pytorch_says(name):
    own, other = getattr(weft, name), getattr(torch, name)
    for question in ("is_boolean_dtype", "is_integer_dtype", "is_float_dtype", "is_complex_dtype", "dtype_to_type"):
        assert getattr(ours, question)(own) == getattr(theirs, question)(other), question
    kind = ours.dtype_to_type(own)
    assert names([ours.type_to_dtype(kind)]) == names([theirs.type_to_dtype(kind)])


CALLS = [
    ("canonicalize_dim", 3, -1),
    ("canonicalize_dim", 3, 5),
    ("canonicalize_dim", 0, -1),
    ("canonicalize_dim", 0, 1),
    ("canonicalize_dim", -1, 0),
    ("canonicalize_dims", 3, (0, -1)),
    ("is_same_shape", (1, 2), [1, 2]),
    ("is_expandable_to", (1, 3), (2, 2, 3)),
    ("is_expandable_to", (2, 3), (3,)),
    ("is_expandable_to", (2,), (3,)),
    ("is_weakly_lesser_type", int, bool),
    ("is_weakly_lesser_type", int, complex),
    ("is_weakly_lesser_type", str, int),
    ("make_contiguous_strides_for", (2, 0, 3)),
    ("make_contiguous_strides_for", (2, 0, 3), False),
    ("make_contiguous_strides_for", (2, 5, 3), False),
    ("make_contiguous_strides_for", (4,), False),
    ("type_to_dtype", str),
]


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_answers_and_errors_are_pytorchs(call):
    name, *arguments = call
    try:
        expected = getattr(theirs, name)(*arguments)
    except Exception as error:
        with pytest.raises(type(error)):
            getattr(ours, name)(*arguments)
    else:
        assert getattr(ours, name)(*arguments) == expected


def test_tensors_of_other_shapes_or_dtypes_are_told_apart():
    x = weft.ones(2, 3)
    ours.compare_tensor_meta(x, x.mT.contiguous().mT)
    for other, said in ((weft.ones(3), "Shapes"), (x.double(), "Dtypes"), (weft.ones(2, 3, device="meta"), "Devices")):
        with pytest.raises(RuntimeError, match=said):
            ours.compare_tensor_meta(x, other)
    with pytest.raises(RuntimeError, match="Strides"):
        ours.compare_tensor_meta(x, x.mT.contiguous().mT, check_strides=True)
    with pytest.raises(AssertionError):
        ours.compare_tensor_meta(x, 3)


def scaled(library):
    library.manual_seed(0)
    a = library.randn(5, 16).to(library.float8_e4m3fn)
    b = library.randn(32, 16).to(library.float8_e5m2).t()
    rows, columns = library.rand(5, 1), library.rand(1, 32)
    one, bias = library.tensor(2.0), library.arange(32.0)
    yield library._scaled_mm(a, b, one, one)
    yield library._scaled_mm(a, b, one, one, out_dtype=library.float32)
    yield library._scaled_mm(a, b, rows, columns, bias, out_dtype=library.bfloat16)
    yield library._scaled_mm_v2(a, b, [one], [0], [0], [one], [0], [0], None, library.float16)
    yield library._scaled_mm_v2(a, b, [rows], [1], [0], [columns], [1], [0], None, library.float32)


def test_products_of_8_bit_floats_have_pytorchs_numbers():
    for found, expected in zip(scaled(weft), scaled(torch), strict=True):
        assert names([found.dtype]) == names([expected.dtype])
        torch.testing.assert_close(torch.tensor(found.float().tolist()), expected.float())


def test_products_of_8_bit_floats_refuse_what_pytorch_does():
    a, b, one = weft.ones(5, 16).to(weft.float8_e4m3fn), weft.ones(16, 32).to(weft.float8_e4m3fn), weft.tensor(1.0)
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        weft._scaled_mm(a, a, one, one)
    with pytest.raises(ValueError, match="Invalid scaling"):
        weft._scaled_mm(a.float(), b, one, one)
    with pytest.raises(ValueError, match="Invalid scaling"):
        weft._scaled_mm(a, b, weft.ones(4), one)
    with pytest.raises(ValueError, match="Invalid scaling"):
        weft._scaled_mm_v2(a, b, [one], [2], [0], [one], [0], [0])
    with pytest.raises(RuntimeError, match="Bias must be size 32"):
        weft._scaled_mm(a, b, one, one, weft.ones(3))


def test_functions_of_cuda_code_say_that_they_are_not_compiled():
    from weft.cuda import jiterator

    with pytest.raises(RuntimeError, match="weft does not compile C\\+\\+, here of 'unary'"):
        jiterator._create_jit_fn("template <typename T> T unary(T x) { return x; }")(weft.ones(2))

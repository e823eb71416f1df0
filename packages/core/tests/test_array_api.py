"""The rules of the Python array API standard that PyTorch's functions do not have. Values are closed forms."""

import cmath
import math
import subprocess
import sys

import numpy
import pytest

import weft
from weft import array_api as xp

INF, NAN = math.inf, math.nan
NAMES = """
    abs acos acosh add all any arange argmax argmin argsort asarray asin asinh astype atan atan2 atanh bitwise_and
    bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor bool broadcast_arrays broadcast_to
    can_cast ceil clip complex128 complex64 concat conj copysign cos cosh count_nonzero cumulative_prod cumulative_sum
    diff divide e empty empty_like equal exp expand_dims expm1 eye fft finfo flip float32 float64 floor floor_divide
    from_dlpack full full_like greater greater_equal hypot iinfo imag inf int16 int32 int64 int8 isdtype isfinite isinf
    isnan less less_equal linalg linspace log log10 log1p log2 logaddexp logical_and logical_not logical_or logical_xor
    matmul matrix_transpose max maximum mean meshgrid min minimum moveaxis multiply nan negative newaxis nextafter
    nonzero not_equal ones ones_like permute_dims pi positive pow prod real reciprocal remainder repeat reshape
    result_type roll round searchsorted sign signbit sin sinh sort sqrt square squeeze stack std subtract sum take
    take_along_axis tan tanh tensordot tile tril triu trunc uint16 uint32 uint64 uint8 unique_all unique_counts
    unique_inverse unique_values unstack var vecdot where zeros zeros_like
    __array_api_version__ __array_namespace_info__
"""
LINALG = """
    cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank matrix_transpose outer
    pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm
"""
FFT = "fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftfreq rfftfreq fftshift ifftshift"


# The namespace


def test_a_tensor_names_its_namespace():
    x = weft.ones(2)
    assert x.__array_namespace__() is xp
    assert x.__array_namespace__(api_version="2024.12") is xp
    with pytest.raises(ValueError, match=r"'1999\.12' of the array API is not supported"):
        x.__array_namespace__(api_version="1999.12")


def test_the_namespace_has_all_names_of_the_standard():
    assert not [name for name in NAMES.split() if not hasattr(xp, name)]
    assert not [name for name in LINALG.split() if not hasattr(xp.linalg, name)]
    assert not [name for name in FFT.split() if not hasattr(xp.fft, name)]
    assert xp.__array_api_version__ == "2024.12"


def test_import_weft_leaves_the_namespace_alone():
    code = "import weft, sys; assert 'weft.array_api' not in sys.modules; weft.array_api"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_info_tells_defaults_that_hold():
    info = xp.__array_namespace_info__()
    defaults = info.default_dtypes()
    assert defaults["real floating"] is xp.asarray(1.5).dtype
    assert defaults["complex floating"] is xp.asarray(1j).dtype
    assert defaults["integral"] is xp.asarray(1).dtype
    assert defaults["indexing"] is xp.argmax(xp.ones(2)).dtype
    assert info.default_device() in info.devices()
    assert list(info.dtypes(kind=("bool", "complex floating"))) == ["bool", "complex64", "complex128"]


def test_to_device_is_to_without_streams():
    x = weft.ones(2)
    assert x.to_device("cpu") is x
    with pytest.raises(ValueError, match="stream"):
        x.to_device("cpu", stream=1)


# Promotion


def test_arrays_without_dimensions_promote_as_others_do():
    number, array = xp.asarray(300, dtype=xp.int64), xp.asarray([1, 2], dtype=xp.int8)
    assert xp.add(number, array).dtype is xp.int64
    assert xp.add(number, array).tolist() == [301, 302]
    assert (number + array).dtype is xp.int8  # the operator is PyTorch's
    assert not bool(xp.any(xp.equal(number, xp.asarray([44], dtype=xp.int8))))


@pytest.mark.parametrize(
    ("first", "second", "common"),
    [
        ("uint8", "int8", "int16"),
        ("uint16", "int8", "int32"),
        ("uint32", "int32", "int64"),
        ("uint32", "uint8", "uint32"),
        ("int64", "uint32", "int64"),
        ("uint64", "uint16", "uint64"),
        ("float32", "float64", "float64"),
        ("float64", "complex64", "complex128"),
    ],
)
def test_result_types_are_those_of_the_table(first, second, common):
    first, second, common = (getattr(xp, name) for name in (first, second, common))
    assert xp.result_type(first, second) is common
    assert xp.result_type(second, first) is common
    assert xp.multiply(xp.ones(2, dtype=first), xp.ones((), dtype=second)).dtype is common


def test_no_integer_holds_uint64_and_signed_ones():
    with pytest.raises(TypeError, match="no integer dtype holds the values of"):
        xp.result_type(xp.uint64, xp.int8)
    assert not xp.can_cast(xp.uint64, xp.int64)


def test_a_number_takes_the_dtype_of_the_array_beside_it():
    x = xp.asarray([1.0, 2.0], dtype=xp.float32)
    assert xp.subtract(1, x).tolist() == [0, -1]
    assert xp.subtract(1, x).dtype is xp.float32
    assert xp.multiply(x, 2j).dtype is xp.complex64
    assert xp.where(x > 1, x, 0).tolist() == [0, 2]
    assert xp.atan2(x, 1).shape == (2,)
    with pytest.raises(TypeError, match="at least one array"):
        xp.add(1, 2)


def test_joining_promotes():
    parts = [xp.ones(1, dtype=xp.uint8), xp.ones(2, dtype=xp.int16)]
    assert xp.concat(parts).dtype is xp.int16
    assert xp.diff(parts[0], prepend=parts[1]).tolist() == [0, 0]


def test_kinds_of_dtypes():
    assert xp.isdtype(xp.uint8, "integral")
    assert xp.isdtype(xp.float32, (xp.int8, "real floating"))
    assert not xp.isdtype(xp.bool, "numeric")
    with pytest.raises(ValueError, match="unknown kind 'whole'"):
        xp.isdtype(xp.int8, "whole")


def test_limits_name_dtypes_and_take_arrays():
    assert xp.finfo(xp.ones(2, dtype=xp.complex128)).dtype is xp.float64
    assert xp.iinfo(xp.int8).dtype is xp.int8
    assert xp.iinfo(xp.ones(1, dtype=xp.uint8)).max == 255


def test_complex_numbers_do_not_become_real_by_astype():
    with pytest.raises(TypeError, match="real"):
        xp.astype(xp.ones(2, dtype=xp.complex64), xp.float32)
    assert xp.astype(xp.asarray([0j, 1j]), xp.bool).tolist() == [False, True]
    x = xp.ones(2)
    assert xp.astype(x, x.dtype, copy=False) is x
    assert xp.astype(x, x.dtype) is not x


# Making arrays


def test_asarray_shares_memory_where_it_can():
    source = numpy.zeros(3)
    xp.asarray(source)[0] = 1.0
    assert source[0] == 1
    xp.asarray(source, copy=True)[0] = 2.0
    assert source[0] == 1
    assert xp.asarray(source[::-1]).tolist() == [0, 0, 1]
    with pytest.raises(ValueError, match="negative"):
        xp.asarray(source[::-1], copy=False)


def test_ranges():
    assert xp.arange(3, 0).shape == (0,)
    assert xp.arange(0, 3, -1).shape == (0,)
    assert xp.arange(3).dtype is xp.int64
    assert xp.linspace(0, 1, 4, endpoint=False).tolist() == [0, 0.25, 0.5, 0.75]
    assert xp.linspace(0, 1j, 2).dtype is xp.complex64
    assert xp.eye(2, 3, k=1).tolist() == [[0, 1, 0], [0, 0, 1]]
    assert xp.eye(2, 3, k=-5).tolist() == xp.eye(2, 3, k=10**30).tolist() == [[0, 0, 0], [0, 0, 0]]


def test_the_first_array_of_a_mesh_runs_along_the_columns():
    x, y = xp.meshgrid(xp.asarray([1, 2, 3]), xp.asarray([4, 5]))
    assert x.tolist() == [[1, 2, 3], [1, 2, 3]]
    assert y.tolist() == [[4, 4, 4], [5, 5, 5]]


# Elements


def test_quotients_of_infinities_are_not_rounded():
    dividend = xp.asarray([INF, INF, -INF, 2.0, -2.0, -2.0])
    divisor = xp.asarray([2.0, -2.0, 2.0, -INF, INF, -INF])
    quotient = xp.floor_divide(dividend, divisor)
    assert quotient.tolist() == [INF, -INF, -INF, 0, 0, 0]
    assert xp.signbit(quotient).tolist() == [False, True, True, True, True, False]
    assert xp.floor_divide(xp.asarray([-7, 7]), 2).tolist() == [-4, 3]


def test_complex_limits():
    assert str(xp.expm1(xp.asarray(complex(-0.0, 0.0))).item()) == "0j"
    assert xp.expm1(xp.asarray(complex(-INF, INF))).item() == -1
    result = xp.expm1(xp.asarray(complex(INF, NAN))).item()
    assert math.isinf(result.real)
    assert math.isnan(result.imag)
    assert str(xp.tanh(xp.asarray(complex(INF, 2.0))).item()) == "(1+0j)"
    assert str(xp.tan(xp.asarray(complex(2.0, INF))).item()) == "1j"
    tangent = xp.tan(xp.asarray(1 + 2j, dtype=xp.complex128)).item()
    assert tangent == pytest.approx(cmath.tan(1 + 2j))


def test_signs_and_rounding():
    assert xp.sign(xp.asarray([-2.0, 0.0, 3.0])).tolist() == [-1, 0, 1]
    assert math.isnan(xp.sign(xp.asarray(NAN)).item())
    assert xp.sign(xp.asarray(3 + 4j)).item() == pytest.approx(0.6 + 0.8j)
    assert xp.round(xp.asarray([0.5 + 1.5j, 2.4 - 2.6j])).tolist() == [2j, 2 - 3j]


def test_bounds_of_clip_have_the_dtype_of_what_they_bound():
    x = xp.asarray([1, 200], dtype=xp.uint8)
    assert xp.clip(x, 5, xp.asarray([90, 100])).tolist() == [5, 100]
    assert xp.clip(x, max=100).dtype is xp.uint8
    assert xp.clip(x) is not x


# Reductions


def test_no_axes_are_no_reduction():
    x = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
    for function in (xp.sum, xp.prod, xp.max, xp.min, xp.mean):
        assert function(x, axis=()).tolist() == x.tolist()
        assert function(x).ndim == 0
    assert xp.all(x, axis=()).tolist() == [[True, True], [True, True]]
    assert xp.var(x, axis=()).tolist() == [[0, 0], [0, 0]]
    assert xp.linalg.vector_norm(-x, axis=()).tolist() == x.tolist()


def test_products_over_several_axes():
    x = xp.reshape(xp.arange(1, 9), (2, 2, 2))
    assert xp.prod(x, axis=(0, -1)).tolist() == [1 * 2 * 5 * 6, 3 * 4 * 7 * 8]
    assert xp.prod(x, axis=(0, -1), keepdims=True).shape == (1, 2, 1)


def test_sums_of_integers_have_64_bits_and_keep_their_sign():
    assert xp.sum(xp.full(4, 200, dtype=xp.uint8)).item() == 800
    assert xp.sum(xp.ones(2, dtype=xp.uint8)).dtype is xp.uint64
    assert xp.sum(xp.ones(2, dtype=xp.int8)).dtype is xp.int64
    assert xp.cumulative_prod(xp.ones(2, dtype=xp.uint16)).dtype is xp.uint64
    assert xp.sum(xp.ones(2, dtype=xp.int8), dtype=xp.int8).dtype is xp.int8


def test_deviations_divide_by_the_count_unless_corrected():
    x = xp.asarray([1.0, 2.0, 3.0, 4.0])
    assert xp.var(x).item() == 1.25
    assert xp.var(x, correction=1).item() == pytest.approx(5 / 3)
    assert xp.std(xp.reshape(x, (2, 2)), axis=0, keepdims=True).tolist() == [[1, 1]]


def test_running_sums_may_begin_before_the_first_element():
    x = xp.asarray([[1, 2], [3, 4]])
    assert xp.cumulative_sum(x, axis=1, include_initial=True).tolist() == [[0, 1, 3], [0, 3, 7]]
    assert xp.cumulative_prod(x, axis=0, include_initial=True).tolist() == [[1, 1], [1, 2], [3, 8]]
    with pytest.raises(ValueError, match="axis is required"):
        xp.cumulative_sum(x)


# Shapes and places


def test_what_cannot_be_done_is_an_error():
    x = xp.ones((2, 3))
    with pytest.raises(ValueError, match="no view"):
        xp.reshape(x.mT, (6,), copy=False)
    with pytest.raises(ValueError, match="axis 1 has size 3"):
        xp.squeeze(x, 1)
    with pytest.raises(ValueError, match="without dimensions"):
        xp.nonzero(xp.ones(()))
    with pytest.raises(ValueError, match="axis is required"):
        xp.take(x, xp.asarray([0]))
    with pytest.raises(ValueError, match="same length"):
        xp.vecdot(x, xp.ones((2, 1)))


def test_reshape_copies_when_told_to():
    x = xp.zeros(4)
    xp.reshape(x, (2, 2))[0, 0] = 1.0
    xp.reshape(x, (2, 2), copy=True)[0, 1] = 1.0
    assert x.tolist() == [1, 0, 0, 0]


def test_repeats_are_one_number_or_one_for_each():
    x = xp.asarray([[1, 2], [3, 4]])
    assert xp.repeat(x, 2).tolist() == [1, 1, 2, 2, 3, 3, 4, 4]
    assert xp.repeat(x, xp.asarray([0, 2]), axis=0).tolist() == [[3, 4], [3, 4]]
    assert xp.repeat(x, xp.asarray([2]), axis=1).tolist() == [[1, 1, 2, 2], [3, 3, 4, 4]]


def test_one_shift_serves_several_axes():
    x = xp.asarray([[1, 2], [3, 4]])
    assert xp.roll(x, 1, axis=(0, 1)).tolist() == [[4, 3], [2, 1]]
    assert xp.roll(x, 1).tolist() == [[4, 1], [2, 3]]


def test_indices_count_from_the_end_where_negative():
    x = xp.asarray([[1, 2, 3], [4, 5, 6]])
    assert xp.take(x, xp.asarray([-1, 0]), axis=1).tolist() == [[3, 1], [6, 4]]
    assert xp.take_along_axis(x, xp.asarray([[-1], [0]])).tolist() == [[3], [4]]


def test_a_sorter_sorts_what_is_searched():
    x = xp.asarray([3.0, 1.0, 2.0])
    places = xp.searchsorted(x, xp.asarray([2.0, 5.0]), side="right", sorter=xp.argsort(x))
    assert places.tolist() == [2, 3]


def test_unique_all_finds_first_places_and_tells_nans_apart():
    x = xp.asarray([[2.0, NAN], [1.0, 2.0], [NAN, 1.0]])
    values, indices, inverse, counts = xp.unique_all(x)
    assert values[:2].tolist() == [1, 2]
    assert indices[:2].tolist() == [2, 0]
    assert sorted(indices[2:].tolist()) == [1, 4]
    assert counts.tolist() == [2, 2, 1, 1]
    assert inverse.shape == x.shape
    assert xp.all(xp.equal(values[inverse], x) | xp.isnan(x))


# Linear algebra


def test_solve_takes_a_vector_only_of_one_dimension():
    eye = xp.eye(2)
    right = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
    solved = xp.linalg.solve(xp.stack([eye, 2 * eye]), right)  # PyTorch sees two vectors here
    assert solved.tolist() == [[[1, 2], [3, 4]], [[0.5, 1], [1.5, 2]]]
    assert xp.linalg.solve(xp.stack([eye, 2 * eye]), xp.asarray([1.0, 2.0])).tolist() == [[1, 2], [0.5, 1]]


def test_products_broadcast_and_promote():
    x, y = xp.asarray([1, 0, 0]), xp.asarray([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    assert xp.linalg.cross(x, y).tolist() == [[0, 0, 1], [0, 0, 0]]
    assert xp.vecdot(xp.asarray([1j, 1.0]), xp.asarray([1j, 2.0])).item() == 3
    assert xp.vecdot(xp.asarray([200, 100], dtype=xp.uint8), xp.asarray([1, 1], dtype=xp.int8)).item() == 300
    assert xp.tensordot(y, y, axes=((0, 1), (0, 1))).item() == 2
    assert xp.linalg.trace(xp.ones((2, 3), dtype=xp.uint8)).dtype is xp.uint64


def test_results_have_the_names_of_the_standard():
    x = xp.asarray([[2.0, 0.0], [0.0, 3.0]])
    assert xp.linalg.eigh(x).eigenvalues.tolist() == [2, 3]
    assert xp.linalg.slogdet(x).logabsdet.item() == pytest.approx(math.log(6))
    assert xp.linalg.svd(x).S.tolist() == [3, 2]
    assert xp.linalg.qr(x, mode="complete").R.shape == (2, 2)


def test_transforms_take_axes():
    x = xp.asarray([[1.0, 0.0], [0.0, 0.0]])
    assert xp.fft.fft(x, axis=0).real.tolist() == [[1, 0], [1, 0]]
    assert xp.fft.rfftn(x, axes=(0, 1)).shape == (2, 2)
    assert xp.fft.ifftshift(xp.fft.fftshift(xp.arange(5))).tolist() == [0, 1, 2, 3, 4]


# Gradients


def test_gradients_go_through_the_namespace():
    x = weft.tensor([1.0, 2.0], requires_grad=True)
    scale = weft.tensor(3, dtype=weft.int64)
    xp.sum(xp.multiply(scale, xp.square(x))).backward()
    assert x.grad.tolist() == [6, 12]
    x.grad = None
    xp.linalg.vector_norm(xp.concat([x, x])).backward()
    norm = math.sqrt(10)
    assert x.grad.tolist() == pytest.approx([2 / norm, 4 / norm])

"""The 8-bit floats: how numbers are rounded to them, what tensors of them can do, and what they refuse.

The expected bytes and texts are PyTorch 2.13's.
"""

import copy
import io
import math
import pickle
import struct
import zipfile

import ml_dtypes
import numpy as np
import pytest

import weft
from weft.serialization import safetensors

NAMES = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"]
DTYPES = [getattr(weft, name) for name in NAMES]
each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=NAMES)


def bits(tensor):
    return tensor.view(weft.uint8).tolist()


def every_byte(dtype):
    return weft.arange(256).to(weft.uint8).view(dtype)


# The dtypes themselves


@each_dtype
def test_dtypes_are_floating_of_one_byte(dtype):
    assert (dtype.itemsize, dtype.is_floating_point, dtype.is_complex) == (1, True, False)
    assert dtype.is_signed is (dtype is not weft.float8_e8m0fnu)
    assert dtype.to_real() is dtype
    assert dtype.abbr == dtype.name.replace("float8_", "f8")
    assert repr(dtype) == f"weft.{dtype.name}"
    assert pickle.loads(pickle.dumps(dtype)) is dtype


@each_dtype
def test_dtypes_have_no_complex_counterpart(dtype):
    with pytest.raises(RuntimeError, match="Unknown Complex ScalarType for Float8"):
        dtype.to_complex()


@pytest.mark.parametrize(
    ("name", "largest", "least", "eps", "smallest_normal"),
    [
        ("float8_e4m3fn", 448.0, -448.0, 0.125, 2.0**-6),
        ("float8_e5m2", 57344.0, -57344.0, 0.25, 2.0**-14),
        ("float8_e4m3fnuz", 240.0, -240.0, 0.125, 2.0**-7),
        ("float8_e5m2fnuz", 57344.0, -57344.0, 0.125, 2.0**-15),
        ("float8_e8m0fnu", 2.0**127, 2.0**-127, 1.0, 2.0**-127),
    ],
)
def test_finfo(name, largest, least, eps, smallest_normal):
    info = weft.finfo(getattr(weft, name))
    assert (info.bits, info.dtype, info.resolution) == (8, name, 1.0)
    assert (info.max, info.min, info.eps) == (largest, least, eps)
    assert info.tiny == info.smallest_normal == smallest_normal


# Rounding


SPECIALS = [0.0, -0.0, 1.0, -1.5, 1.0625, 1.1875, 0.3, 2.0**-9, 2.0**-10, 1.5 * 2.0**-10, 2.0**-17, 1e-30]
SPECIALS += [240.0, 248.0, 449.0, 464.0, 465.0, 1e6, -1e6, 57344.0, 61439.0, 61440.0, math.inf, -math.inf, math.nan]
ROUNDED = {
    "float8_e4m3fn": "00 80 38 bc 38 3a 2a 01 00 01 00 00 77 78 7e 7e 7e 7e fe 7e 7e 7e 7e fe 7f",
    "float8_e5m2": "00 80 3c be 3c 3d 35 18 14 16 00 00 5c 5c 5f 5f 5f 7c fc 7b 7b 7c 7c fc 7f",
    "float8_e4m3fnuz": "00 00 40 c4 40 42 32 02 01 02 00 00 7f 80 80 80 80 80 80 80 80 80 80 80 80",
    "float8_e5m2fnuz": "00 00 40 c2 40 41 39 1c 18 1a 01 00 60 60 63 63 63 80 80 7f 7f 80 80 80 80",
    "float8_e8m0fnu": "00 00 7f 80 7f 7f 7d 76 75 76 6e 1b 87 87 88 88 88 93 93 8f 8f 8f ff ff ff",
}


@each_dtype
@pytest.mark.parametrize("source", [weft.float32, weft.float64], ids=str)
def test_conversions_round_as_pytorch(dtype, source):
    expected = list(bytes.fromhex(ROUNDED[dtype.name]))
    assert bits(weft.tensor(SPECIALS, dtype=source).to(dtype)) == expected
    assert bits(weft.tensor(SPECIALS, dtype=dtype)) == expected
    assert bits(weft.zeros(len(SPECIALS), dtype=dtype).copy_(weft.tensor(SPECIALS, dtype=source))) == expected
    assert [weft.full((), each, dtype=dtype).view(weft.uint8).item() for each in SPECIALS] == expected
    assert [weft.ones((), dtype=dtype).fill_(each).view(weft.uint8).item() for each in SPECIALS] == expected
    assert [weft.tensor(each, dtype=source).to(dtype).view(weft.uint8).item() for each in SPECIALS] == expected


def number_of(byte, mantissa_bits, bias):
    """The number that a byte stands for by the formula of its format: subnormal where the exponent is 0."""
    exponent, fraction = (byte & 127) >> mantissa_bits, (byte & 127) % (1 << mantissa_bits)
    scaled = fraction + (1 << mantissa_bits if exponent else 0)
    return (-1) ** (byte >> 7) * scaled * 2.0 ** (max(exponent, 1) - bias - mantissa_bits)


@pytest.mark.parametrize(
    ("name", "mantissa_bits", "bias", "special"),
    [
        ("float8_e4m3fn", 3, 7, {127, 255}),
        ("float8_e5m2", 2, 15, {*range(124, 128), *range(252, 256)}),
        ("float8_e4m3fnuz", 3, 8, {128}),
        ("float8_e5m2fnuz", 2, 16, {128}),
    ],
)
def test_every_byte_is_the_number_of_the_formula(name, mantissa_bits, bias, special):
    numbers = every_byte(getattr(weft, name)).tolist()
    for byte in set(range(256)) - special:
        assert numbers[byte] == number_of(byte, mantissa_bits, bias)
    infinite = {byte for byte in special if not math.isnan(numbers[byte])}
    assert infinite == ({124, 252} if name == "float8_e5m2" else set())


def test_float8_e8m0fnu_has_the_powers_of_two():
    numbers = every_byte(weft.float8_e8m0fnu).tolist()
    assert numbers[:255] == [2.0**power for power in range(-127, 128)]
    assert math.isnan(numbers[255])


@each_dtype
def test_every_number_survives_the_way_through_other_dtypes(dtype):
    stored = every_byte(dtype)
    whole = bits(stored.float().to(dtype))
    numbers = ~stored.isnan()
    assert weft.tensor(whole)[numbers].tolist() == weft.arange(256)[numbers].tolist()
    assert bits(stored.double().to(dtype)) == whole
    assert bits(stored.bfloat16().to(dtype)) == whole
    assert bits(stored.to(weft.complex64).to(dtype)) == whole


@each_dtype
def test_float64_is_rounded_to_float32_first(dtype):
    half_way = 1.0 + weft.finfo(dtype).eps / 2
    if dtype is weft.float8_e5m2fnuz:
        half_way = 1.125
    low, beyond = weft.tensor([half_way, half_way + 2.0**-40], dtype=weft.float64).to(dtype).view(weft.uint8)
    assert low == beyond


@pytest.mark.parametrize(
    ("number", "expected"), [(5, [74, 69, 82, 73, 129]), (True, [56, 60, 64, 64, 127]), (-7, [206, 199, 214, 203, 130])]
)
def test_integers_and_truths_are_converted(number, expected):
    assert [bits(weft.tensor([number]).to(dtype))[0] for dtype in DTYPES] == expected
    assert [bits(weft.tensor([number], dtype=dtype))[0] for dtype in DTYPES] == expected


@each_dtype
def test_conversions_from_it(dtype):
    x = weft.tensor([0.0, 1.0, 4.0, 16.0], dtype=dtype)
    zero_is_true = dtype is weft.float8_e8m0fnu  # it has no zero
    assert x.to(weft.int64).tolist() == [0, 1, 4, 16]
    assert x.to(weft.uint8).tolist() == [0, 1, 4, 16]
    assert x.to(weft.bool).tolist() == [zero_is_true, True, True, True]
    assert x.to(weft.complex64)[1:].tolist() == [1, 4, 16]
    assert weft.zeros(4, dtype=weft.int32).copy_(x).tolist() == [0, 1, 4, 16]
    assert bool(x[0]) is zero_is_true


# Making, moving, looking


@each_dtype
def test_tensors_are_made(dtype):
    one = int(weft.ones((), dtype=dtype).view(weft.uint8))
    assert bits(weft.zeros(2, dtype=dtype)) == [0, 0]
    assert bits(weft.eye(2, dtype=dtype)) == [[one, 0], [0, one]]
    x = weft.ones(2, dtype=dtype)
    assert bits(weft.zeros_like(x)) == bits(x.new_zeros(2)) == bits(x.clone().zero_()) == [0, 0]
    assert bits(weft.ones_like(x)) == bits(x.new_ones(2)) == bits(x.new_tensor([1.0, 1])) == [one, one]
    assert weft.empty(3, dtype=dtype).dtype is weft.empty_like(x).dtype is dtype
    assert weft.asarray([1.0], dtype=dtype).item() == weft.scalar_tensor(1, dtype=dtype).item() == 1.0
    assert bits(weft.tensor(np.array([1.0, 1.0]), dtype=dtype)) == [one, one]


@each_dtype
def test_elements_are_moved_bit_by_bit(dtype):
    x, raw = every_byte(dtype), weft.arange(256).to(weft.uint8)
    places, mask = weft.tensor([3, 255, 0]), raw % 3 == 0
    moves = [
        lambda t: t.clone(),
        lambda t: t.reshape(16, 16).t().contiguous(),
        lambda t: t.reshape(16, 16)[1:9, ::3],
        lambda t: t.reshape(16, 16).diagonal(),
        lambda t: t.unfold(0, 4, 3),
        lambda t: t.as_strided((3, 4), (5, 2), 1),
        lambda t: t.expand(2, 256),
        lambda t: t[places],
        lambda t: t[mask],
        lambda t: t.masked_select(mask),
        lambda t: t.index_select(0, places),
        lambda t: weft.cat([t, t[:2]]),
        lambda t: weft.stack([t, t]),
        lambda t: t.roll(3),
        lambda t: t.repeat(2),
        lambda t: t.repeat_interleave(2),
        lambda t: t[:4].diag(),
        lambda t: weft.where(mask, t, t[0]),
        lambda t: copy.deepcopy(t),
        lambda t: t.split(100)[2],
    ]
    for move in moves:
        moved = move(x)
        assert moved.dtype is dtype
        assert bits(moved) == move(raw).tolist()


@each_dtype
def test_elements_are_written(dtype):
    x = weft.zeros(6, dtype=dtype)
    x[0] = 1
    x[1:3] = weft.tensor([2.0, 4.0])
    x[weft.tensor([3])] = weft.tensor([8.0], dtype=dtype)
    x[x == 8] = 16.0
    x.view(2, 3)[1, 1:].fill_(2)
    assert x.tolist() == [1.0, 2.0, 4.0, 16.0, 2.0, 2.0]


@each_dtype
def test_comparison_is_with_numbers_rounded_to_the_dtype(dtype):
    x = weft.tensor([1.0, 4.0, math.nan], dtype=dtype)
    assert (x == x.clone()).tolist() == [True, True, False]
    assert (x != 4).tolist() == [True, False, True]
    assert (x == 4.1).tolist() == [False, True, False]
    assert (x == weft.tensor(4.1)).tolist() == [False, True, False]
    assert x.isnan().tolist() == [False, False, True]
    assert x.isfinite().tolist() == [True, True, False]
    assert weft.equal(x[:2], x[:2].clone())
    assert 4.0 in x
    assert x.any() and x.all()


def test_absolute_values_keep_the_dtype():
    for dtype in DTYPES[:4]:
        assert weft.tensor([-1.5, 2.0], dtype=dtype).abs().tolist() == [1.5, 2.0]


@each_dtype
def test_gradients_pass_through_conversions_and_views(dtype):
    x = weft.ones(2, 3, requires_grad=True)
    (x.to(dtype)[0].float() * 4).sum().backward()
    below = 2.0**-127 if dtype is weft.float8_e8m0fnu else 0.0
    assert x.grad.tolist() == [[4.0] * 3, [below] * 3]


def test_parameters_of_modules_are_converted():
    functional = pytest.importorskip("weft.nn").functional
    table = weft.tensor([[1.0, 2.0], [4.0, 8.0]], dtype=weft.float8_e5m2)
    assert functional.embedding(weft.tensor([1]), table).tolist() == [[4.0, 8.0]]
    assert functional.pad(table[0], (1, 1), value=1.1).tolist() == [1.0, 1.0, 2.0, 1.0]
    with pytest.raises(NotImplementedError, match="linear: not implemented for 'Float8_e5m2'"):
        functional.linear(table, table)


# What is refused


COMPUTED = {
    "add": lambda x: x + x,
    "add a number": lambda x: x + 1,
    "mul a number": lambda x: 2.0 * x,
    "div": lambda x: x / x,
    "lt": lambda x: x < x,
    "neg": lambda x: -x,
    "exp": lambda x: x.exp(),
    "sum": lambda x: x.sum(),
    "max": lambda x: x.max(),
    "sort": lambda x: x.sort(),
    "cumsum": lambda x: x.cumsum(0),
    "nonzero": lambda x: x.nonzero(),
    "softmax": lambda x: x.softmax(0),
    "flip": lambda x: x.flip(0),
    "gather": lambda x: x.gather(0, weft.tensor([0])),
    "scatter": lambda x: x.scatter(0, weft.tensor([0]), x),
    "masked_fill": lambda x: x.masked_fill(weft.tensor([True, False]), 0),
    "clamp": lambda x: x.clamp(0, 1),
    "dot": lambda x: x.dot(x),
    "std": lambda x: x.std(),
    "uniform_": lambda x: x.uniform_(),
    "arange": lambda x: weft.arange(3, dtype=x.dtype),
    "linspace": lambda x: weft.linspace(0, 1, 3, dtype=x.dtype),
    "logspace": lambda x: weft.logspace(0, 1, 3, dtype=x.dtype),
    "rand": lambda x: weft.rand(3, dtype=x.dtype),
    "randn_like": lambda x: weft.randn_like(x),
    "randint": lambda x: weft.randint(0, 3, (2,), dtype=x.dtype),
    "randperm": lambda x: weft.randperm(3, dtype=x.dtype),
    "hann_window": lambda x: weft.hann_window(3, dtype=x.dtype),
    "sum to it": lambda x: weft.ones(3).sum(dtype=x.dtype),
}


@each_dtype
@pytest.mark.parametrize("compute", COMPUTED.values(), ids=COMPUTED)
def test_arithmetic_is_refused(dtype, compute):
    with pytest.raises(NotImplementedError, match=f"not implemented for '{dtype.scalar_type_name}'"):
        compute(weft.ones(2, dtype=dtype))


@each_dtype
def test_it_is_not_promoted(dtype):
    x = weft.ones(2, dtype=dtype)
    for other in (weft.float32, weft.int64, weft.bool, weft.complex64, *[each for each in DTYPES if each is not dtype]):
        with pytest.raises(RuntimeError, match="Promotion for Float8 Types is not supported"):
            weft.promote_types(dtype, other)
    for combine in (lambda: x == weft.ones(2), lambda: weft.cat([x, weft.ones(1)]), lambda: weft.ones(2).add_(x)):
        with pytest.raises(RuntimeError, match="Promotion for Float8 Types is not supported"):
            combine()
    assert weft.result_type(x, 1.5) is weft.result_type(x, weft.tensor(1)) is weft.promote_types(dtype, dtype) is dtype
    assert weft.can_cast(weft.float64, dtype) and weft.can_cast(dtype, weft.float16)
    assert not weft.can_cast(dtype, weft.int64)


@each_dtype
def test_it_is_no_default_dtype(dtype):
    with pytest.raises(TypeError, match="set_default_dtype: only floating-point types of 16 bits and more"):
        weft.set_default_dtype(dtype)
    assert weft.get_default_dtype() is weft.float32


@each_dtype
def test_numpy_has_none(dtype):
    for convert in (lambda x: x.numpy(), np.asarray):
        with pytest.raises(TypeError, match=f"numpy: Got unsupported ScalarType {dtype.scalar_type_name}"):
            convert(weft.ones(2, dtype=dtype))


def test_complex_numbers_are_refused_where_they_are_given():
    with pytest.raises(TypeError, match="complex"):
        weft.tensor([1j], dtype=weft.float8_e5m2)
    with pytest.raises(RuntimeError, match="without overflow"):
        weft.full((1,), 1 + 2j, dtype=weft.float8_e5m2)


# As Python's numbers, as text, in files


@each_dtype
def test_elements_are_python_numbers(dtype):
    x = weft.tensor([1.0, 4.0], dtype=dtype)
    assert x.tolist() == [1.0, 4.0]
    assert type(x[1].item()) is float
    assert (float(x[1]), int(x[1]), f"{x[1]:.1f}") == (4.0, 4, "4.0")


@pytest.mark.parametrize(
    ("values", "name", "text"),
    [
        ([1.5, -2.0, 0.0, math.nan], "float8_e5m2", "[ 1.5000, -2.0000,  0.0000,     nan]"),
        ([0.0, 1.0, 16.0], "float8_e4m3fn", "[ 0.,  1., 16.]"),
        ([0.0, 1.0, 0.001], "float8_e4m3fn", "[0.0000, 1.0000, 0.0020]"),
        ([0.0, 1.0, 0.001], "float8_e4m3fnuz", "[0.0000e+00, 1.0000e+00, 9.7656e-04]"),
        ([2.0, 0.0, math.nan], "float8_e8m0fnu", "[2.0000, 0.0000,    nan]"),
        ([0.0, 1.0, 16.0], "float8_e8m0fnu", "[ 0.,  1., 16.]"),
        ([0.0, 1.0, 0.001], "float8_e8m0fnu", "[5.8775e-39, 1.0000e+00, 9.7656e-04]"),
        (0.3, "float8_e5m2fnuz", "0.3125"),
    ],
)
def test_printing(values, name, text):
    assert repr(weft.tensor(values, dtype=getattr(weft, name))) == f"tensor({text}, dtype=weft.{name})"


@each_dtype
def test_bytes_survive_files_pickles_and_exchange(dtype):
    x = every_byte(dtype).reshape(16, 16)[:, ::2]
    file = io.BytesIO()
    weft.save({"x": x, "dtype": dtype}, file)
    file.seek(0)
    loaded = weft.load(file)
    assert loaded["dtype"] is dtype
    for again in (loaded["x"], pickle.loads(pickle.dumps(x)), weft.from_dlpack(x)):
        assert again.dtype is dtype
        assert bits(again.clone()) == bits(x.clone())
    assert weft.from_dlpack(x).data_ptr() == x.data_ptr()


def test_files_name_the_dtype_as_pytorch_does():
    file = io.BytesIO()
    weft.save(weft.ones(2, dtype=weft.float8_e4m3fn), file)
    with zipfile.ZipFile(file) as archive:
        written = next(archive.read(name) for name in archive.namelist() if name.endswith("data.pkl"))
    for name in (b"_rebuild_tensor_v3", b"UntypedStorage", b"torch\nfloat8_e4m3fn\n"):
        assert name in written


@pytest.mark.parametrize(
    ("name", "code"), [("float8_e4m3fn", "F8_E4M3"), ("float8_e5m2", "F8_E5M2"), ("float8_e8m0fnu", "F8_E8M0")]
)
def test_safetensors_has_them(name, code):
    x = every_byte(getattr(weft, name))
    written = safetensors.save({"x": x})
    (length,) = struct.unpack("<Q", written[:8])
    assert f'"dtype":"{code}"'.encode() in written[8 : 8 + length]
    assert bits(safetensors.load(written)["x"]) == list(range(256))


def test_typed_storages_have_them():
    assert weft.ones(2).storage().float8_e5m2().tolist() == [1.0, 1.0]
    assert weft.TypedStorage([1, 1000], dtype=weft.float8_e4m3fn).tolist() == [1.0, 448.0]
    assert weft.ones(2, dtype=weft.float8_e5m2).storage().dtype is weft.float8_e5m2


def test_arrays_of_ml_dtypes_share_memory():
    array = np.array([1.0, 2.0], ml_dtypes.float8_e4m3fn)
    x = weft.from_numpy(array)
    assert x.dtype is weft.float8_e4m3fn
    x[0] = 4
    assert array.tolist() == [4.0, 2.0]

"""``weft.testing``: comparison with tolerances, random inputs, and a backend suite that finds what is wrong."""

import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import weft
from weft.backend import ArrayNamespaceBackend, Backend, NoEquivalentError
from weft.testing import _comparison, assert_close, call, checks, make_tensor, samples
from weft.testing._samples import sample_inputs, sample_names

tensor = weft.tensor


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (tensor([1.0, 2.0]), tensor([1.0, 2.0 + 2e-6])),
        (tensor([1.0, 2.0], dtype=weft.float64), tensor([1.0, 2.0 + 1e-7], dtype=weft.float64)),
        (tensor([1.0], dtype=weft.bfloat16), tensor([1.0078125], dtype=weft.bfloat16)),
        (tensor(float("inf")), tensor(float("inf"))),
        (1.0, 1.0 + 1e-8),
        (1 + 2j, 1 + 2j),
        ([tensor([1]), {"a": tensor(2.0)}], [tensor([1]), {"a": tensor(2.0)}]),
        (np.ones(2), np.ones(2)),
        (None, None),
    ],
)
def test_close_values_pass(actual, expected):
    assert_close(actual, expected)


@pytest.mark.parametrize(
    ("actual", "expected", "message"),
    [
        (
            tensor([1.0, 2.0, 3.0]),
            tensor([1.0, 2.5, 3.0]),
            "Tensor-likes are not close!\n\nMismatched elements: 1 / 3 (33.3%)\n"
            "Greatest absolute difference: 0.5 at index (1,) (up to 1e-05 allowed)\n"
            "Greatest relative difference: 0.2 at index (1,) (up to 1.3e-06 allowed)",
        ),
        (
            1.0,
            2.0,
            "Scalars are not close!\n\nExpected 2.0 but got 1.0.\n"
            "Absolute difference: 1.0 (up to 1e-07 allowed)\nRelative difference: 0.5 (up to 1e-07 allowed)",
        ),
        (tensor([1]), tensor([2]), "Tensor-likes are not equal!"),
        (tensor([1]), tensor([1.0]), "The values for attribute 'dtype' do not match"),
        (tensor([[1.0]]), tensor([1.0]), "The values for attribute 'shape' do not match"),
        (tensor([float("nan")]), tensor([float("nan")]), "Tensor-likes are not close!"),
        ([1], [1, 2], "The length of the sequences mismatch: 1 != 2"),
        ([tensor([1]), tensor([2])], [tensor([1]), tensor([3])], "The failure occurred for item [1]"),
        ({"a": 1}, {"b": 1}, "Missing keys in the actual mapping: ['b']\nAdditional keys in the actual mapping: ['a']"),
    ],
)
def test_what_differs_is_told(actual, expected, message):
    with pytest.raises(AssertionError) as error:
        assert_close(actual, expected)
    assert message in str(error.value)


def test_tolerances_come_in_pairs():
    with pytest.raises(ValueError, match="got no atol"):
        assert_close(1.0, 1.0, rtol=0.1)
    assert_close(1.0, 1.5, rtol=0.0, atol=0.6)


def test_nan_equals_nan_on_request():
    assert_close(tensor([float("nan")]), tensor([float("nan")]), equal_nan=True)


def test_other_things_cannot_be_compared():
    with pytest.raises(TypeError, match="cannot compare"):
        assert_close("a", "a")
    with pytest.raises(TypeError, match="cannot compare"):
        assert_close(tensor([1.0]), 1.0)


def test_a_message_may_be_replaced_or_made_from_the_usual_one():
    with pytest.raises(AssertionError, match=r"^mine$"):
        assert_close(1.0, 2.0, msg="mine")
    with pytest.raises(AssertionError, match=r"^mine: Scalars are not close!"):
        assert_close(1.0, 2.0, msg=lambda usual: f"mine: {usual}")


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float32", "bfloat16", "complex64"])
def test_made_tensors_have_the_dtype_shape_and_bounds_they_were_asked_for(dtype):
    dtype = getattr(weft, dtype)
    made = make_tensor(3, 4, dtype=dtype, device="cpu")
    assert made.dtype is dtype
    assert tuple(made.shape) == (3, 4)
    if dtype.is_floating_point:
        drawn = make_tensor((500,), dtype=dtype, device="cpu", low=2, high=3)
        assert bool((drawn >= 2).all())
        assert bool((drawn <= 3).all())


def test_a_made_tensor_may_be_noncontiguous_without_zeros_and_require_grad():
    assert not make_tensor(3, 4, dtype=weft.float32, device="cpu", noncontiguous=True).is_contiguous()
    assert bool((make_tensor(100, dtype=weft.int64, device="cpu", low=0, high=2, exclude_zero=True) == 1).all())
    assert make_tensor(2, dtype=weft.float32, device="cpu", requires_grad=True).requires_grad
    with pytest.raises(ValueError, match="`low` must be less than `high`"):
        make_tensor(2, dtype=weft.int32, device="cpu", low=1, high=1)


def test_every_op_with_samples_gives_the_same_ones_each_time():
    first, again = (list(sample_inputs("core::add", weft.float32)) for _ in range(2))
    assert len(first) > 4
    assert_close([args for args, _ in first], [args for args, _ in again])


def test_an_author_declares_samples_beside_an_op(monkeypatch):
    monkeypatch.setattr("weft.testing._samples._generators", {})

    @samples("sparkle::glow")
    def _(make):
        yield call(make(2, 3), dim=1)

    assert "sparkle::glow" in sample_names()
    ((args, kwargs),) = sample_inputs("sparkle::glow", weft.float32)
    assert tuple(args[0].shape) == (2, 3)
    assert kwargs == {"dim": 1}


@pytest.fixture
def broken(monkeypatch):
    """Put a device in the registry that is made for the test, and take it out again."""
    from weft import plugins

    def install(name, backend):
        monkeypatch.setitem(plugins._registry._backends, name, backend)
        return {check.name: check for check in checks(name, ("float32", "int64"))}

    return install


class Copying(ArrayNamespaceBackend):
    def from_numpy(self, array, index):
        return array.copy()

    def to_numpy(self, array):
        return array.copy()


def test_a_right_backend_passes(broken):
    for check in broken("rightdevice", Copying("rightdevice", np)).values():
        check()


def test_the_suite_finds_memory_that_is_shared_with_the_cpu(broken):
    found = broken("shareddevice", ArrayNamespaceBackend("shareddevice", np))
    with pytest.raises(AssertionError, match=r"not equal|not close"):
        found["copies_own_their_memory"]()


def test_the_suite_finds_a_wrong_kernel_by_the_name_of_its_op(broken):
    backend = Copying("wrongdevice", np)
    backend.kernels["core::exp"] = np.exp2
    found = broken("wrongdevice", backend)
    found["op_agrees[core::add]"]()
    with pytest.raises(AssertionError, match="not close"):
        found["op_agrees[core::exp]"]()


def test_the_suite_finds_random_numbers_that_do_not_repeat(broken):
    class Restless(Copying):
        def random_stream(self, seed, index):
            stream = super().random_stream(seed, index)
            stream.seed = lambda seed: None  # goes on instead of starting over
            return stream

    found = broken("restlessdevice", Restless("restlessdevice", np))
    with pytest.raises(AssertionError, match="the same seed gave other numbers"):
        found["random_numbers_repeat"]()


def test_the_suite_accepts_that_a_backend_has_no_scipy(broken):
    class Plain(Copying):
        def scientific(self, module):
            return Backend.scientific(self, module)

    class Library:  # NumPy's namespace, told from NumPy itself
        def __getattr__(self, name):
            return getattr(np, name)

    found = broken("plaindevice", Plain("plaindevice", Library()))
    with pytest.raises(
        NoEquivalentError, match=r"bessel_j0: the plaindevice backend has no equivalent of scipy.special"
    ):
        weft.special.bessel_j0(weft.ones(2, device="plaindevice"))
    found["op_agrees[core::bessel_j0]"]()
    found["gradient_agrees[core::igamma]"]()


def test_a_backend_of_numpys_arrays_has_scipys_functions(broken):
    pytest.importorskip("scipy")
    found = broken("rightdevice", Copying("rightdevice", np))
    assert weft.special.bessel_j0(weft.zeros(1, device="rightdevice")).tolist() == [1]
    found["op_agrees[core::bessel_j0]"]()


@pytest.mark.parametrize(("actual", "expected"), [(1, 1.0), (True, 1), ([1], [1.0]), (np.float64(1), 1), (1, 1 + 0j)])
def test_numbers_of_different_types_are_equal_only_without_check_dtype(actual, expected):
    with pytest.raises(AssertionError, match=r"\(d\)types do not match"):
        assert_close(actual, expected)
    assert_close(actual, expected, check_dtype=False)


def test_assert_allclose_compares_across_dtypes_and_is_deprecated():
    with pytest.warns(FutureWarning, match="assert_close"):
        weft.testing.assert_allclose(weft.ones(2), [1, 1])
    with pytest.warns(FutureWarning), pytest.raises(AssertionError):
        weft.testing.assert_allclose(weft.ones(2), weft.zeros(2))


class Even(_comparison.TensorLikePair):
    """Compares what is left when all values are halved, as a suite's own pair may."""

    def compare(self):
        self._compare_attributes(self.actual, self.expected)
        self._compare_values(*(each // 2 for each in self._equalize_attributes(self.actual, self.expected)))


PAIRS = (
    _comparison.NonePair,
    _comparison.BooleanPair,
    _comparison.NumberPair,
    Even,
    _comparison.ObjectPair,
)


@pytest.mark.parametrize(
    ("actual", "expected", "said"),
    [
        (tensor([2, 4]), tensor([3, 5]), ""),
        (tensor([2, 4]), tensor([3, 6]), "Mismatched elements: 1 / 2"),
        (tensor([2, 4]), tensor([2.0, 4.0]), "attribute 'dtype' do not match"),
        (None, None, ""),
        (None, 1, "None mismatch"),
        (True, np.bool_(True), ""),
        (True, False, "Booleans mismatch"),
        (1.0, 1.0 + 1e-9, ""),
        (1.0, 2.0, "Scalars are not close"),
        ("a", "b", "a != b"),
        ({"a": [1, tensor(2)]}, {"a": [1, tensor(4)]}, r"failure occurred for item \['a'\]\[1\]"),
        ([1], [1, 2], "length of the sequences mismatch: 1 != 2"),
        ({"a": 1}, {"b": 1}, r"Missing keys in the actual mapping: \['b'\]"),
    ],
)
def test_pairs_of_a_suites_own_are_compared(actual, expected, said):
    """torchvision's tests compare images by a pair that they derive."""
    found = _comparison.not_close_error_metas(actual, expected, pair_types=PAIRS)
    assert len(found) == bool(said)
    for each in found:
        with pytest.raises(AssertionError, match=said):
            raise each.to_error()
        assert str(each.to_error(lambda text: text + "!"))[-1] == "!"
        assert str(each.to_error("mine")) == "mine"


def test_values_that_no_pair_takes_are_a_type_error():
    (found,) = _comparison.not_close_error_metas("a", "b", pair_types=[_comparison.NumberPair])
    with pytest.raises(TypeError, match="No comparison pair was able to handle inputs of type <class 'str'>"):
        raise found.to_error()


def test_floats_may_be_drawn_from_one_number_with_a_warning():
    """As torchvision's tests of the focal loss do."""
    with pytest.warns(FutureWarning, match=r"low==high.*both are 2\.0"):
        made = make_tensor(3, dtype=weft.float32, device="cpu", low=2.0, high=2.0)
    assert made.tolist() == [2, 2, 2]


def test_generators_are_put_back_after_a_block():
    from weft.testing import _utils

    weft.manual_seed(3)
    with _utils.freeze_rng_state():
        inside = weft.rand(2)
    seeded = _utils.wrapper_set_seed(weft.rand, 2)
    assert inside.equal(weft.rand(2))
    assert seeded.equal(_utils.wrapper_set_seed(weft.rand, 2))


@pytest.mark.parametrize(("options", "words"), [
    ({"low": float("nan")}, "`low` and `high` cannot be NaN"),
    ({"low": 5, "high": 4}, "`low` must be less than `high`, but got 5 >= 4"),
    ({"dtype": weft.uint8, "low": 300, "high": 400}, r"only supports \[0, 256\)"),
    ({"dtype": weft.int64, "requires_grad": True}, "is not supported for boolean and integral dtypes"),
    ({"noncontiguous": True, "memory_format": weft.channels_last}, "mutually exclusive"),
])  # fmt: skip
def test_make_tensor_refuses_options_that_contradict_each_other(options, words):
    with pytest.raises(ValueError, match=words):
        make_tensor((2,), **{"dtype": weft.float32, "device": "cpu"} | options)


def test_make_tensor_draws_from_the_part_of_an_interval_that_a_dtype_has():
    assert make_tensor((50,), dtype=weft.uint8, device="cpu", low=-300, high=2).max() < 2


@pytest.mark.parametrize(
    ("actual", "expected", "options", "said"),
    [
        (weft.eye(2).to_sparse(), weft.eye(2).to_sparse(), {}, ""),
        (weft.eye(2).to_sparse(), weft.ones(2, 2).to_sparse(), {}, "number of specified values"),
        (weft.eye(2).to_sparse(), 2 * weft.eye(2).to_sparse(), {}, "Mismatched elements: 2 / 2"),
        (weft.eye(2).to_sparse_csr(), weft.eye(2).flip(0).to_sparse_csr(), {}, "Mismatched elements"),
        (weft.eye(2).to_sparse(), weft.eye(2), {}, "attribute 'layout'"),
        (weft.eye(2).to_sparse(), weft.eye(2), {"check_layout": False}, ""),
        (weft.ones(2, device="meta"), weft.zeros(2, device="meta"), {}, ""),
        (tensor([3], dtype=weft.uint16), tensor([3], dtype=weft.int8), {"check_dtype": False}, ""),
        (weft.ones(2, 3).T, weft.ones(3, 2), {"check_stride": True}, r"attribute 'stride\(\)'"),
        (1, 1.0, {}, ""),
        (1, 1.0, {"check_dtype": True}, r"\(d\)types do not match"),
    ],
)
def test_pairs_compare_layouts_and_attributes(actual, expected, options, said):
    kinds = _comparison.NumberPair, _comparison.TensorLikePair
    found = _comparison.not_close_error_metas(actual, expected, pair_types=kinds, **options)
    assert len(found) == bool(said)
    for each in found:
        assert re.search(said, each.msg)


def test_a_suites_own_numbers_choose_types_and_tolerances():
    """PyTorch's test classes derive such pairs: they take tensors of one element for numbers."""

    class Relaxed(_comparison.NumberPair):
        _TYPE_TO_DTYPE = {int: weft.int64, float: weft.float32}

        def _process_inputs(self, actual, expected, *, id):
            return [self._to_number(each, id=id) for each in (actual, expected)]

        def _to_number(self, value, *, id):
            return value.item() if isinstance(value, weft.Tensor) else super()._to_number(value, id=id)

    pair = Relaxed(weft.tensor(1.0), 1 + 1e-6)
    pair.compare()
    assert (pair.rtol, pair.atol) == (1.3e-6, 1e-5)
    assert "rtol=1.3e-06" in repr(pair)
    with pytest.raises(_comparison.ErrorMeta):
        Relaxed(weft.tensor(1.0), 1.1).compare()


def test_a_distributed_tensor_is_not_compared_with_a_plain_one(monkeypatch):
    class DTensor:
        placements = device_mesh = ()

        def to_local(self):
            return weft.ones(2)

    monkeypatch.setitem(sys.modules, "weft.distributed.tensor", SimpleNamespace(DTensor=DTensor))
    assert_close(DTensor(), DTensor())
    with pytest.raises(TypeError, match="DTensor to a non-DTensor"):
        assert_close(DTensor(), weft.ones(2))
    other = DTensor()
    other.placements = (1,)
    with pytest.raises(AssertionError, match="placements do not match"):
        assert_close(DTensor(), other)

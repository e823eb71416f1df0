"""Order: the quick paths give what the plain ones give."""

import numpy as np
import pytest

import weft
from weft.ops.sorting import bisected, distinct_slices, searched

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("descending", [False, True])
def test_equal_elements_stay_in_their_order(descending):
    x = weft.tensor([[2, 1, 2, 1], [4, 3, 2, 1]])
    expected = [[0, 2, 1, 3], [0, 1, 2, 3]] if descending else [[1, 3, 0, 2], [3, 2, 1, 0]]
    assert weft.sort(x, descending=descending, stable=True).indices.tolist() == expected


def test_nan_counts_as_largest():
    x = weft.tensor([1.0, float("nan"), 3.0])
    assert weft.argsort(x).tolist() == [0, 2, 1]
    assert weft.topk(x, 1).indices.tolist() == [1]


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("k", [0, 1, 5, 40])
def test_topk_is_the_beginning_of_sort(dim, largest, k):
    x = weft.from_numpy(np.random.default_rng(0).standard_normal((50, 60)))
    found, whole = weft.topk(x, k, dim, largest), weft.sort(x, dim, descending=largest)
    assert weft.equal(found.values, whole.values.narrow(dim, 0, k))
    assert weft.equal(found.indices, whole.indices.narrow(dim, 0, k))


def test_kthvalue_owns_its_memory():
    values = weft.kthvalue(weft.rand(100, 100), 3).values
    assert values.untyped_storage().nbytes() == 400


@pytest.mark.parametrize("element", [weft.float16, weft.bfloat16], ids=str)
def test_nan_is_the_largest_of_half_precision_numbers_too(element):
    x = weft.tensor([3.0, float("nan"), 1.0, 2.0], dtype=element)
    assert weft.sort(x).indices.tolist() == [2, 3, 0, 1]
    assert weft.topk(x, 2, largest=False).values.tolist() == [1.0, 2.0]
    assert weft.kthvalue(x, 2).values.item() == 2.0
    assert weft.nanmedian(x).item() == 2.0


def test_every_nan_is_a_distinct_value():
    values = weft.unique(weft.tensor([float("nan"), 1.0, float("nan")]))
    assert values.isnan().tolist() == [False, True, True]


def test_a_count_beyond_64_bits_is_refused():
    with pytest.raises(RuntimeError, match="bincount"):
        weft.bincount(weft.tensor([2**63 - 1]))


@pytest.mark.parametrize("name", ["kthvalue", "mode", "cummax"])
def test_complex_numbers_have_no_order(name):
    arguments = () if name == "mode" else (1,) if name == "kthvalue" else (0,)
    with pytest.raises(NotImplementedError, match=name):
        getattr(weft, name)(weft.ones(3, dtype=weft.complex64), *arguments)


def test_slices_without_elements_are_not_counted():
    with pytest.raises(RuntimeError, match="unique"):
        weft.unique(weft.ones(0, 3), dim=1)


def test_quantiles_of_infinite_elements_are_not_nan():
    assert weft.quantile(weft.tensor([1.0, float("inf"), 3.0, 4.0]), 0.5).item() == 3.5
    assert weft.quantile(weft.tensor([1.0, float("nan"), 3.0]), 0.5).isnan()


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("count", [4, 20])
def test_searches_in_rows_are_those_in_each_row(right, count):
    rows, values = np.sort(RNG.integers(0, 9, (5, 7)), axis=1), RNG.integers(-1, 11, (5, count))
    expected = [np.searchsorted(*pair, side="right" if right else "left") for pair in zip(rows, values)]
    got = weft.searchsorted(weft.tensor(rows), weft.tensor(values), right=right)
    assert got.tolist() == np.stack(expected).tolist()
    assert weft.searchsorted(weft.zeros(2, 0), weft.zeros(2, 3)).tolist() == [[0, 0, 0]] * 2


def test_nan_at_the_end_of_a_sequence_is_before_every_value():
    sequence = weft.tensor([1.0, float("nan")])
    assert weft.searchsorted(sequence, weft.tensor([float("nan"), 5.0])).tolist() == [2, 2]


@pytest.mark.parametrize(("number", "position"), [(2.5, 3), (300, 4), (-1, 0), (-0.5, 0), (2**40, 4)])
def test_a_number_that_the_sequence_cannot_hold_has_its_place_in_it(number, position):
    for dtype in (weft.uint8, weft.int8, weft.int32):
        x = weft.tensor([0, 1, 2, 3], dtype=dtype)
        assert weft.searchsorted(x, number).item() == position
        assert weft.bucketize(number, x).item() == position


def test_no_small_integer_is_a_number_beyond_its_dtype():
    x = weft.tensor([44, 0], dtype=weft.uint8)
    assert weft.isin(x, 300).tolist() == [False, False]
    assert weft.isin(x, 44.5).tolist() == [False, False]
    assert weft.isin(x, 44.0).tolist() == [True, False]


@pytest.mark.parametrize("out", [False, True])
def test_values_and_boundaries_of_two_dtypes_are_compared_as_their_common_one(out):
    def places(values, boundaries, **options):
        found = weft.empty(0, dtype=weft.int64) if out else None
        return weft.bucketize(weft.tensor(values), boundaries, out=found, **options).tolist()

    assert places([1.5, -1.0, 0.5], weft.tensor([1, 2])) == [1, 0, 0]
    assert places([-1.0, 0.5, 1.0], weft.tensor([False, True])) == [0, 1, 1]
    assert places([300, -1], weft.tensor([1, 200], dtype=weft.uint8)) == [2, 0]
    assert places([1.5], weft.tensor([1, 2], dtype=weft.int8), right=True) == [1]


@pytest.mark.parametrize("name", ["max", "sort", "frexp", "linalg_svd", "max_out", "linalg_ldl_factor_ex"])
def test_types_of_results_are_made_of_one_sequence_or_one_by_one(name):
    kind = getattr(weft.return_types, name)
    parts = [weft.tensor(float(each)) for each in range(kind.n_fields)]
    assert kind.n_fields == kind.n_sequence_fields == len(kind._fields)
    for made in (kind(parts), kind(*parts)):
        assert type(made) is kind
        assert made.n_unnamed_fields == 0
        assert all(one is other for one, other in zip(made, parts))
    with pytest.raises(TypeError, match="takes a"):
        kind(parts[1:])


# What devices compute by, which must not look at values


@pytest.mark.parametrize("numbers", [0, 1, 2, 3, 5, 6, 7, 8, 40])
@pytest.mark.parametrize("missing", [0, 1, 2, 9])
@pytest.mark.parametrize("right", [False, True])
def test_one_search_finds_what_bisecting_finds_of_nan_too(numbers, missing, right):
    sequence = np.concatenate([np.sort(RNG.integers(-9, 9, numbers).astype(float)), np.full(missing, np.nan)])
    values = np.array([-np.inf, *np.arange(-10.5, 10, 0.5), np.inf, np.nan])
    found = searched(np, sequence, values, right)
    assert found.tolist() == bisected(np, sequence[None], values[None], right)[0].tolist()
    assert found.dtype == np.int64


@pytest.mark.parametrize("shape", [(1, 3), (0, 3), (40, 1), (40, 2), (9, 2, 3), (9, 1, 0)])
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float32"])
def test_distinct_slices_are_those_of_numpy(shape, dim, dtype):
    array = np.swapaxes(RNG.integers(0, 2, shape), 0, dim).astype(dtype)
    if not array.size:
        array = np.zeros([size or 1 for size in array.shape], dtype)
    expected = np.unique(array, return_inverse=True, return_counts=True, axis=dim)
    for found, wanted in zip(distinct_slices(np, array, dim), expected):
        np.testing.assert_array_equal(found, wanted.reshape(found.shape))
        assert found.flags.c_contiguous


def test_quantile_of_a_number_outside_of_0_and_1_is_refused():
    for q in (-0.1, 1.1, float("nan"), weft.tensor([0.5, 2.0])):
        with pytest.raises(RuntimeError, match=r"range \[0, 1\]"):
            weft.quantile(weft.ones(3), q)

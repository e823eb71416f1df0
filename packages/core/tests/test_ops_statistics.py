"""Statistics of several variables, histograms, and derivatives by differences."""

import numpy
import pytest

import weft


def test_cov_of_opposite_variables():
    assert weft.cov(weft.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]])).tolist() == [[1.0, -1.0], [-1.0, 1.0]]


def test_frequencies_count_observations_several_times():
    x = weft.tensor([1.0, 2.0, 4.0])
    repeated = weft.tensor([1.0, 2.0, 2.0, 4.0])
    assert weft.cov(x, fweights=weft.tensor([1, 2, 1])).item() == pytest.approx(weft.cov(repeated).item())


def test_corrcoef_of_proportional_variables_is_one():
    x = weft.tensor([1.0, 2.0, 4.0])
    assert weft.corrcoef(weft.stack([x, 3 * x])).tolist() == [pytest.approx([1.0, 1.0])] * 2


def test_the_last_bin_of_a_histogram_has_both_its_edges():
    hist, edges = weft.histogram(weft.tensor([0.0, 1.0, 1.0, 2.0]), 2)
    assert hist.tolist() == [1.0, 3.0]
    assert edges.tolist() == [0.0, 1.0, 2.0]


def test_a_density_integrates_to_one():
    hist, edges = weft.histogram(weft.tensor([0.1, 0.2, 3.0]), weft.tensor([0.0, 1.0, 4.0]), density=True)
    assert (hist * edges.diff()).sum().item() == pytest.approx(1.0)


def test_gradient_of_a_square_is_exact_inside_and_with_second_order_at_the_ends():
    x = weft.tensor([0.0, 1.0, 3.0, 4.0])
    (slope,) = weft.gradient(x * x, spacing=[x], edge_order=2)
    assert slope.tolist() == pytest.approx([0.0, 2.0, 6.0, 8.0], abs=1e-6)


def test_unravel_index_is_the_inverse_of_the_flat_position():
    rows, columns = weft.unravel_index(weft.tensor([0, 4, 5]), (2, 3))
    assert (rows * 3 + columns).tolist() == [0, 4, 5]


def test_combinations_come_in_order():
    assert weft.combinations(weft.tensor([1, 2, 3])).tolist() == [[1, 2], [1, 3], [2, 3]]
    assert weft.combinations(weft.tensor([1, 2]), with_replacement=True).tolist() == [[1, 1], [1, 2], [2, 2]]


def test_more_choices_than_memory_holds_are_refused_before_any_is_made():
    with pytest.raises(RuntimeError, match="combinations"):
        weft.combinations(weft.ones(1000), 100)


def test_a_range_of_a_histogram_has_two_ends():
    with pytest.raises(RuntimeError, match="2 elements"):
        weft.histogram(weft.ones(3), 3, range=(1.0,))


def test_edges_that_are_returned_are_not_those_that_were_given():
    edges = weft.tensor([0.0, 1.0, 2.0])
    found = weft.histogram(weft.tensor([0.5]), edges).bin_edges
    found.zero_()
    assert edges.tolist() == [0, 1, 2]
    found = weft.histogramdd(weft.tensor([[0.5]]), [edges]).bin_edges[0]
    found.zero_()
    assert edges.tolist() == [0, 1, 2]


@pytest.mark.parametrize("edge_order", [1, 2])
@pytest.mark.parametrize("dtype", ["int64", "float32", "complex64"])
def test_gradient_at_even_distances_is_numpys_beside_infinite_samples_too(dtype, edge_order):
    x = numpy.array([2, -2, 5, 7, 1, 3]).astype(dtype)
    if dtype == "float32":
        x = numpy.array([2, -2, numpy.inf, numpy.inf, -numpy.inf, 3, 5, numpy.nan, 3, 4, 6], dtype)
    with numpy.errstate(invalid="ignore"):
        (expected,) = [numpy.gradient(x, 2.0, edge_order=edge_order)]
    (slope,) = weft.gradient(weft.from_numpy(x), spacing=2.0, edge_order=edge_order)
    assert numpy.allclose(slope.numpy(), expected, equal_nan=True)


def test_gradient_refuses_unsigned_samples_and_coordinates_of_two_dimensions():
    with pytest.raises(RuntimeError, match="uint8"):
        weft.gradient(weft.tensor([1, 2, 3], dtype=weft.uint8))
    with pytest.raises(RuntimeError, match="one dimension"):
        weft.gradient(weft.rand(3), spacing=[weft.rand(3, 1)])

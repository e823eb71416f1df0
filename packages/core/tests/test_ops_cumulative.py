"""Running sums."""

import numpy as np
import pytest

import weft
from weft.autograd import gradcheck
from weft.ops.cumulative import on_their_branches


@pytest.mark.parametrize("size", [256, 257, 1000, 1024])
@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3)])
def test_sums_in_blocks_are_the_sums(shape, size):
    x = np.random.default_rng(0).standard_normal((*shape, size))
    assert np.allclose(weft.from_numpy(x).cumsum(-1).numpy(), np.cumsum(x, -1), rtol=1e-12, atol=1e-12)


def test_an_infinity_stays_and_two_of_unlike_signs_make_nan():
    x = weft.zeros(300)
    x[10], x[200] = float("inf"), -float("inf")
    sums = x.cumsum(0)
    assert sums[9].item() == 0.0
    assert sums[100].item() == float("inf")
    assert sums[250].isnan().item()


def test_the_gradient_of_the_first_element_counts_all_sums():
    x = weft.ones(500, requires_grad=True)
    x.cumsum(0).sum().backward()
    assert (x.grad[0].item(), x.grad[499].item()) == (500.0, 1.0)


def test_running_logarithms_of_complex_sums_have_their_closed_form_and_gradient():
    x = weft.tensor([0.5 + 1.0j, -1.0 + 2.0j, 2.0 - 0.5j], dtype=weft.complex128, requires_grad=True)
    got = weft.logcumsumexp(x, 0)
    expected = np.cumsum(np.exp(x.detach().numpy()))
    np.testing.assert_allclose(np.exp(got.detach().numpy()), expected)
    assert gradcheck(lambda x: weft.logcumsumexp(x, 0), (x,))


@pytest.mark.parametrize("product", [lambda x: weft.cumprod(x, 0).sum(), lambda x: weft.prod(x)])
def test_gradients_of_products_are_those_of_each_example_of_a_batch(product):
    x = weft.tensor([[1.0, 2.0, 3.0], [0.0, 1.0, 2.0]])
    mapped = weft.func.vmap(weft.func.grad(product))(x)
    assert weft.equal(mapped, weft.stack([weft.func.grad(product)(row) for row in x]))


def test_softmax_of_a_single_number_is_1_unless_it_is_infinite():
    assert weft.softmax(weft.tensor(3.0), 0).item() == 1.0
    assert weft.softmax(weft.tensor(float("-inf")), 0).isnan()
    assert weft.log_softmax(weft.tensor(3.0), 0).item() == 0.0


@pytest.mark.parametrize("shape", [(100_003,), (3, 2000), (2000, 3), (50, 7)])
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_running_results_are_as_exact_as_their_dtype(name, shape):
    x = np.random.default_rng(0).random(shape).astype(np.float32) * 0.01 + (name == "cumprod")
    for dim in range(len(shape)):
        with np.errstate(over="ignore"):
            expected = getattr(np, name)(x, axis=dim, dtype=np.float64).astype(np.float32)
        got = getattr(weft, name)(weft.tensor(x), dim).numpy()
        np.testing.assert_allclose(got, expected, rtol=5e-7)


def test_a_running_product_passes_beyond_the_range_of_its_dtype():
    assert weft.cumprod(weft.tensor([1e30, 1e30, 1e-30]), 0).tolist() == pytest.approx([1e30, np.inf, 1e30])


def test_the_step_of_a_trapezoidal_sum_does_not_wrap_around():
    y = weft.tensor([0, 1, 2, 3], dtype=weft.uint8)
    assert weft.cumulative_trapezoid(y, dx=300).tolist() == [150.0, 600.0, 1350.0]
    assert weft.cumulative_trapezoid(y, dx=-1).tolist() == [-0.5, -2.0, -4.5]
    for step in (True, 2j):
        with pytest.raises(RuntimeError, match="only support dx as a real number"):
            weft.trapezoid(y, dx=step)


def test_running_logarithms_of_complex_sums_keep_small_terms_infinities_and_nan():
    x = weft.tensor([3j, -40 + 1j, -41 - 2j], dtype=weft.complex128)
    terms = (x - 3j).exp().real.tolist()  # what they add to 3j; of log(1 + z) the rest is below the last digit
    np.testing.assert_allclose(x.logcumsumexp(0).real.tolist(), [0, terms[1], terms[1] + terms[2]], rtol=1e-12)
    inf, nan = float("inf"), float("nan")
    none = weft.tensor([complex(-inf, 1), -inf, 1 + 2j], dtype=weft.complex128).logcumsumexp(0).tolist()
    assert none == [-inf, -inf, 1 + 2j]
    lost = weft.tensor([1, complex(nan, 1), 2], dtype=weft.complex128).logcumsumexp(0)
    assert lost.isnan().tolist() == [False, True, True]


@pytest.mark.parametrize("name", ["trapezoid", "cumulative_trapezoid"])
def test_an_integral_takes_places_or_one_distance_and_not_both(name):
    with pytest.raises(TypeError, match="x and dx"):
        getattr(weft, name)(weft.ones(2), weft.tensor([0.0, 3.0]), dx=2)


def test_differences_of_order_zero_are_a_copy():
    x = weft.arange(3.0)
    assert weft.diff(x, 0).zero_().tolist() == [0, 0, 0]
    assert x.tolist() == [0, 1, 2]


@pytest.mark.parametrize("shape", [(0,), (1,), (2, 0), (0, 3)])
def test_integrals_over_nothing_are_empty(shape):
    made = weft.cumulative_trapezoid(weft.ones(shape))
    assert made.shape == (*shape[:-1], max(shape[-1] - 1, 0))


@pytest.mark.parametrize("zeros", [[0], [3], [0, 1], [2, 5], [6], [1, 2, 3, 4, 5, 6]])
@pytest.mark.parametrize("dtype", [weft.float64, weft.complex128], ids=str)
@pytest.mark.parametrize("dim", [0, 1])
def test_gradients_of_products_about_zeros_are_sums_of_the_products_of_the_others(zeros, dtype, dim):
    x = weft.arange(1.0, 15).reshape(7, 2).to(dtype)
    x = x if dim == 0 else x.t().contiguous()
    x.index_fill_(dim, weft.tensor(zeros), 0)
    x.requires_grad_()
    weights = weft.linspace(-1, 2, 14, dtype=weft.float64).reshape(x.shape).to(dtype)
    values, graph = x.cumprod(dim), (x.cumprod(dim) * weights).sum()
    first = weft.autograd.grad(values, x, weights, retain_graph=True)[0]
    again = weft.autograd.grad(graph.real if dtype.is_complex else graph, x, create_graph=True)[0]
    assert weft.allclose(first, again.detach())
    assert weft.autograd.gradcheck(lambda each: each.cumprod(dim), x)


def test_products_of_many_numbers_with_a_zero_have_a_gradient_at_once():
    x = weft.ones(100_000, requires_grad=True)
    with weft.no_grad():
        x[50_000] = 0
    x.cumprod(0).sum().backward()
    assert x.grad[0] == 50_000 and x.grad[49_999] == 1 and x.grad[50_000] == 50_000 and not x.grad[50_001:].any()


@pytest.mark.parametrize("dim", [0, 1])
def test_logarithms_of_complex_sums_get_the_turns_of_adding_one_by_one(dim):
    rng = np.random.default_rng(3)
    x = 3 * rng.standard_normal((50, 40)) + 9j * rng.standard_normal((50, 40))
    x[3, 4:8] = -np.inf
    expected = weft.from_numpy(x).logcumsumexp(dim).numpy()
    turned = expected + 2j * np.pi * rng.integers(-3, 4, x.shape)
    turned[np.isinf(expected)] = -np.inf
    found = on_their_branches(np, x, turned, dim)
    np.testing.assert_allclose(found.real, expected.real)
    np.testing.assert_allclose(found.imag[np.isfinite(expected)], expected.imag[np.isfinite(expected)], atol=1e-12)

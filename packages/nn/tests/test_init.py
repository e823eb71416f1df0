"""weft.nn.init: distributions, structure, and PyTorch's numbers for a seed."""

import math

import numpy as np
import pytest

import weft
from weft import nn
from weft.nn import init


def test_functions_fill_in_place_without_recording_and_return_the_tensor():
    parameter = nn.Parameter(weft.zeros(3, 3))
    for fill in (init.uniform_, init.normal_, init.ones_, init.zeros_, init.eye_, init.xavier_uniform_):
        assert fill(parameter) is parameter
        assert parameter.grad_fn is None


@pytest.mark.parametrize(
    ("nonlinearity", "param", "gain"),
    [
        ("linear", None, 1.0),
        ("conv_transpose3d", None, 1.0),
        ("sigmoid", None, 1.0),
        ("tanh", None, 5 / 3),
        ("relu", None, math.sqrt(2)),
        ("leaky_relu", None, math.sqrt(2 / (1 + 0.01**2))),
        ("leaky_relu", 0.5, math.sqrt(1.6)),
        ("selu", None, 0.75),
    ],
)
def test_calculate_gain(nonlinearity, param, gain):
    assert init.calculate_gain(nonlinearity, param) == pytest.approx(gain)


@pytest.mark.parametrize("args", [("softmax",), ("leaky_relu", "a"), ("leaky_relu", True)])
def test_calculate_gain_refuses(args):
    with pytest.raises(ValueError):
        init.calculate_gain(*args)


SHAPE = (40, 30, 5)  # fan_in 150, fan_out 200


@pytest.mark.parametrize(
    ("fill", "std"),
    [
        (lambda tensor: init.xavier_uniform_(tensor, gain=2.0), 2 * math.sqrt(2 / 350)),
        (lambda tensor: init.xavier_normal_(tensor), math.sqrt(2 / 350)),
        (lambda tensor: init.kaiming_uniform_(tensor, nonlinearity="relu"), math.sqrt(2 / 150)),
        (lambda tensor: init.kaiming_normal_(tensor, mode="fan_out", nonlinearity="relu"), math.sqrt(2 / 200)),
        (lambda tensor: init.kaiming_normal_(tensor, a=1.0), math.sqrt(1 / 150)),
        (lambda tensor: init.uniform_(tensor, -3, 3), math.sqrt(3)),
        (lambda tensor: init.normal_(tensor, 0, 2), 2.0),
    ],
)
def test_standard_deviations(fill, std):
    weft.manual_seed(0)
    values = fill(weft.zeros(SHAPE)).numpy()
    assert values.std() == pytest.approx(std, rel=0.03)
    assert abs(values.mean()) < 0.05 * std


def test_uniform_bounds_follow_from_the_variance():
    values = init.kaiming_uniform_(weft.zeros(SHAPE), a=math.sqrt(5)).numpy()
    assert np.abs(values).max() <= 1 / math.sqrt(150)
    assert np.abs(values).max() > 0.99 / math.sqrt(150)


@pytest.mark.parametrize(
    ("mean", "std", "a", "b"),
    [(0.0, 1.0, -2.0, 2.0), (0.0, 1.0, 1.0, 3.0), (1.0, 0.5, 0.0, 0.6), (0.0, 0.02, -2.0, 2.0)],
)
def test_trunc_normal_has_the_truncated_moments(mean, std, a, b):
    weft.manual_seed(0)
    values = init.trunc_normal_(weft.zeros(20000, dtype=weft.float64), mean, std, a, b).numpy()
    low, high = (a - mean) / std, (b - mean) / std
    density = [math.exp(-x * x / 2) / math.sqrt(2 * math.pi) for x in (low, high)]
    mass = (math.erf(high / math.sqrt(2)) - math.erf(low / math.sqrt(2))) / 2
    assert values.min() >= a
    assert values.max() <= b
    assert values.mean() == pytest.approx(mean + std * (density[0] - density[1]) / mass, abs=0.03 * std)


def test_trunc_normal_warns_of_a_mean_far_outside():
    with pytest.warns(UserWarning, match="more than 2 std"):
        init.trunc_normal_(weft.zeros(3), mean=9.0)


def test_eye_and_dirac_pass_inputs_on():
    assert init.eye_(weft.zeros(2, 3)).tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    weight = init.dirac_(weft.full((4, 2, 3), 9.0), groups=2)
    assert weight.sum().item() == 4.0
    assert [weight[output, output % 2, 1].item() for output in range(4)] == [1.0] * 4


@pytest.mark.parametrize(("shape", "rows_are_orthogonal"), [((3, 5), True), ((5, 3), False), ((4, 2, 2), True)])
def test_orthogonal(shape, rows_are_orthogonal):
    matrix = init.orthogonal_(weft.zeros(shape), gain=2).numpy().reshape(shape[0], -1)
    product = matrix @ matrix.T if rows_are_orthogonal else matrix.T @ matrix
    np.testing.assert_allclose(product, 4 * np.eye(len(product)), atol=1e-5)


def test_sparse_zeroes_a_fraction_of_each_column():
    matrix = init.sparse_(weft.zeros(10, 4), sparsity=0.35).numpy()
    assert ((matrix == 0).sum(axis=0) == 4).all()


@pytest.mark.parametrize(
    ("fill", "shape"),
    [
        (init.eye_, (3,)),
        (init.dirac_, (4, 2)),
        (lambda tensor: init.dirac_(tensor, groups=3), (4, 2, 3)),
        (init.xavier_normal_, (3,)),
        (lambda tensor: init.kaiming_normal_(tensor, mode="fan"), (3, 2)),
        (lambda tensor: init.kaiming_normal_(tensor, nonlinearity="x"), (3, 2)),
        (init.orthogonal_, (5,)),
        (lambda tensor: init.sparse_(tensor, 0.4), (6,)),
    ],
)
def test_wrong_shapes_and_options_are_refused(fill, shape):
    with pytest.raises(ValueError):
        fill(weft.zeros(shape))


def test_no_elements_is_a_no_op_with_a_warning():
    with pytest.warns(UserWarning, match="zero-element"):
        init.kaiming_uniform_(weft.zeros(3, 0))


def test_names_without_underscore_are_deprecated():
    with pytest.warns(FutureWarning, match="uniform_"):
        init.uniform(weft.zeros(2))


# What PyTorch 2.13 gives for seed 0.
OBSERVED = [
    ("uniform_", (2, 3), {"a": -1, "b": 2}, [0.48877, 1.30467, -0.73457, -0.60391, -0.07773, 0.90224]),
    ("normal_", (2, 3), {"mean": 1, "std": 2}, [4.08199, 0.41314, -3.35758, 2.13686, -1.16904, -1.79719]),
    (
        "trunc_normal_",
        (2, 10),
        {},
        [
            -1.12584,
            -1.15236,
            -0.25058,
            -0.43388,
            0.59884,
            -1.5551,
            -0.34136,
            1.85301,
            0.4681,
            -0.15771,
            1.44366,
            0.26605,
            1.38937,
            1.58633,
            0.9463,
            -0.84368,
            0.93183,
            1.25901,
            0.44551,
            0.05374,
        ],
    ),
    ("trunc_normal_", (2, 3), {"a": 2.0, "b": 3.0}, [2.02233, 2.16886, 2.08848, 2.13203, 2.30742, 2.37342]),
    ("xavier_uniform_", (2, 3), {}, [-0.0082, 0.58764, -0.9016, -0.80618, -0.42192, 0.29375]),
    ("xavier_normal_", (2, 3), {}, [0.97461, -0.18558, -1.37799, 0.35951, -0.68591, -0.88455]),
    ("kaiming_uniform_", (2, 3), {}, [-0.01059, 0.75865, -1.16396, -1.04077, -0.54469, 0.37923]),
    (
        "kaiming_normal_",
        (4, 5),
        {},
        [
            -0.71204,
            -0.72882,
            -0.15848,
            -0.27441,
            0.37874,
            -0.98353,
            -0.2159,
            1.17194,
            0.29605,
            -0.09975,
            0.91305,
            0.16826,
            0.87871,
            1.00329,
            0.59849,
            -0.53359,
            0.58934,
            0.79627,
            1.26806,
            0.03399,
        ],
    ),
    ("orthogonal_", (2, 3), {}, [0.57398, -0.10929, -0.81154, -0.34542, -0.93088, -0.11894]),
    ("sparse_", (4, 2), {"sparsity": 0.5}, [0.0, -0.00293, 0.0, 0.0, -0.01085, -0.01399, 0.00403, 0.0]),
]


@pytest.mark.parametrize(("name", "shape", "options", "expected"), OBSERVED)
def test_numbers_for_a_seed_are_those_of_pytorch(name, shape, options, expected):
    weft.manual_seed(0)
    tensor = getattr(init, name)(weft.zeros(shape), **options)
    np.testing.assert_allclose(tensor.numpy().ravel(), expected, atol=2e-5)


@pytest.mark.parametrize("name", ["uniform_", "normal_", "constant_", "kaiming_uniform_"])
def test_an_object_that_overrides_functions_sees_what_fills_it(name):
    class Other:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__, len(args)

    arguments = (Other(), 1.0) if name == "constant_" else (Other(),)
    assert getattr(weft.nn.init, name)(*arguments) == (name, len(arguments))

"""Philox and the samples made of it, with NumPy as the array namespace: no GPU is needed, nor CuPy."""

import math

import numpy
import pytest

from weft.backend_cuda.philox import MULTIPLIERS, PhiloxStream, philox

FLOAT32, FLOAT64, INT64 = (numpy.dtype(name) for name in ("float32", "float64", "int64"))
ONES = 0xFFFFFFFF


@pytest.fixture
def stream():
    return PhiloxStream(numpy, 0)


def words_of(counter, key):
    """The four words of a counter of four, by a key of two."""
    halves = numpy.array([[counter[0] | counter[1] << 32, counter[2] | counter[3] << 32]], numpy.uint64)
    even, odd = philox(numpy, halves, key[0] | key[1] << 32, MULTIPLIERS)
    return [int(each) for each in (even[0, 0], odd[0, 0], even[0, 1], odd[0, 1])]


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((ONES,) * 4, (ONES,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_words_are_those_of_random123(counter, key, words):
    """The known answers of philox4x32-10 in Random123's kat_vectors."""
    assert words_of(counter, key) == list(words)


def test_uniforms_and_normals_are_pytorchs_on_a_gpu(stream):
    """``torch.rand`` and ``torch.randn`` on a CUDA device after ``torch.manual_seed``, as published."""
    assert stream.uniform(3, FLOAT32) == pytest.approx([0.3990, 0.5167, 0.0249], abs=6e-5)
    stream.seed(0)
    assert stream.normal(5, FLOAT32) == pytest.approx([-0.9247, -0.4253, -2.6438, 0.1452, -0.1209], abs=6e-5)
    stream.seed(42)
    assert stream.uniform(3, FLOAT32) == pytest.approx([0.6130, 0.0101, 0.3984], abs=6e-5)


PUBLISHED = {  # on CUDA devices: multiprocessors, threads of each, seed; the first and the last two numbers
    "randn, RTX 3060": (28, 1536, 42, lambda s: s.normal(131072, FLOAT32), [0.1940, 2.1614], [1.2850, -0.0282]),
    "randn, H100": (132, 2048, 1, lambda s: s.normal(9483264, FLOAT32), [-0.2963, 2.6764], [-0.7780, 0.3267]),
    "randn, A100": (108, 2048, 1, lambda s: s.normal(9483264, FLOAT32), [-0.2963, 2.6764], [-0.6797, -0.1656]),
    "normal_, RTX A4000": (
        *(48, 1536, 14),
        lambda s: s.normal(100_000, FLOAT32, 5, 5**0.5),
        *([2.8731, 5.2727], [6.5395, 4.2604]),
    ),
    "exponential_, RTX 3060": (28, 1536, 0, lambda s: s.exponential(3, FLOAT32), [0.9187, 0.6603], [0.6603, 3.6917]),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_large_samples_are_pytorchs_on_each_gpu(name):
    """Issues 158398, 143086 and 97097 of PyTorch's; the layout of counters depends on the size of the device."""
    processors, threads, seed, sample, first, last = PUBLISHED[name]
    found = sample(PhiloxStream(numpy, seed, processors * threads))
    assert found[:2] == pytest.approx(first, abs=6e-5)
    assert found[-2:] == pytest.approx(last, abs=6e-5)


@pytest.mark.parametrize(("processors", "total"), [(56, 999_826), (13, 999_100)])
def test_as_many_elements_are_dropped_as_by_pytorch(processors, total):
    """Issue 25690 of PyTorch's: a million ones through dropout on a P100 and a K80, by a kernel of that time."""
    stream = PhiloxStream(numpy, 0, processors * 2048)
    assert 2 * (stream.uniform(1_000_000, FLOAT32) < 0.5).sum() == total


def test_large_samples_take_four_words_of_each_thread():
    """With 256 threads, element 256 * k + t of the first 1024 is word k of thread t; then comes the next call."""
    stream = PhiloxStream(numpy, 7, threads=256)
    found = stream.uniform(2000, FLOAT32)
    for element in (0, 1, 255, 256, 700, 1023, 1024, 1999):
        call, rest = divmod(element, 1024)
        word, thread = divmod(rest, 256)
        expected = words_of((call, 0, thread, 0), (7, 0))[word] * 2.0**-32
        assert found[element] == pytest.approx(expected, abs=1e-7)
    assert stream.offset == 8  # two calls of four words


def test_numbers_do_not_depend_on_how_many_follow(stream):
    """Up to the number of threads, each element has a thread of its own."""
    first = stream.uniform(300, FLOAT32)
    stream.seed(0)
    assert numpy.array_equal(stream.uniform(1000, FLOAT32)[:300], first)


MOMENTS = {
    "uniform": (lambda s, n: s.uniform(n, FLOAT32, -1.0, 3.0), 1.0, 4 / 3),
    "uniform, float64": (lambda s, n: s.uniform(n, FLOAT64, -1.0, 3.0), 1.0, 4 / 3),
    "normal": (lambda s, n: s.normal(n, FLOAT32, 1.0, 2.0), 1.0, 4.0),
    "normal, float64": (lambda s, n: s.normal(n, FLOAT64, 1.0, 2.0), 1.0, 4.0),
    "log_normal": (
        lambda s, n: s.log_normal(n, FLOAT32, 0.0, 0.5),
        math.exp(1 / 8),
        math.exp(1 / 4) * math.expm1(1 / 4),
    ),
    "exponential": (lambda s, n: s.exponential(n, FLOAT32, 2.0), 0.5, 0.25),
    "exponential, float64": (lambda s, n: s.exponential(n, FLOAT64, 2.0), 0.5, 0.25),
    "geometric": (lambda s, n: s.geometric(n, INT64, 0.3), 1 / 0.3, 0.7 / 0.09),
    "integers": (lambda s, n: s.integers(n, INT64, -3, 7), 1.5, 99 / 12),
    "integers, wide": (lambda s, n: s.integers(n, INT64, 0, 1 << 40) / 2.0**40, 0.5, 1 / 12),
    "full_range": (lambda s, n: s.full_range(n, INT64) / 2.0**63, 0.5, 1 / 12),
    "bernoulli": (lambda s, n: s.bernoulli(n, 0.3), 0.3, 0.21),
    "bernoulli_each": (lambda s, n: s.bernoulli_each(numpy.full(n, 0.3, FLOAT32)), 0.3, 0.21),
    "kept": (lambda s, n: s.kept(s.reserve(n), n, 0.3), 0.3, 0.21),
    "poisson": (lambda s, n: s.poisson(numpy.full(n, 3.5, FLOAT32)), 3.5, 3.5),
    "poisson, rate of rejection": (lambda s, n: s.poisson(numpy.full(n, 12.0, FLOAT32)), 12.0, 12.0),
    "poisson, high": (lambda s, n: s.poisson(numpy.full(n, 1e6, FLOAT64)) / 1e3, 1e3, 1.0),
    "gamma": (lambda s, n: s.gamma(numpy.full(n, 2.5, FLOAT32)), 2.5, 2.5),
    "gamma, below 1": (lambda s, n: s.gamma(numpy.full(n, 0.3, FLOAT32)), 0.3, 0.3),
    "binomial": (lambda s, n: s.binomial(numpy.full(n, 20.0), numpy.full(n, 0.3)), 6.0, 4.2),
    "binomial, often": (lambda s, n: s.binomial(numpy.full(n, 20.0), numpy.full(n, 0.9)), 18.0, 1.8),
    "binomial, rejection": (lambda s, n: s.binomial(numpy.full(n, 50.0), numpy.full(n, 0.4)), 20.0, 12.0),
}


@pytest.mark.parametrize("name", MOMENTS)
def test_samples_have_their_mean_and_variance(stream, name):
    sample, mean, variance = MOMENTS[name]
    n = 50_001
    values = sample(stream, n).astype(float)
    error = math.sqrt(variance / n)
    fourth = ((values - mean) ** 4).mean()
    assert len(values) == n
    assert abs(values.mean() - mean) < 5 * error
    assert abs(((values - mean) ** 2).mean() - variance) < 5 * math.sqrt(fourth / n)


COUNTS = {
    "poisson": (lambda s, n: s.poisson(numpy.full(n, 4.0)), lambda k: math.exp(-4) * 4.0**k / math.factorial(k)),
    "poisson, rejection": (
        lambda s, n: s.poisson(numpy.full(n, 11.0)),
        lambda k: math.exp(-11) * 11.0**k / math.factorial(k),
    ),
    "binomial": (
        lambda s, n: s.binomial(numpy.full(n, 12.0), numpy.full(n, 0.4)),
        lambda k: math.comb(12, k) * 0.4**k * 0.6 ** (12 - k) if k <= 12 else 0.0,
    ),
    "binomial, rejection": (
        lambda s, n: s.binomial(numpy.full(n, 30.0), numpy.full(n, 0.6)),
        lambda k: math.comb(30, k) * 0.6**k * 0.4 ** (30 - k) if k <= 30 else 0.0,
    ),
    "geometric": (lambda s, n: s.geometric(n, FLOAT32, 0.25), lambda k: 0.25 * 0.75 ** (k - 1) if k else 0.0),
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts_have_their_probabilities(stream, name):
    """Pearson's statistic over the counts that are expected 10 times or more."""
    sample, probability = COUNTS[name]
    n = 40_000
    found = numpy.bincount(sample(stream, n).astype(int), minlength=64)
    expected = numpy.array([n * probability(k) for k in range(len(found))])
    usual = expected >= 10
    statistic = ((found - expected)[usual] ** 2 / expected[usual]).sum()
    assert statistic < usual.sum() + 5 * math.sqrt(2 * usual.sum())
    assert found[~usual].sum() < 80


@pytest.mark.parametrize(
    ("sample", "expected"),
    [
        (lambda s: s.poisson(numpy.zeros(9)), 0),
        (lambda s: s.gamma(numpy.zeros(9)), 0),
        (lambda s: s.binomial(numpy.full(9, 5.0), numpy.zeros(9)), 0),
        (lambda s: s.binomial(numpy.full(9, 5.0), numpy.ones(9)), 5),
        (lambda s: s.binomial(numpy.zeros(9), numpy.full(9, 0.5)), 0),
        (lambda s: s.bernoulli_each(numpy.zeros(9)), 0),
        (lambda s: s.bernoulli_each(numpy.ones(9)), 1),
        (lambda s: s.uniform(9, FLOAT32, 2.0, 2.0), 2),
    ],
)
def test_certain_outcomes(stream, sample, expected):
    assert sample(stream).astype(float).tolist() == [expected] * 9


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_uniforms_stay_below_the_upper_bound(stream, dtype):
    values = stream.uniform(100_000, numpy.dtype(dtype))
    assert values.dtype == dtype
    assert values.min() >= 0
    assert values.max() < 1


@pytest.mark.parametrize("n", [0, 1, 2, 3, 10, 1000, 40_000])
def test_permutations_hold_every_number(stream, n):
    assert numpy.array_equal(numpy.sort(stream.permutation(n)), numpy.arange(n))


def test_permutations_are_equally_frequent(stream):
    """Equal keys, which 4 numbers have in one of ten orders, favour none."""
    n, orders = 2400, {}
    for _ in range(n):
        order = tuple(stream.permutation(4).tolist())
        orders[order] = orders.get(order, 0) + 1
    assert len(orders) == 24
    statistic = sum((count - n / 24) ** 2 / (n / 24) for count in orders.values())
    assert statistic < 23 + 5 * math.sqrt(46)


def test_groups_of_equal_keys_are_shuffled(stream):
    keys = numpy.array([1, 2, 2, 3, 4, 4, 4, 5])
    shuffled = {tuple(stream._without_ties(keys, numpy.arange(8), 4 * turn).tolist()) for turn in range(200)}
    assert {order[1:3] for order in shuffled} == {(1, 2), (2, 1)}
    assert len({order[4:7] for order in shuffled}) == 6
    assert all((order[0], order[3], order[7]) == (0, 3, 7) for order in shuffled)


@pytest.mark.parametrize("replacement", [True, False])
def test_multinomial_draws_by_weight(stream, replacement):
    weights = numpy.array([[0.0, 1.0, 3.0, 0.0], [2.0, 0.0, 1.0, 1.0]], FLOAT32)
    weights = numpy.repeat(weights, 20_000, axis=0)
    drawn = stream.multinomial(weights, 2, replacement)
    first = drawn[:, 0].reshape(2, -1)
    shares = numpy.array([numpy.bincount(each, minlength=4) / 20_000 for each in first])
    assert shares == pytest.approx(weights[::20_000] / 4, abs=0.02)
    if not replacement:
        assert (drawn[:, 0] != drawn[:, 1]).all()


@pytest.mark.parametrize("itemsize", [2, 4, 8])
@pytest.mark.parametrize("n", [1, 6, 8, 1023, 1024, 5000])
def test_what_dropout_keeps_is_a_function_of_its_place(n, itemsize):
    stream = PhiloxStream(numpy, 3, threads=256)
    place = stream.reserve(n, itemsize)
    assert place[:2] == (3, 0)
    kept = stream.kept(place, n, 0.5)
    stream.uniform(10, FLOAT32)
    assert numpy.array_equal(stream.kept(place, n, 0.5), kept)
    assert not numpy.array_equal(stream.kept(stream.reserve(n, itemsize), n, 0.5), kept) or n < 9


@pytest.mark.parametrize(("itemsize", "each"), [(2, 8), (4, 4), (8, 2)])
def test_neighbours_share_a_thread_in_dropout(itemsize, each):
    """As in PyTorch's vectorized kernel: 16 bytes a thread and turn, from calls of four words."""
    stream, n = PhiloxStream(numpy, 7, threads=256), 6000
    place = stream.reserve(n, itemsize)
    kept = stream.kept(place, n, 0.5)
    calls = -(-each // 4)
    for element in (0, 1, each, 2 * each - 1, 256 * each - 1, 256 * each, n - 1):
        turn, rest = divmod(element, 256 * each)
        thread, place_in_thread = divmod(rest, each)
        call, word = divmod(place_in_thread, 4)
        expected = words_of((turn * calls + call, 0, thread, 0), (7, 0))[word]
        assert kept[element] == (expected < 1 << 31)
    assert stream.offset == 4 * calls * -(-n // (256 * each))


def test_states_are_pytorchs_seed_and_offset(stream):
    stream.seed(5)
    stream.uniform(3, FLOAT32)
    state = stream.get_state()
    assert state.tobytes() == (5).to_bytes(8, "little") + (4).to_bytes(8, "little")
    following = stream.uniform(3, FLOAT32)
    stream.seed(0)
    stream.set_state(state)
    assert numpy.array_equal(stream.uniform(3, FLOAT32), following)
    stream.set_state(state[:8])  # as older versions wrote it
    assert (stream.initial_seed, stream.offset) == (5, 0)


@pytest.mark.parametrize("size", [0, 7, 15, 17, 5056])
def test_states_of_another_size_are_refused(stream, size):
    with pytest.raises(RuntimeError, match="16 bytes"):
        stream.set_state(numpy.zeros(size, numpy.uint8))


def test_offsets_are_multiples_of_four(stream):
    stream.set_offset(8)
    assert stream.offset == 8
    with pytest.raises(RuntimeError, match="multiple of 4"):
        stream.set_offset(6)

"""The CPU's random numbers are PyTorch's: the expected ones were observed from PyTorch 2.13 with the same seed."""

import copy
import math
import pickle
import threading
import zlib

import numpy as np
import pytest

import weft
from weft.ops.reparametrized import _standard_gamma

STATE_BYTES = 5056


def crc(tensor):
    return zlib.crc32(np.ascontiguousarray(tensor.numpy()).tobytes())


# Integers and uniforms, bit for bit, after manual_seed(7)

EXACT = [
    (lambda: weft.rand(4), [0.53492254, 0.19880319, 0.6592117, 0.6568903]),
    (lambda: weft.rand(3, dtype=weft.float64), [0.279380429906404, 0.27369371365176565, 0.8620929614176255]),
    (lambda: weft.rand(4, dtype=weft.float16), [0.53515625, 0.1988525390625, 0.6591796875, 0.65673828125]),
    (lambda: weft.rand(4, dtype=weft.bfloat16), [0.53515625, 0.19921875, 0.66015625, 0.65625]),
    (lambda: weft.rand(2, dtype=weft.complex64), [0.53492254 + 0.19880319j, 0.6592117 + 0.6568903j]),
    (lambda: weft.empty(4).uniform_(-0.1, 0.7), [0.32793805, 0.05904255, 0.42736936, 0.42551222]),
    (
        lambda: weft.empty(3, dtype=weft.float64).uniform_(-3, 5),
        [-0.764956560748768, -0.8104502907858748, 3.896743691341004],
    ),
    (lambda: weft.randint(10, (8,)), [5, 2, 1, 6, 3, 7, 7, 9]),
    (lambda: weft.randint(-5, 5, (8,), dtype=weft.int8), [0, -3, -4, 1, -2, 2, 2, 4]),
    (lambda: weft.randint(2**28 - 1, (3,)), [59306160, 171107527, 128500261]),
    (lambda: weft.randint(2**28, (3,)), [171107524, 27798006, 174903507]),
    (lambda: weft.randint(2**40, (3,)), [752595690692, 108744157686, 291964244179]),
    (lambda: weft.randint(-(2**63), 2**63 - 1, (2,)), [-7815732517915138876, 5163590386780219894]),
    (
        lambda: weft.empty(3, dtype=weft.int64).random_(),
        [1407639518939636932, 5163590386780219894, 8087222774582268115],
    ),
    (lambda: weft.empty(3, dtype=weft.int32).random_(), [327741615, 976413892, 1202242073]),
    (lambda: weft.empty(4, dtype=weft.uint8).random_(), [175, 196, 25, 246]),
    (lambda: weft.empty(4, dtype=weft.bool).random_(), [True, False, True, False]),
    (lambda: weft.empty(3).random_(), [8.974492e06, 3.335306e06, 1.1059538e07]),
    (lambda: weft.empty(3, dtype=weft.float64).random_(), [2516435200042024.0, 2465213813629881.0, 7765043079597394.0]),
    (lambda: weft.empty(8).bernoulli_(0.3), [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]),
    (lambda: weft.full((8,), 0.3).bernoulli(), [0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0]),
    (lambda: weft.full((8,), 0.3, dtype=weft.float64).bernoulli(), [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]),
    (lambda: weft.empty(6, dtype=weft.int64).geometric_(0.3), [4, 4, 1, 2, 1, 1]),
    (lambda: weft.randperm(10), [5, 0, 3, 4, 1, 7, 9, 6, 8, 2]),
    (lambda: weft.randperm(10, dtype=weft.int32), [5, 0, 3, 4, 1, 7, 9, 6, 8, 2]),
    (lambda: weft.multinomial(weft.tensor([0.1, 0.2, 0.3, 0.4]), 1), [1]),
    (lambda: weft.multinomial(weft.tensor([0.1, 0.2, 0.3, 0.4]), 3), [1, 3, 0]),
    (lambda: weft.multinomial(weft.tensor([0.1, 0.2, 0.3, 0.4]), 8, replacement=True), [1, 1, 3, 3, 3, 3, 1, 2]),
    (lambda: weft.poisson(weft.tensor([0.5, 3.0, 9.0, 20.0, 500.0])), [0.0, 5.0, 6.0, 14.0, 540.0]),
    (
        lambda: weft.binomial(weft.full((5,), 30.0), weft.tensor([0.0, 0.1, 0.5, 0.9, 1.0])),
        [0.0, 3.0, 13.0, 28.0, 30.0],
    ),
]

# What goes through logarithms and sines, to the last places

CLOSE = [
    (lambda: weft.randn(5), [-0.1467951, 0.7861413, 0.94682163, -1.114344, 1.6907902]),
    (lambda: weft.randn(20)[-3:], [-0.5640067, -2.0564625, -0.35672253]),
    (lambda: weft.randn(3, dtype=weft.float64), [-0.1467950974849952, 0.7861412987235358, 0.9468216090039564]),
    (lambda: weft.randn(20, dtype=weft.float64)[-3:], [-1.5870322969308357, 2.03026332869622, 0.6596523264462502]),
    (lambda: weft.randn(2, dtype=weft.complex64), [-0.10379981 + 0.55588585j, 0.669504 - 0.78796023j]),
    (lambda: weft.randn(10, dtype=weft.complex128)[-1:], [1.4356129673154696 + 0.4664446332556256j]),
    (lambda: weft.empty(4).normal_(2, 3), [1.5596147, 4.3584237, 4.8404646, -1.3430321]),
    (lambda: weft.empty(4).exponential_(2.5), [0.13105758, 0.12791339, 0.79247016, 0.42764676]),
    (lambda: weft.empty(4).cauchy_(1, 3), [-1.4916673, -1.5836092, 7.485677, 2.60885]),
    (lambda: weft.empty(4).log_normal_(0, 0.5), [0.92923135, 1.481523, 1.6054608, 0.57282674]),
    (
        lambda: weft.normal(weft.tensor([1.0, 2.0, 3.0]), weft.tensor([0.5, 1.0, 2.0])),
        [0.9266025, 2.7861414, 4.8936434],
    ),
    (lambda: weft.normal(0.0, 2.0, (3,)), [-0.2935902, 1.5722826, 1.8936433]),
]

# Checksums of many, after manual_seed(12345678901)
MANY = [
    (lambda: weft.rand(100_003), 0xDBF9DA2B),
    (lambda: weft.rand(100_003, dtype=weft.float64), 0x107714F7),
    (lambda: weft.empty(100_003).uniform_(-0.3, 0.4), 0xAB17E30C),
    (lambda: weft.randint(1000, (100_003,)), 0x1C474387),
    (lambda: weft.randint(2**40, (100_003,)), 0x351E04FE),
    (lambda: weft.randperm(100_003), 0x81957A0A),
    (lambda: weft.empty(100_003).bernoulli_(0.1), 0x5A9FB0A4),
    (lambda: weft.multinomial(weft.ones(1000), 10_000, replacement=True), 0x77AAA78B),
]


@pytest.mark.parametrize(("draw", "expected"), EXACT)
def test_integers_and_uniforms_are_those_of_pytorch(draw, expected):
    weft.manual_seed(7)
    drawn = draw()
    assert drawn.tolist() == weft.tensor(expected, dtype=drawn.dtype).tolist()


@pytest.mark.parametrize(("draw", "expected"), CLOSE)
def test_normals_are_those_of_pytorch_to_a_millionth(draw, expected):
    weft.manual_seed(7)
    assert draw().tolist() == pytest.approx(expected, rel=1e-6)


def test_half_normals_are_made_from_whole_blocks():
    weft.manual_seed(7)
    drawn = weft.randn(20, dtype=weft.float16)[-5:]
    assert drawn.tolist() == pytest.approx(
        [-0.34521484375, -2.060546875, 0.67431640625, -1.3232421875, -1.359375], 1e-3
    )


@pytest.mark.parametrize(("draw", "expected"), MANY)
def test_long_streams_are_those_of_pytorch(draw, expected):
    weft.manual_seed(12345678901)
    assert crc(draw()) == expected


def test_mixed_calls_leave_the_state_that_they_leave_in_pytorch():
    weft.manual_seed(3)
    weft.randn(3)
    weft.rand(700)
    weft.randn(1)
    weft.randint(9, (5,))
    weft.randn(17)
    weft.randperm(40)
    weft.empty(3).exponential_()
    weft.empty(5).bernoulli_(0.5)
    weft.randn(30, dtype=weft.float64)
    weft.randn(2)
    assert crc(weft.get_rng_state()) == 0x9F55C417
    assert weft.rand(3).tolist() == [0.6930732131004333, 0.8858199119567871, 0.6434804797172546]


def test_an_odd_normal_waits_for_the_next_call():
    weft.manual_seed(4)
    five, three = weft.randn(5).tolist(), weft.randn(3).tolist()
    assert five[4] == pytest.approx(1.2006442546844482, rel=1e-6)
    assert three == pytest.approx([-0.4015503227710724, -1.4260196685791016, 0.903931736946106], rel=1e-6)


@pytest.mark.parametrize("n", [0, 1, 2, 15, 16, 17, 31, 32, 1000])
@pytest.mark.parametrize("dtype", [weft.float16, weft.bfloat16, weft.float32, weft.float64, weft.complex64])
def test_every_size_is_filled(n, dtype):
    for drawn in (weft.rand(n, dtype=dtype), weft.randn(n, dtype=dtype)):
        assert drawn.shape == (n,)
        assert drawn.dtype is dtype
        assert bool(weft.isfinite(drawn).all())


def test_a_transposed_tensor_is_filled_in_its_order_of_memory():
    weft.manual_seed(4)
    x = weft.zeros(2, 3)
    x.t().uniform_()
    assert x.tolist() == [
        [0.5596386194229126, 0.5590924024581909, 0.0914568305015564],
        [0.21000319719314575, 0.007194578647613525, 0.03896188735961914],
    ]


def test_scattered_memory_takes_normals_one_by_one():
    weft.manual_seed(4)
    x = weft.zeros(4, 8)
    x.t().normal_()
    assert x[0, :3].tolist() == pytest.approx([-1.605276346206665, 0.23248571157455444, 2.239870071411133], rel=1e-6)


def test_a_write_through_a_strided_view_touches_only_the_view():
    x = weft.zeros(4, 6)
    x[::2, ::3].uniform_(1, 2)
    assert int((x > 0).sum()) == 4
    assert bool((x[::2, ::3] > 0).all())


def test_like_functions_keep_the_order_of_memory():
    assert weft.rand_like(weft.zeros(2, 3).t()).stride() == (1, 3)
    assert weft.randn_like(weft.zeros(2, 3), dtype=weft.float64).dtype is weft.float64
    assert weft.randint_like(weft.zeros(2, 3), 5).dtype is weft.float32


# Properties


def test_rounding_never_gives_the_end_of_the_range():
    for dtype in (weft.float16, weft.bfloat16, weft.float32):
        assert bool((weft.rand(100_000, dtype=dtype) < 1).all())
    assert bool((weft.empty(1000).uniform_(2**24, 2**24 + 2) == 2**24).all())


@pytest.mark.parametrize("n", [0, 1, 2, 3, 10, 1000])
def test_a_permutation_has_each_number_once(n):
    assert sorted(weft.randperm(n).tolist()) == list(range(n))


def test_a_shuffle_without_a_loop_is_the_shuffle_with_one():
    from weft._random.mt19937 import exchanged

    offsets = np.random.RandomState(0)
    for n in (2, 3, 10, 100):
        others = np.arange(n - 1) + [offsets.randint(0, n - place) for place in range(n - 1)]
        expected = list(range(n))
        for place, other in enumerate(others):
            expected[place], expected[other] = expected[other], expected[place]
        assert exchanged(others, n).tolist() == expected


def test_multinomial_without_replacement_repeats_no_column():
    drawn = weft.multinomial(weft.rand(20, 7), 7)
    assert [sorted(row) for row in drawn.tolist()] == [list(range(7))] * 20


def test_multinomial_never_draws_what_has_no_weight():
    drawn = weft.multinomial(weft.tensor([0.0, 1.0, 0.0, 2.0]), 1000, replacement=True)
    assert set(drawn.tolist()) == {1, 3}


def test_means_and_variances_are_those_of_the_distributions():
    weft.manual_seed(0)
    n = 200_000
    cases = [
        (weft.rand(n), 1 / 2, 1 / 12),
        (weft.empty(n).normal_(3, 2), 3, 4),
        (weft.empty(n).exponential_(4), 1 / 4, 1 / 16),
        (weft.empty(n).geometric_(0.25), 4, 12),
        (weft.empty(n).log_normal_(0, 0.5), math.exp(1 / 8), (math.exp(1 / 4) - 1) * math.exp(1 / 4)),
        (weft.empty(n).bernoulli_(0.2), 0.2, 0.16),
        (weft.poisson(weft.full((n,), 2.5)), 2.5, 2.5),
        (weft.poisson(weft.full((n,), 25.0)), 25, 25),
        (_standard_gamma(weft.full((n,), 0.5)), 0.5, 0.5),
        (_standard_gamma(weft.full((n,), 7.0)), 7, 7),
        (weft.binomial(weft.full((n,), 8.0), weft.full((n,), 0.25)), 2, 1.5),
        (weft.binomial(weft.full((n,), 100.0), weft.full((n,), 0.75)), 75, 18.75),
    ]
    for drawn, mean, variance in cases:
        values = drawn.numpy().astype(np.float64)
        assert values.mean() == pytest.approx(mean, abs=6 * math.sqrt(variance / n))
        assert values.var() == pytest.approx(variance, rel=0.05)


# Generators and their states


def test_a_state_is_laid_out_as_pytorchs():
    weft.manual_seed(0)
    weft.randn(5)  # 12 words, and one normal waits
    state = weft.get_rng_state()
    assert state.dtype is weft.uint8
    assert state.shape == (STATE_BYTES,)
    array = state.numpy()
    assert array[8:16].view("<i4").tolist() == [624 + 1 - 12, 1]
    assert array[16:24].view("<u8").tolist() == [12]
    assert zlib.crc32(array[24:5016].tobytes()) == 0x051868F5
    assert array[5024:5032].view("<f8")[0] == pytest.approx(-1.3985954, rel=1e-6)
    assert array[5040] == 1


def test_a_fresh_state_is_pytorchs_bit_for_bit():
    weft.manual_seed(0)
    assert crc(weft.get_rng_state()) == 0x6D2B5ED2


@pytest.mark.parametrize("draws", [0, 1, 5, 623, 624, 625, 2000])
def test_a_restored_state_continues_the_stream(draws):
    weft.manual_seed(1)
    weft.rand(draws)
    weft.randn(3)
    state = weft.get_rng_state()
    expected = weft.randn(3).tolist(), weft.rand(700).tolist()
    weft.set_rng_state(state)
    assert bool((weft.get_rng_state() == state).all())
    assert (weft.randn(3).tolist(), weft.rand(700).tolist()) == expected


@pytest.mark.parametrize("draw", [weft.rand, weft.randn, lambda n: weft.rand(n, dtype=weft.float64)])
def test_samples_in_parts_are_those_at_once(draw):
    sizes = [16, 336, 96, 320, 16, 624, 32, 1248]  # over the ends of the generator's blocks of 624
    weft.manual_seed(3)
    whole = draw(sum(sizes))
    weft.manual_seed(3)
    parts = []
    for size in sizes:
        weft.set_rng_state(weft.get_rng_state())
        parts.append(draw(size))
    assert weft.allclose(weft.cat(parts), whole, rtol=1e-6, atol=1e-6)


def test_a_seed_counts_by_its_low_32_bits():
    expected = [0.8302518725395203, 0.12611091136932373]
    for seed in (5, 2**32 + 5):
        weft.manual_seed(seed)
        assert weft.rand(2).tolist() == expected
        assert weft.initial_seed() == seed


def test_a_negative_seed_wraps_to_64_bits():
    weft.manual_seed(-1)
    assert weft.initial_seed() == 2**64 - 1
    assert weft.rand(2).tolist() == [0.9937993884086609, 0.5713063478469849]


def test_a_generator_of_ones_own_leaves_the_default_one_alone():
    weft.manual_seed(0)
    before = weft.get_rng_state()
    generator = weft.Generator().manual_seed(2)
    assert weft.rand(2, generator=generator).tolist() == [0.6146950721740723, 0.38101285696029663]
    weft.zeros(3).normal_(generator=generator)
    weft.randperm(5, generator=generator)
    assert bool((weft.get_rng_state() == before).all())
    assert generator.initial_seed() == 2
    assert generator.device == weft.device("cpu")


def test_a_generator_that_was_not_seeded_has_pytorchs_seed():
    assert weft.Generator().initial_seed() == 67280421310721


def test_copies_of_a_generator_go_on_alike():
    generator = weft.Generator().manual_seed(3)
    weft.randn(3, generator=generator)
    copies = [copy.deepcopy(generator), pickle.loads(pickle.dumps(generator)), generator.clone_state()]
    expected = weft.randn(3, generator=generator).tolist()
    for each in copies:
        assert weft.randn(3, generator=each).tolist() == expected
        assert each.initial_seed() == 3


def test_seed_is_another_one_each_time():
    generator = weft.Generator()
    seeds = {generator.seed() for _ in range(5)}
    assert len(seeds) == 5
    assert generator.initial_seed() in seeds


def test_fork_rng_restores_the_state():
    weft.manual_seed(0)
    with weft.random.fork_rng():
        inside = weft.rand(3).tolist()
        weft.manual_seed(5)
    assert weft.rand(3).tolist() == inside
    assert weft.initial_seed() == 0
    with weft.random.fork_rng(enabled=False):
        drawn = weft.rand(3).tolist()
    assert weft.rand(3).tolist() != drawn


def test_threads_that_share_a_generator_draw_no_number_twice():
    generator = weft.Generator().manual_seed(0)
    drawn = []

    def draw():
        for _ in range(50):
            drawn.extend(weft.rand(20, generator=generator, dtype=weft.float64).tolist())

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(drawn)) == len(drawn) == 4000


# Arguments


def test_out_is_filled_in_its_own_dtype():
    weft.manual_seed(7)
    out = weft.empty(3, dtype=weft.float64)
    assert weft.rand(3, out=out) is out
    assert out.tolist() == [0.279380429906404, 0.27369371365176565, 0.8620929614176255]
    chosen = weft.empty(2, dtype=weft.int64)
    assert weft.multinomial(weft.rand(3), 2, out=chosen) is chosen


def test_requires_grad_makes_a_leaf():
    drawn = weft.rand(3, requires_grad=True)
    assert drawn.requires_grad
    assert drawn.is_leaf


def test_default_dtype_is_used():
    weft.set_default_dtype(weft.float64)
    try:
        assert weft.rand(1).dtype is weft.float64
        assert weft.randint(3, (1,)).dtype is weft.int64
    finally:
        weft.set_default_dtype(weft.float32)


def test_random_takes_from_and_to_by_name():
    x = weft.empty(100)
    assert set(x.random_(**{"from": 3, "to": 5}).tolist()) == {3.0, 4.0}
    assert set(x.random_(to=2).tolist()) == {0.0, 1.0}
    assert bool((x.uniform_(to=-1, **{"from": -2}) < -1).all())


def test_randint_takes_its_arguments_by_name():
    assert weft.randint(high=5, size=(2,)).shape == (2,)
    assert weft.randint(low=4, high=5, size=(2,)).tolist() == [4, 4]
    assert weft.randint(4, high=5, size=(2,)).tolist() == [4, 4]


# Gradients


@pytest.mark.parametrize(
    "sample",
    [
        weft.bernoulli,
        weft.poisson,
        lambda x: weft.normal(x, 1.0),
        lambda x: weft.normal(0.0, x),
        lambda x: weft.normal(x, x),
        lambda x: (x * 2).normal_(),
        lambda x: (x * 2).uniform_(),
        lambda x: (x * 2).bernoulli_(),
        lambda x: (x * 2).exponential_(),
        lambda x: weft.zeros(2, 3).bernoulli_(x),
    ],
)
def test_samples_have_zero_gradients(sample):
    x = weft.tensor([0.1, 0.5, 0.9], requires_grad=True)
    sample(x).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("name", ["normal_", "uniform_"])
def test_filling_what_is_recorded_keeps_to_its_rules(name):
    leaf = weft.ones(4, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable"):
        getattr(leaf, name)()
    with pytest.raises(RuntimeError, match="view of a leaf"):
        getattr(leaf[:2], name)()
    with weft.no_grad():
        getattr(leaf[:2], name)()
    assert leaf._version == 1 and leaf[2:].tolist() == [1, 1] and leaf[0] != 1
    made = leaf * 1
    getattr(made, name)()
    made.sum().backward()
    assert leaf.grad.tolist() == [0, 0, 0, 0]
    with weft.inference_mode():
        inside = weft.ones(2)
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        getattr(inside, name)()


def test_filling_counts_as_a_write():
    x = weft.ones(3, requires_grad=True) * 2
    y = x.exp() if False else x * x
    x.normal_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


# Wrong calls

WRONG = [
    (lambda: weft.rand(), TypeError, "rand.*size"),
    (lambda: weft.rand(-1), RuntimeError, "negative dimension -1"),
    (lambda: weft.rand(2.5), TypeError, "float"),
    (lambda: weft.rand(2, dtype=weft.int64), NotImplementedError, "randint"),
    (lambda: weft.rand(2, generator=3), TypeError, "weft.Generator"),
    (lambda: weft.rand(2, out=weft.empty(2), dtype=weft.float64), RuntimeError, "does not match dtype of out"),
    (lambda: weft.randint(0, (2,)), RuntimeError, "from=0 >= to=0"),
    (lambda: weft.randint(5, 3, (2,)), RuntimeError, "from=5 >= to=3"),
    (lambda: weft.randint(5, 2), TypeError, "tuple of ints"),
    (lambda: weft.randint(5), TypeError, "size"),
    (lambda: weft.randint(1.5, (2,)), TypeError, "must be int"),
    (lambda: weft.randint(500, (2,), dtype=weft.uint8), RuntimeError, "0 to 255"),
    (lambda: weft.randint(0, 2**63, (2,)), ValueError, "64 bits"),
    (lambda: weft.randint(5, (2,), requires_grad=True), RuntimeError, "floating point"),
    (lambda: weft.randperm(-1), RuntimeError, "negative dimension"),
    (lambda: weft.randperm(3.5), TypeError, "must be int"),
    (lambda: weft.randperm(257, dtype=weft.uint8), RuntimeError, "at most 256"),
    (lambda: weft.rand_like([1, 2]), TypeError, "must be Tensor"),
    (lambda: weft.empty(3).uniform_(5, 3), RuntimeError, r"\[from, to\)"),
    (lambda: weft.empty(3).uniform_(0, 1e39), RuntimeError, "out of bounds"),
    (lambda: weft.empty(3).uniform_(-3e38, 3e38), RuntimeError, "to - from"),
    (lambda: weft.empty(3, dtype=weft.int32).uniform_(), NotImplementedError, "Int"),
    (lambda: weft.empty(3).normal_(0, -1), RuntimeError, "std >= 0"),
    (lambda: weft.normal(weft.zeros(3), weft.tensor([1.0, -1.0, 1.0])), RuntimeError, "std >= 0"),
    (lambda: weft.normal(weft.zeros(3), weft.ones(2)), RuntimeError, "must match the size"),
    (lambda: weft.normal(0.0, 1.0), TypeError, "size"),
    (lambda: weft.empty(3).exponential_(0), RuntimeError, "lambda > 0"),
    (lambda: weft.empty(3, dtype=weft.int64).exponential_(), RuntimeError, "continuous"),
    (lambda: weft.empty(3).geometric_(1), RuntimeError, r"\(0, 1\)"),
    (lambda: weft.empty(3).geometric_(), TypeError, "'p'"),
    (lambda: weft.empty(3).cauchy_(0, 0), RuntimeError, "sigma > 0"),
    (lambda: weft.empty(3).log_normal_(0, 0), RuntimeError, "std > 0"),
    (lambda: weft.empty(3).bernoulli_(1.5), RuntimeError, r"p to be in \[0, 1\]"),
    (lambda: weft.bernoulli(weft.tensor([1.5])), RuntimeError, r"in \[0, 1\].*sigmoid"),
    (lambda: weft.bernoulli(weft.tensor([math.nan])), RuntimeError, r"in \[0, 1\]"),
    (lambda: weft.bernoulli(weft.tensor([1, 0])), NotImplementedError, "float"),
    (lambda: weft.empty(3).bernoulli_(weft.ones(2)), RuntimeError, "must match the size"),
    (lambda: weft.empty(3).bernoulli_(weft.ones(2, 3)), RuntimeError, "does not broadcast"),
    (lambda: weft.empty(3).random_(0), RuntimeError, "from=0 >= to=0"),
    (lambda: weft.empty(3, dtype=weft.uint8).random_(-1, 3), RuntimeError, "0 to 255"),
    (lambda: weft.empty(3, dtype=weft.complex64).random_(), NotImplementedError, "ComplexFloat"),
    (lambda: weft.multinomial(weft.rand(2, 2, 2), 1), RuntimeError, "1 or 2 dim"),
    (lambda: weft.multinomial(weft.rand(3), 4), RuntimeError, "replacement"),
    (lambda: weft.multinomial(weft.rand(3), 0), RuntimeError, "n_sample <= 0"),
    (lambda: weft.multinomial(weft.tensor([1, 2]), 1), RuntimeError, "floating"),
    (lambda: weft.multinomial(weft.tensor([1.0, -2.0]), 1), RuntimeError, "element < 0"),
    (lambda: weft.multinomial(weft.zeros(2), 1), RuntimeError, "sum of probabilities <= 0"),
    (lambda: weft.poisson(weft.tensor([-1.0])), RuntimeError, "non-negative"),
    (lambda: weft.binomial(weft.tensor([1]), weft.tensor([0.5])), ValueError, "floating-point"),
    (lambda: weft.ones(3, requires_grad=True).normal_(), RuntimeError, "leaf Variable"),
    (lambda: weft.ones(1).expand(3).normal_(), RuntimeError, "single memory location"),
    (lambda: weft.Generator().manual_seed(1.5), RuntimeError, "expected an int"),
    (lambda: weft.manual_seed(2**64), ValueError, "2\\*\\*64 - 1"),
    (lambda: weft.set_rng_state(weft.zeros(5, dtype=weft.uint8)), RuntimeError, "5056 bytes"),
    (lambda: weft.set_rng_state(weft.zeros(STATE_BYTES, dtype=weft.uint8)), RuntimeError, "not an MT19937 state"),
    (lambda: weft.set_rng_state(weft.zeros(STATE_BYTES)), TypeError, "uint8"),
    (lambda: weft.set_rng_state([1]), TypeError, "uint8"),
]


@pytest.mark.parametrize(("call", "error", "message"), WRONG)
def test_wrong_calls_say_what_to_do(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_wrong_call_draws_nothing():
    weft.manual_seed(0)
    before = weft.get_rng_state()
    with pytest.raises(RuntimeError):
        weft.bernoulli(weft.tensor([0.5, 2.0]))
    with pytest.raises(RuntimeError):
        weft.multinomial(weft.tensor([1.0, -1.0]), 1)
    assert bool((weft.get_rng_state() == before).all())


def test_a_range_that_the_dtype_does_not_hold_warns():
    with pytest.warns(UserWarning, match="weft.int64"):
        weft.empty(3, dtype=weft.float16).random_(0, 4000)


@pytest.mark.parametrize("draw", [weft.randn, weft.rand], ids=lambda each: each.__name__)
def test_out_is_filled_in_the_order_of_its_memory(draw):
    weft.manual_seed(0)
    flat = draw(3, 4)
    weft.manual_seed(0)
    out = weft.empty(4, 3).t()
    assert draw(3, 4, out=out) is out
    if draw.__name__ == "rand":  # normal numbers of a strided tensor are drawn one by one
        assert weft.equal(out.t().reshape(-1), flat.reshape(-1))
    else:
        weft.manual_seed(0)
        assert weft.equal(out, weft.empty(4, 3).t().normal_())


def test_bernoulli_and_normal_follow_the_order_of_out_as_their_in_place_forms_do():
    p = weft.full((3, 4), 0.5)
    results = []
    for fill in (lambda out: weft.bernoulli(p, out=out), lambda out: out.bernoulli_(p)):
        weft.manual_seed(0)
        results.append(fill(weft.zeros(4, 3).t()))
    assert weft.equal(*results)
    weft.manual_seed(0)
    made = weft.normal(weft.ones(3, 4), weft.full((3, 4), 2.0), out=weft.zeros(4, 3).t())
    weft.manual_seed(0)
    assert weft.equal(made, weft.zeros(4, 3).t().normal_() * 2 + 1)
    with pytest.raises(NotImplementedError):
        weft.normal(weft.ones(3), 1.0, out=weft.zeros(3, dtype=weft.int64))


@pytest.mark.filterwarnings("ignore:random_. (from|to - 1) is out of bounds")
def test_a_range_ends_below_what_its_bounds_are_rounded_to():
    weft.manual_seed(0)
    assert weft.empty(4, dtype=weft.bfloat16).random_(70000).tolist() == [23168.0, 14912.0, 38400.0, 7360.0]
    with pytest.raises(RuntimeError, match="casted to dtype"):
        weft.empty(8, dtype=weft.bfloat16).random_(709862, 716172)

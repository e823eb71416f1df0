"""Sobol sequences. The numbers are PyTorch's; BoTorch draws its candidates and base samples from them."""

import pytest

import weft
from weft.quasirandom import SobolEngine


def test_points_are_those_of_joe_and_kuo():
    expected = [[0, 0, 0], [0.5, 0.5, 0.5], [0.75, 0.25, 0.25], [0.25, 0.75, 0.75], [0.375, 0.375, 0.625]]
    assert SobolEngine(3).draw(5).tolist() == expected


def test_the_last_dimensions_have_their_direction_numbers():
    assert SobolEngine(SobolEngine.MAXDIM).fast_forward(3).draw(1)[0, -3:].tolist() == [0.75, 0.25, 0.25]


def test_scrambled_points_are_pytorchs():
    expected = [
        [0.19947312772274017, 0.17093220353126526, 0.7493569254875183],
        [0.6922082901000977, 0.7114949226379395, 0.48982980847358704],
        [0.8505491018295288, 0.2962706387042999, 0.7879806160926819],
    ]
    assert SobolEngine(3, scramble=True, seed=7).draw(3).tolist() == expected
    weft.manual_seed(1)
    assert SobolEngine(2, scramble=True).draw(1).tolist() == [[0.26772546768188477, 0.36175453662872314]]


def test_how_points_are_drawn_does_not_matter():
    whole = SobolEngine(4, scramble=True, seed=1).draw(16)
    engine = SobolEngine(4, scramble=True, seed=1)
    parts = weft.cat([engine.draw(1), engine.draw(0), engine.draw(2), engine.fast_forward(4).draw(9)])
    assert weft.equal(parts, weft.cat([whole[:3], whole[7:]]))
    assert weft.equal(engine.reset().draw_base2(4), whole)
    assert engine.num_generated == 16


def test_scrambling_keeps_one_point_in_each_interval():
    points = SobolEngine(5, scramble=True, seed=3).draw_base2(6)
    assert weft.equal((points * 64).long().sort(0).values, weft.arange(64)[:, None].expand(64, 5))


def test_points_are_written_where_asked_and_of_the_dtype():
    out = weft.empty(0)
    SobolEngine(2).draw(2, out=out)
    assert out.tolist() == [[0.0, 0.0], [0.5, 0.5]]
    assert SobolEngine(2).draw(2, dtype=weft.float64).dtype is weft.float64


def test_what_is_refused():
    with pytest.raises(ValueError, match=r"dimensionality for SobolEngine is \[1, 21201\]; got 0"):
        SobolEngine(0)
    engine = SobolEngine(2)
    engine.draw(3)
    with pytest.raises(ValueError, match="require n to be a power of 2"):
        engine.draw_base2(2)
    assert repr(SobolEngine(2, True, 5)) == "SobolEngine(dimension=2, scramble=True, seed=5)"

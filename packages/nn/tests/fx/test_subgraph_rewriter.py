"""Patterns are found where nothing outside needs what they keep, and replaced."""

import pytest

import weft
from weft import fx, nn
from weft.fx.subgraph_rewriter import replace_pattern_with_filters


def test_every_occurrence_is_replaced():
    traced = fx.symbolic_trace(lambda x, a, b: x + weft.cat([a, b]).sum() + weft.cat([b, a]).sum())
    found = fx.replace_pattern(traced, lambda a, b: weft.cat([a, b]).sum(), lambda a, b: weft.dot(a, b))
    assert len(found) == 2 and found[0].anchor.name == "sum_1"
    traced.graph.lint()
    a, b = weft.tensor([1.0, 2.0]), weft.tensor([3.0, 4.0])
    assert traced(0, a, b).item() == 22
    assert "cat" not in traced.code


def test_matches_in_a_row_feed_each_other():
    traced = fx.symbolic_trace(lambda x: weft.neg(weft.neg(weft.neg(x))))
    assert len(fx.replace_pattern(traced, lambda x: weft.neg(x), lambda x: x * 2)) == 3
    assert traced(weft.ones(1)).item() == 8


def test_matches_do_not_overlap():
    traced = fx.symbolic_trace(lambda x: weft.neg(weft.neg(weft.neg(x))))
    assert len(fx.replace_pattern(traced, lambda x: weft.neg(weft.neg(x)), lambda x: x * 10)) == 1
    assert traced(weft.ones(1)).item() == -10


def test_a_value_that_is_needed_elsewhere_keeps_its_pattern():
    def f(x):
        relu = weft.relu(x)
        return relu.exp() + relu

    traced = fx.symbolic_trace(f)
    assert fx.replace_pattern(traced, lambda x: weft.relu(x).exp(), lambda x: x) == []


def test_constants_and_options_must_agree():
    traced = fx.symbolic_trace(lambda x: weft.sum(x, dim=1) + weft.sum(x, dim=0))
    assert len(fx.replace_pattern(traced, lambda x: weft.sum(x, dim=0), lambda x: weft.amax(x, 0))) == 1
    assert "weft.sum(x, dim = 1)" in traced.code and "weft.amax(x, 0)" in traced.code


def test_several_results():
    def pattern(x):
        return weft.sin(x), weft.cos(x)

    traced = fx.symbolic_trace(lambda x: weft.sin(x) * weft.cos(x))
    assert len(fx.replace_pattern(traced, pattern, lambda x: (x + 1, x + 2))) == 1
    assert traced(weft.ones(1)).item() == 6


def test_modules_of_the_pattern_are_matched_by_class_and_those_of_the_replacement_taken_over():
    class Pattern(nn.Module):
        def __init__(self):
            super().__init__()
            self.act = nn.ReLU()

        def forward(self, x):
            return self.act(x)

    class Replacement(nn.Module):
        def __init__(self):
            super().__init__()
            self.smooth = nn.GELU()

        def forward(self, x):
            return self.smooth(x)

    traced = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
    found = fx.replace_pattern(traced, fx.symbolic_trace(Pattern()), fx.symbolic_trace(Replacement()))
    assert len(found) == 1 and isinstance(traced.smooth, nn.GELU) and traced(weft.ones(1, 2)).shape == (1, 2)


def test_filters_decide():
    traced = fx.symbolic_trace(lambda x: (x + 1) * (x + 2))
    done = replace_pattern_with_filters(
        traced,
        lambda x, y: x + y,
        lambda x, y: x - y,
        match_filters=[lambda match, graph, pattern: match.anchor.args[1] == 2],
    )
    assert [each.replacements[0].name for each in done] == ["sub"]
    assert traced(weft.ones(1)).item() == -2


def test_a_pattern_that_computes_nothing_is_refused():
    with pytest.raises(ValueError, match="computes nothing"):
        fx.replace_pattern(fx.symbolic_trace(lambda x: x + 1), lambda x: x, lambda x: x)

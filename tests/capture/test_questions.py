"""What a program is told that asks whether it is compiled: kornia, tensordict and transformers go by the answer."""

import threading

import pytest

import weft
from weft import nn

COMPILER = weft.compiler


def answers():
    return COMPILER.is_compiling(), COMPILER.is_dynamo_compiling(), COMPILER.is_exporting()


def test_a_captured_function_is_compiled_in_each_call_that_may_be_recorded():

    @weft.compile
    def function(x):
        return x * 2 if answers() == (True, True, False) else x * 3

    for _ in range(5):  # the last two are replays, the second of them is compared with the function
        assert function(weft.ones(2)).tolist() == [2, 2]
    assert COMPILER.explain(function).startswith("captured, 1 calls")
    assert answers() == (False,) * 3
    assert weft._dynamo.is_compiling is COMPILER.is_compiling


def test_a_program_that_reads_values_only_where_it_is_not_compiled_is_captured():
    """Libraries check their arguments so."""

    def scaled(x):
        if not weft.compiler.is_compiling() and bool((x < 0).any()):
            raise ValueError("negative")
        return x * 2

    called = weft.compile(scaled)
    for _ in range(4):
        assert called(weft.ones(2)).tolist() == [2, 2]
    assert COMPILER.explain(called).startswith("captured, 1 calls")
    with pytest.raises(ValueError, match="negative"):
        scaled(-weft.ones(2))


@pytest.mark.parametrize("why", ["refused", "force_eager", "disabled", "another thread"])
def test_what_runs_as_it_is_is_not_compiled(why):
    seen = []

    def ask():
        seen.append(answers())

    asked = COMPILER.disable(ask)

    @weft.compile
    def function(x):
        if why == "refused":
            ask()
            return x + x.sum().item()
        if why == "disabled":
            asked()
        elif why == "another thread":
            thread = threading.Thread(target=ask)
            thread.start()
            thread.join()
        else:
            ask()
        return x * 2

    if why == "refused":
        for _ in range(3):
            function(weft.ones(2))
        seen.clear()
    with COMPILER.set_stance("force_eager" if why == "force_eager" else "default"):
        function(weft.ones(2))
    assert seen == [(False,) * 3]


def test_an_error_ends_what_is_compiled():
    @weft.compile
    def function(x):
        raise ValueError

    for _ in range(3):
        with pytest.raises(ValueError):
            function(weft.ones(2))
        assert answers() == (False,) * 3


def test_an_exported_program_is_compiled_but_by_no_dynamo():
    seen = []

    class Model(nn.Module):
        def forward(self, x):
            seen.append(answers())
            return x * 2

    weft.export.export(Model(), (weft.ones(2),))
    assert set(seen) == {(True, False, True)} and answers() == (False,) * 3

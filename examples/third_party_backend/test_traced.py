"""The public backend suite on the device "traced"; ``pytest`` runs it where weft-traced is installed."""

import weft_traced

import weft
from weft.testing import BackendSuite


class TestTraced(BackendSuite):
    device = "traced"


def test_calls_are_counted():
    x = weft.ones(2, 2, device="traced")
    weft_traced.calls.clear()
    x @ x
    assert weft_traced.calls["matmul"] == 1

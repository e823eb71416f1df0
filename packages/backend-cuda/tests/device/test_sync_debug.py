"""The program is told where it waits for the device, if it asks to be."""

import warnings

import pytest

import weft

MESSAGE = "called a synchronizing CUDA operation"


@pytest.fixture
def x():
    yield weft.arange(4.0, device="cuda") - 1
    weft.cuda.set_sync_debug_mode("default")


WAITING = {
    "item": lambda x: x[0].item(),
    "bool": lambda x: bool(x[0]),
    "cpu": lambda x: x.cpu(),
    "tolist": lambda x: x.tolist(),
    "mask": lambda x: x[x > 0],
    "masked_select": lambda x: x.masked_select(x > 0),
    "nonzero": lambda x: x.nonzero(),
    "argwhere": weft.argwhere,
    "unique": weft.unique,
    "unique_consecutive": weft.unique_consecutive,
    "inverse": lambda x: weft.linalg.inv(x.diag() + weft.eye(4, device="cuda") * 3),
    "singular values": lambda x: weft.linalg.svdvals(x.diag()),
    "eigenvalues": lambda x: weft.linalg.eigvalsh(x.diag()),
}
QUIET = {
    "arithmetic": lambda x: (x * 2).exp().sum(),
    "masked_fill": lambda x: x.masked_fill(x > 0, 0),
    "mask written": lambda x: x.__setitem__(x > 0, 0.0),
    "synchronize": lambda x: weft.cuda.synchronize(),
    "copy": lambda x: x.to("cpu", non_blocking=True),
    "inverse with info": lambda x: weft.linalg.inv_ex(x.diag()),
}


@pytest.mark.parametrize("name", WAITING)
def test_a_wait_is_told_at_the_line_that_waits(name, x):
    weft.cuda.set_sync_debug_mode("warn")
    assert weft.cuda.get_sync_debug_mode() == 1
    with pytest.warns(UserWarning, match=MESSAGE) as told:
        WAITING[name](x)
    assert {each.filename for each in told} == {__file__}
    weft.cuda.set_sync_debug_mode(2)
    with pytest.raises(RuntimeError, match=MESSAGE):
        WAITING[name](x)


@pytest.mark.parametrize("name", QUIET)
def test_what_waits_for_nothing_or_is_meant_to_wait_is_not_told(name, x):
    weft.cuda.set_sync_debug_mode("error")
    QUIET[name](x)


def test_by_default_nothing_is_told(x):
    assert weft.cuda.get_sync_debug_mode() == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for call in WAITING.values():
            call(x)


@pytest.mark.parametrize("mode", ["loud", 3, -1])
def test_other_words_are_refused(mode):
    with pytest.raises(RuntimeError, match="invalid value of debug_mode"):
        weft.cuda.set_sync_debug_mode(mode)

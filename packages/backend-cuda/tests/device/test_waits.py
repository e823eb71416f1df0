"""No op waits for the device, or sends it anything, where PyTorch's does not."""

import cupy_stand_in
import pytest
from waits_and_uploads import UPLOADS, WAITS

import weft
from weft.testing._samples import function_of, sample_inputs, sample_names
from weft.testing.backend_suite import TRIED, gradients, moved

pytestmark = pytest.mark.usefixtures("on_stand_in")


def events(name, dtype, differentiate):
    """What an op's samples of a dtype make the host wait for or send each time, and where."""
    found = set()
    for sample in sample_inputs(name, dtype):
        calls = [recorded(name, sample, differentiate) for _ in range(2)]  # the first sends what is kept there
        found.update(calls[1])
    return found


def recorded(name, sample, differentiate):
    """What one call waits for or sends."""
    function, (args, kwargs) = function_of(name), moved(sample, "cuda", requires_grad=differentiate)
    with cupy_stand_in.record() as log:
        try:
            gradients(function, args, kwargs) if differentiate else function(*args, **kwargs)
        except Exception:  # what it refuses, the suite compares with the CPU
            return []
    return [each for each in log if each.kind in ("wait", "upload")]


@pytest.mark.parametrize("name", sample_names())
def test_ops_wait_and_send_only_where_declared(name, record_property):
    found = {event for dtype in TRIED for event in events(name, getattr(weft, dtype), differentiate=False)}
    found |= events(name, weft.float32, differentiate=True)
    undeclared = {event for event in found if name not in (WAITS if event.kind == "wait" else UPLOADS)}
    for kind in ("wait", "upload"):  # which the end of the run counts
        record_property(kind, any(event.kind == kind for event in found))
        record_property(f"undeclared {kind}", any(event.kind == kind for event in undeclared))
    assert not undeclared, "\n".join(f"{kind}: {what} at {place}" for kind, what, place in sorted(undeclared))

"""Every op in two threads at a time computes what it computes in one."""

import os
import threading

import numpy as np
import pytest

import weft
from weft.testing._samples import function_of, sample_inputs, sample_names
from weft.testing.backend_suite import gradients, moved, tensors

FULL = os.environ.get("WEFT_TEST_CONCURRENCY") == "full"
ROUNDS = 20 if FULL else 1
DTYPES = (weft.float32, weft.bfloat16, weft.int64, weft.complex64) if FULL else (weft.float32,)
PARTS = 8

pytestmark = pytest.mark.filterwarnings("ignore")  # of ops; what Python remembers of warnings is of all threads


def outcome(function, args, kwargs, with_gradients):
    """What a call gives, as bytes; or the type of its exception."""
    try:
        if with_gradients:
            return [as_bytes(each) for each in gradients(function, *moved((args, kwargs), "cpu", requires_grad=True))]
        return [as_bytes(each) for each in tensors(function(*moved(args, "cpu"), **moved(kwargs, "cpu")))]
    except Exception as error:
        return type(error)


def as_bytes(tensor):
    if tensor is None:
        return None
    tensor = tensor.detach()
    if tensor.layout is not weft.strided:
        tensor = tensor.to_dense()
    array = tensor.contiguous().view(weft.uint8).numpy() if tensor.ndim else tensor.reshape(1).view(weft.uint8).numpy()
    return tuple(tensor.shape), tensor.dtype, np.ascontiguousarray(array).tobytes()


@pytest.mark.parametrize("part", range(PARTS))
def test_an_op_computes_in_two_threads_what_it_computes_in_one(part):
    calls = [
        (name, function_of(name), args, kwargs, with_gradients)
        for name in sample_names()[part::PARTS]
        for dtype in DTYPES
        for args, kwargs in sample_inputs(name, dtype)
        for with_gradients in ((False, True) if dtype.is_floating_point else (False,))
    ]
    expected = [outcome(*call) for _, *call in calls]
    differences, start = [], threading.Barrier(2)

    def run(order):
        start.wait()
        differences.extend(calls[index][0] for index in order if outcome(*calls[index][1:]) != expected[index])

    for _ in range(ROUNDS):
        numbers = list(range(len(calls)))
        threads = [threading.Thread(target=run, args=(order,)) for order in (numbers, numbers)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert not differences
    assert any(not isinstance(each, type) for each in expected)

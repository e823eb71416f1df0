"""Claims of devices other than the CPU: ``meta``, which has no memory, and ``cuda``.

Where there is no GPU, ``cuda`` is what tests of the CUDA backend put in CuPy's place: NumPy computes behind CuPy's
names, parameters, loops and refusals, and every wait and upload is counted.
"""

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from torch.utils._pytree import tree_map

from harness import entries, resolve
from harness.columns import (
    SEED,
    UP_TO_SIGN,
    Case,
    Unjudged,
    always,
    arguments,
    column,
    differentiable,
    translated,
)
from harness.compare import Mismatch, tensors

CUDA_TESTS = Path(__file__).resolve().parents[3] / "packages" / "backend-cuda" / "tests"
sys.path.insert(0, str(CUDA_TESTS))


def install_stand_in() -> Any:
    """Put the stand-in in CuPy's place, unless there is a GPU; what records waits and uploads, or None."""
    from weft.backend_cuda.availability import why_not

    if not why_not():
        return None
    import cupy_stand_in

    cupy_stand_in.install()
    why_not.cache_clear()
    return cupy_stand_in.record


record = install_stand_in()


def _without_memory(value: Any, module: Any, storages: dict[int, Any]) -> Any:
    """A nested value with a meta tensor of the same geometry, in a storage of the same size, for each tensor."""
    if isinstance(value, module.Tensor):
        memory = value.untyped_storage()
        key = (memory.data_ptr(), memory.nbytes(), value.dtype)
        if key not in storages:
            count = memory.nbytes() // value.element_size()
            storages[key] = module.empty(count, dtype=value.dtype, device="meta")
        place = 0 if not value.numel() else value.storage_offset()
        geometry = (tuple(value.shape), tuple(value.stride()), place)
        made = (
            storages[key].as_strided(*geometry)
            if memory.nbytes()
            else module.empty_strided(*geometry[:2], dtype=value.dtype, device="meta")
        )
        return made.detach().requires_grad_(value.requires_grad)
    if isinstance(value, list | tuple) and type(value) in (list, tuple):
        return type(value)(_without_memory(item, module, storages) for item in value)
    if isinstance(value, dict):
        moved = {key: _without_memory(item, module, storages) for key, item in value.items()}
        return moved | ({"device": "meta"} if moved.get("device") is not None else {})
    return value


def _told(value: Any, module: Any) -> list[Any]:
    """Shape, dtype and the strides that mean something of each tensor of a result."""
    return [
        (
            tuple(each.shape),
            str(each.dtype).rpartition(".")[2],
            [step for step, size in zip(each.stride(), each.shape, strict=True) if size > 1] if each.numel() else [],
        )
        for each in tensors(value, module.Tensor)
    ]


def _gradients_told(result: Any, given: Any, module: Any) -> list[Any]:
    """Shape and dtype of the gradients of all inputs."""
    outputs = [each for each in tensors(result, module.Tensor) if each.requires_grad]
    inputs = [each for each in tensors(given, module.Tensor) if each.requires_grad]
    if not outputs or not inputs:
        return []
    sums = [(each.abs() if each.is_complex() else each).sum() for each in outputs]
    found = module.autograd.grad(sums, inputs, allow_unused=True)
    return [None if each is None else (tuple(each.shape), each.dtype) for each in found]


def _meta(case: Case, sample: Any, differentiates: bool) -> None:
    module = case.library.module
    translator, *given = translated(case, sample)
    function = resolve.function(case.entry, translator)
    if any(each.layout is not module.strided for each in tensors(given, module.Tensor)):
        raise Unjudged("a sparse tensor")
    args, kwargs = _without_memory(given, module, {})
    their_args, their_kwargs = _without_memory(list(arguments(sample)), torch, {})
    here = case.judged(lambda: function(*given[0], **given[1]))
    expected = [_told(here, module)]
    try:
        theirs = case.entry.op(*their_args, **their_kwargs)
        if differentiates:
            _gradients_told(theirs, (their_args, their_kwargs), torch)
        expected.append(_told(theirs, torch))
        refusal = None
    except Exception as error:
        refusal = error
    try:
        there = function(*args, **kwargs)
        told = _told(there, module)
        grads = _gradients_told(there, (args, kwargs), module) if differentiates else []
    except RuntimeError as error:
        if refusal is None:
            raise
        raise Unjudged("PyTorch refuses it as well") from error
    if told not in expected:
        raise Mismatch("shape, dtype or strides", f"{told} instead of {expected}")
    devices = None if refusal else [each.is_meta for each in tensors(theirs)]
    if devices not in (None, [each.is_meta for each in tensors(there, module.Tensor)]):
        raise Mismatch("a result on another device")
    if differentiates and grads != case.judged(lambda: _gradients_told(here, given, module)):
        raise Mismatch("shape or dtype of gradients", str(grads))


@column("meta", always)
def meta(case: Case, sample: Any) -> None:
    """On the meta device: shapes, dtypes and strides as PyTorch's meta tensors have them, or the library's result."""
    _meta(case, sample, False)


@column("meta_gradient", differentiable, lambda entry: entries.dtypes(entry) & {"float32"}, requires_grad=True)
def meta_gradient(case: Case, sample: Any) -> None:
    """The same with backward: the gradients' shapes and dtypes are those of the library's on the CPU."""
    _meta(case, sample, True)


TRIED = {"float32", "int64", "bool", "complex64", "bfloat16"}


def _tried(entry: Any) -> set[str]:
    return entries.dtypes(entry) & TRIED


def _copied(value: Any, module: Any, device: str, requires_grad: bool) -> Any:
    """A copy of a sample on a device: tensors in storages of their own size, and the device where the CPU is named."""
    from weft.testing.backend_suite import moved

    storages: dict[Any, Any] = {}

    def placed(each: Any) -> Any:
        if not isinstance(each, module.Tensor):
            return device if str(each) == "cpu" else each
        if each.is_conj() or each.is_neg() or not each.numel():
            return moved(each, device, requires_grad=requires_grad)
        memory = each.untyped_storage()
        key = (memory.data_ptr(), memory.nbytes(), each.dtype)
        if key not in storages:
            whole = each.detach().as_strided((memory.nbytes() // each.element_size(),), (1,), 0)
            storages[key] = whole.to(device, copy=True)
        copied = storages[key].as_strided(tuple(each.shape), tuple(each.stride()), each.storage_offset())
        return copied.detach().requires_grad_(requires_grad and copied.is_floating_point())

    return tree_map(placed, value)


def _assert_close(found: Any, expected: Any, module: Any) -> None:
    """Equal up to another order of sums: the tolerance is of the largest element."""
    from weft.testing.backend_suite import TOLERANCES

    theirs = list(tensors(expected, module.Tensor))
    if len(mine := list(tensors(found, module.Tensor))) != len(theirs):
        raise Mismatch("number of results", f"{len(mine)} instead of {len(theirs)}")
    for there, here in zip(mine, theirs, strict=True):
        if there.device.type != "cuda":
            raise Mismatch("a result on another device", str(there.device))
        rtol, atol = TOLERANCES.get(str(here.dtype).rpartition(".")[2], (0.0, 0.0))
        if atol and here.numel():
            size = here.detach().abs().nan_to_num(0, 0, 0).max()
            atol *= max(1.0, float(size))
        module.testing.assert_close(there.detach().cpu(), here.detach(), rtol=rtol, atol=atol, equal_nan=True)


def _cuda(case: Case, sample: Any, differentiates: bool) -> None:
    from waits_and_uploads import UPLOADS, WAITS

    from weft.testing.backend_suite import gradients

    translator, args, kwargs = translated(case, sample)
    function, module, name = resolve.function(case.entry, translator), case.library.module, case.entry.name
    if any(each.layout is not module.strided for each in tensors((args, kwargs), module.Tensor)):
        raise Unjudged("a sparse tensor")
    there = _copied((args, kwargs), module, "cuda", differentiates)
    here = _copied((args, kwargs), module, "cpu", differentiates)
    makes = not list(tensors((args, kwargs), module.Tensor))  # what makes tensors of numbers

    def call(args: Any, kwargs: Any) -> Any:
        return gradients(function, args, kwargs) if differentiates else function(*args, **kwargs)

    def recorded() -> tuple[Any, Any]:
        with module.device("cuda") if makes else nullcontext(), record() if record else nullcontext([]) as log:
            return case.tried(lambda: call(*there)), log

    try:
        expected = case.judged(lambda: call(*here))
    except NotImplementedError as error:
        raise Unjudged(str(error)) from error
    is_random = module.get_rng_state().numpy().tobytes() != _state_after_seeding(case)
    found, log = recorded()
    if is_random or name in UP_TO_SIGN or "empty" in name:
        if _told(found, module) != _told(expected, module):
            raise Mismatch("shape, dtype or strides", f"{_told(found, module)} instead of {_told(expected, module)}")
    else:
        _assert_close(found, expected, module)
    if any(each.kind == "upload" for each in log):  # again: what the first call sends may be kept there
        there = _copied((args, kwargs), module, "cuda", differentiates)
        _, log = recorded()
    for kind, what, place in log:
        if name not in {"wait": WAITS, "upload": UPLOADS}.get(kind, {name}):
            raise Mismatch(f"{kind}: {what} at {place}", "where the list of waits and uploads has none")


def _state_after_seeding(case: Case) -> bytes:
    """The state of the CPU's generator before the call."""
    case.library.seed(SEED)
    state: bytes = case.library.module.get_rng_state().numpy().tobytes()
    return state


@column("cuda", always, _tried)
def cuda(case: Case, sample: Any) -> None:
    """On CUDA: the values, dtypes and shapes of the CPU, with no wait or upload that is not declared."""
    _cuda(case, sample, False)


@column("cuda_gradient", differentiable, lambda entry: entries.dtypes(entry) & {"float32"}, requires_grad=True)
def cuda_gradient(case: Case, sample: Any) -> None:
    """The same of gradients."""
    _cuda(case, sample, True)

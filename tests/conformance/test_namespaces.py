"""Each public name of ``torch`` and of ``torch.Tensor`` is there, or `left_out.toml` says why not.

The lists come from PyTorch itself, so that a release that brings names makes these tests fail.
"""

import fnmatch
import inspect
import tomllib
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("torch", reason="PyTorch, the oracle, is installed in the conformance environment only")

import torch
import torch.distributed.run  # brings torch.numa into torch's namespace, whichever test is the first to import it
import torch.onnx  # which appears in torch's namespace with its first import

import weft

LEFT_OUT = tomllib.loads((Path(__file__).parent / "left_out.toml").read_text(encoding="utf-8"))
NAMESPACES = {
    "torch": (torch, weft),
    "torch.Tensor": (torch.Tensor, weft.Tensor),
    "torch.Size": (torch.Size(), weft.Size()),
    "torch.Generator": (torch.Generator(), weft.Generator()),
    "torch.dtype": (torch.float32, weft.float32),
    "torch.device": (torch.device("cpu"), weft.device("cpu")),
    "torch.finfo": (torch.finfo(), weft.finfo()),
    "torch.iinfo": (torch.iinfo(torch.int8), weft.iinfo(weft.int8)),
    "torch.return_types": (torch.return_types, weft.return_types),
}
MODULES = (
    "accelerator amp autograd autograd.forward_ad autograd.functional autograd.graph cuda cuda.amp cuda.memory "
    "cuda.nvtx cuda.profiler cuda.random cuda.streams fft func functional linalg masked nested "
    "overrides profiler random signal.windows sparse special types hub multiprocessing utils.benchmark "
    "utils.checkpoint utils.data utils.data.dataloader utils.data.dataset utils.data.distributed utils.data.sampler "
    "utils.flop_counter"
)
LAYERS = (
    "nn nn.attention nn.attention.bias nn.attention.flex_attention nn.functional nn.grad nn.init nn.modules "
    "nn.parallel nn.parameter nn.utils nn.utils.clip_grad nn.utils.convert_parameters nn.utils.fusion nn.utils.init "
    "nn.utils.memory_format nn.utils.parametrizations nn.utils.parametrize nn.utils.prune nn.utils.rnn "
    "nn.utils.stateless optim optim.lr_scheduler optim.swa_utils"
)
PROCESSES = (
    "distributed distributed.algorithms.join distributed.checkpoint distributed.checkpoint.state_dict "
    "distributed.device_mesh distributed.elastic.multiprocessing distributed.elastic.multiprocessing.errors "
    "distributed.fsdp distributed.launcher.api distributed.pipelining distributed.rendezvous "
    "distributed.tensor distributed.tensor.parallel"
)
LAYER_PATHS = (
    "activation adaptive batchnorm channelshuffle container conv distance dropout flatten fold instancenorm lazy "
    "linear loss module normalization padding pixelshuffle pooling rnn sparse transformer upsampling utils"
)
for _path in [
    *MODULES.split(),
    *LAYERS.split(),
    *PROCESSES.split(),
    *[f"nn.modules.{_each}" for _each in LAYER_PATHS.split()],
]:
    NAMESPACES[f"torch.{_path}"] = import_module(f"torch.{_path}"), import_module(f"weft.{_path}")


def public(namespace: Any) -> list[str]:
    """The names that a user may rely on: those without underscores, and the operators of a class.

    A module's own list is all of it; PyTorch itself, and a few modules, offer more than they list.
    """
    names = set(getattr(namespace, "__all__", ()))
    if not names or namespace is torch:
        names |= set(dir(namespace))
    if isinstance(namespace, ModuleType):
        return sorted(name for name in names if not name.startswith("_"))
    inherited = set(dir(object)) | {"__module__", "__dict__", "__weakref__", "__slotnames__"}
    operators = {name for name in names if name.startswith("__") and name.endswith("__")} - inherited
    return sorted(operators | {name for name in names if not name.startswith("_")})


def matches(name: str, table: dict[str, str]) -> list[str]:
    return [pattern for pattern in table if fnmatch.fnmatchcase(name, pattern)]


@pytest.mark.parametrize("which", NAMESPACES)
def test_every_public_name_is_there_or_left_out_with_a_reason(which: str) -> None:
    reference, library = NAMESPACES[which]
    table = LEFT_OUT.get(which, {})
    missing = [name for name in public(reference) if not hasattr(library, name) and not matches(name, table)]
    assert not missing, f"{which}: {len(missing)} names are neither there nor in left_out.toml: {' '.join(missing)}"


@pytest.mark.parametrize("which", sorted(LEFT_OUT.keys() & NAMESPACES.keys()))
def test_what_is_left_out_is_in_pytorch_and_not_here(which: str) -> None:
    reference, library = NAMESPACES[which]
    missing = [name for name in public(reference) if not hasattr(library, name)]
    stale = [pattern for pattern in LEFT_OUT[which] if not fnmatch.filter(missing, pattern)]
    assert not stale, f"{which}: these lines of left_out.toml leave nothing out any more: {stale}"


@pytest.mark.parametrize(
    "name", sorted(name for name in public(torch) if isinstance(getattr(torch, name), torch.dtype))
)
def test_dtypes_have_the_same_properties(name: str) -> None:
    if matches(name, LEFT_OUT["torch"]):
        pytest.skip("left out")
    expected, found = getattr(torch, name), getattr(weft, name)
    assert repr(found).removeprefix("weft.") == repr(expected).removeprefix("torch.")
    for attribute in ("abbr", "itemsize", "is_floating_point", "is_complex", "is_signed"):
        assert getattr(found, attribute) == getattr(expected, attribute)


@pytest.mark.parametrize("name", public(torch.return_types))
def test_named_results_have_the_same_fields(name: str) -> None:
    expected = getattr(torch.return_types, name)
    if not hasattr(expected, "n_fields") or matches(name, LEFT_OUT.get("torch.return_types", {})):
        pytest.skip("no named result, or left out")
    values = tuple(range(expected.n_fields))
    found = getattr(weft.return_types, name)(*values)
    made = expected(values)
    assert all(getattr(found, field) == getattr(made, field) for field in found._fields)
    assert len(found) == len(made)


# Names of arguments

SCHEMAS: dict[str, list[Any]] = {}
for _schema in torch._C._jit_get_all_schemas():
    if _schema.name.startswith("aten::"):
        SCHEMAS.setdefault(_schema.name.removeprefix("aten::"), []).append(_schema)


def is_public_overload(schema: Any) -> bool:
    """Whether it is one that Python reaches: of tensors, neither writing to ``out`` nor with names of dimensions."""
    types = [str(each.type) for each in schema.arguments]
    writes = any(each.kwarg_only and each.alias_info is not None for each in schema.arguments)
    return any("Tensor" in each for each in types) and not writes and not any("Dimname" in each for each in types)


def expected_names(name: str, is_method: bool) -> set[str]:
    """The names of arguments that PyTorch's function or method takes."""
    names = {each.name for schema in SCHEMAS.get(name, ()) if is_public_overload(schema) for each in schema.arguments}
    if "self" in names:
        names = names - {"self"} | (set() if is_method else {"input"})
    return names


def taken_names(function: Any) -> set[str] | None:
    """The names that a function of the library takes; None if it takes any."""
    parameters = inspect.signature(inspect.unwrap(function)).parameters.values()
    return None if any(each.kind is each.VAR_KEYWORD for each in parameters) else {each.name for each in parameters}


@pytest.mark.parametrize("which", ["torch", "torch.Tensor"])
def test_arguments_have_pytorchs_names(which: str) -> None:
    reference, library = NAMESPACES[which]
    table = LEFT_OUT["arguments"]
    wrong = []
    for name in public(reference):
        function = getattr(library, name, None)
        if not inspect.isroutine(function) or not inspect.isroutine(getattr(reference, name)) or name.startswith("__"):
            continue
        taken = taken_names(function)
        missing = set() if taken is None else expected_names(name, which == "torch.Tensor") - taken
        wrong += [f"{name}({each})" for each in sorted(missing) if not matches(f"{name}.{each}", table)]
    assert not wrong, f"{which}: these arguments have another name, or are missing: {' '.join(wrong)}"


# Signatures of layers, optimizers and what is around them


def shown(default: Any) -> Any:
    """A default in a form that is equal in both libraries."""
    if isinstance(default, (int, float, str, bool, tuple, type(None))):
        return default
    return getattr(default, "__name__", None) or repr(default).replace("weft.", "torch.")


def parameters_of(function: Any) -> list[tuple[Any, ...]] | None:
    """Names, kinds and defaults of the parameters; None where Python does not know them, or they are any."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    if {each.kind for each in parameters} == {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}:
        return None
    return [(each.name, each.kind, shown(each.default)) for each in parameters if not each.name.startswith("_")]


def methods(cls: Any) -> list[str]:
    """The public methods that a class or one of its bases in PyTorch defines."""
    bases = [base for base in cls.__mro__ if base.__module__.startswith("torch.") and base not in torch.Tensor.__mro__]
    names = {name for base in bases for name in vars(base) if not name.startswith("_") and name != "forward"}
    return sorted(name for name in names if inspect.isroutine(getattr(cls, name)))


@pytest.mark.parametrize("path", LAYERS.split())
def test_signatures_are_pytorchs(path: str) -> None:
    reference, library = NAMESPACES[f"torch.{path}"]
    table = LEFT_OUT["signatures"]
    wrong = []
    for name in public(reference):
        expected, found = getattr(reference, name), getattr(library, name, None)
        if found is None or not callable(expected) or not (expected.__module__ or "").startswith("torch."):
            continue
        pairs = [(name, expected, found)]
        if inspect.isclass(expected):
            pairs += [
                (f"{name}.{each}", getattr(expected, each), getattr(found, each, None)) for each in methods(expected)
            ]
        for what, theirs, ours in pairs:
            if callable(theirs) and not matches(what, table) and differ(theirs, ours):
                wrong.append(f"{what}{inspect.signature(theirs)}")
    assert not wrong, f"{path}: these are missing, or have another signature: {chr(10).join(wrong)}"


def differ(theirs: Any, ours: Any) -> bool:
    if ours is None:
        return True
    expected = parameters_of(theirs)
    return expected is not None and parameters_of(ours) != expected

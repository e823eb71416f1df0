"""The cases of ``onnx.backend.test``, run by weft, and the list of those that pass.

    python tests/conformance/onnx/cases.py            # all cases: counts, and what fails
    python tests/conformance/onnx/cases.py --update   # add what passes to the list

The node cases are in 190 modules of the package, one for each operator or so, which compute them when they are
imported: a run that takes some of the modules is as much quicker. Others are stored as files.
"""

from __future__ import annotations

import importlib
import itertools
import json
import pkgutil
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import onnx
from onnx import numpy_helper
from onnx.backend.test.case import node
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner, _normalize_tensor

from weft.onnx.backend import WeftBackend

LIST = Path(__file__).with_name("passing.json")
STORED = ("simple", "pytorch-converted", "pytorch-operator")
NARROW = set(range(17, 30))  # TensorProto.DataType of 8-bit floating point and of 2 and 4 bits
COUNTED = "neither expanded nor of small types"


def modules() -> list[str]:
    """The modules that have cases."""
    prefix = f"{node.__name__}."
    return sorted(each.name.removeprefix(prefix) for each in pkgutil.walk_packages(node.__path__, prefix))


@cache
def cases_of(module: str) -> tuple[Any, ...]:
    """The cases of a module, which imports it; those of modules that it imports count as its own."""
    before = len(node._NodeTestCases)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # divisions by zero are a part of some cases
        importlib.import_module(f"{node.__name__}.{module}")
    return tuple(node._NodeTestCases[before:])


@cache
def stored_cases() -> dict[str, Any]:
    """The cases that are files, by name."""
    return {case.name: case for kind in STORED for case in load_model_tests(kind=kind)}


def stored_sets(case: Any, model: Any) -> Iterator[tuple[list[Any], list[Any]]]:
    """The inputs and outputs of a case that is files."""
    for folder in sorted(Path(case.model_dir).glob("test_data_set_*")):
        yield read_values(folder, "input", model.graph.input), read_values(folder, "output", model.graph.output)


def read_values(folder: Path, name: str, values: Any) -> list[Any]:
    """The arrays, or sequences of them, of a folder."""
    made = []
    for number, value in enumerate(values):
        if (path := folder / f"{name}_{number}.pb").exists():
            is_tensor = value.type.HasField("tensor_type")
            message = (onnx.TensorProto if is_tensor else onnx.SequenceProto).FromString(path.read_bytes())
            made.append((numpy_helper.to_array if is_tensor else numpy_helper.to_list)(message))
    return made


def check(case: Any) -> None:
    """Run a case and compare its outputs, as ``onnx.backend.test.runner`` does."""
    model = onnx.load(Path(case.model_dir, "model.onnx")) if case.model is None else case.model
    prepared = WeftBackend.prepare(model, "CPU")
    for inputs, outputs in stored_sets(case, model) if case.model is None else case.data_sets:
        results = prepared.run([_normalize_tensor(each) for each in inputs])
        Runner.assert_similar_outputs([_normalize_tensor(each) for each in outputs], results, case.rtol, case.atol)


def group(case: Any) -> str:
    """Of which kind a case is."""
    if case.model is None:
        return "stored"
    if "_expanded" in case.name:
        return "expanded"
    values = [*case.model.graph.input, *case.model.graph.output]
    return "of small types" if any(element_types(each.type) & NARROW for each in values) else COUNTED


def element_types(kind: Any) -> set[int]:
    """The types of numbers in a type of a value."""
    name = kind.WhichOneof("value")
    if name is None:
        return set()
    inner = getattr(kind, name)
    return {inner.elem_type} if name.endswith("tensor_type") else element_types(inner.elem_type)


def listed() -> set[str]:
    """The names of the cases that pass."""
    return set(json.loads(LIST.read_text()))


def outcomes() -> Iterator[tuple[Any, Exception | None]]:
    """Run all cases."""
    for case in [*itertools.chain.from_iterable(map(cases_of, modules())), *stored_cases().values()]:
        try:
            check(case)
        except Exception as error:
            yield case, error
        else:
            yield case, None


def main() -> None:
    """Print counts and failures; write the list if asked to."""
    passing = listed()
    passed, total = Counter[str](), Counter[str]()
    for case, error in outcomes():
        total[group(case)] += 1
        if error is None:
            passed[group(case)] += 1
            passing.add(case.name)
        else:
            print(f"{case.name}: {type(error).__name__}: {str(error)[:120]!r}")
    print(f"onnx {onnx.__version__}: " + "; ".join(f"{passed[name]} of {total[name]} {name}" for name in total))
    if "--update" in sys.argv:
        LIST.write_text(json.dumps(sorted(passing), indent=0) + "\n")


if __name__ == "__main__":
    main()

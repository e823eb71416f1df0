"""What every docstring's example may take for granted: ``weft``, ``np``, and the same random numbers each time."""

import builtins
import hashlib
import importlib
import os
from importlib.util import find_spec
from typing import Any

import pytest

if "PYTEST_XDIST_WORKER" in os.environ:
    # Several processes share the processors: a thread that waits for work sleeps, rather than spins in another's way.
    # OpenMP reads this when it is loaded, which nothing has done yet.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# Every kernel's results are compared with what its op declares (weft/_plugins/kernel_checks.py).
os.environ.setdefault("WEFT_CHECK_KERNELS", "1")

# What a program waits for is told on stderr, which tests read (packages/backend-cpu/README.md).
os.environ.setdefault("WEFT_QUIET", "1")

# Modules that import what need not be installed; nothing imports them but who asks for them.
NEEDS = {
    **{
        f"packages/backend-cuda/src/weft/backend_cuda/{name}.py": "cupy"
        for name in (
            "backend devices errors linear_algebra memory orthogonal_polynomials regions runtime special_functions "
            "streams transfers"
        ).split()
    },
    "packages/core/src/weft/utils/einops.py": "einops",
    **{
        f"packages/distributed/src/weft/ray/{name}.py": "ray"
        for name in "backend checkpoint data model trainer".split()
    },
    "packages/distributed/src/weft/distributed/communicators/mpi.py": "mpi4py",
    "packages/core/src/weft/utils/tensorboard": "tensorboardX",
    "packages/nn/src/weft/onnx/backend.py": "onnx",
    "packages/text/src/weft/text/tokenizers/pretrained.py": "tokenizers",
    "packages/text/src/weft/text/tokenizers/chat.py": "jinja2",
    **{f"packages/nn/src/weft/serve/{name}.py": name for name in ("litserve", "mlserver", "ray")},
}
collect_ignore = [module for module, needed in NEEDS.items() if find_spec(needed) is None]
collect_ignore += ["tests/programs", "tests/ecosystem", "tests/distributed_programs"]  # `weft run` runs these

# pytest asks modules and packages for these names, and `weft.ops` answers any name with a namespace of operators.
ASKED = "pytest_plugins pytestmark setUpModule setup_module tearDownModule teardown_module setup_function"
ops = importlib.import_module("weft.ops")  # only now: weft reads the settings above when it is imported
vars(ops).update(dict.fromkeys([*ASKED.split(), "teardown_function"]), pytest_plugins=[], pytestmark=[])


@pytest.fixture(autouse=True)
def examples(request: pytest.FixtureRequest, doctest_namespace: dict[str, Any]) -> None:
    """Prepare a doctest; an ordinary test is left alone."""
    if type(request.node).__name__ == "DoctestItem":
        import numpy

        import weft

        doctest_namespace.update(weft=weft, np=numpy)
        if request.node.dtest.globs.get("__name__") == "weft":  # where some of Python's names are weft's
            request.node.dtest.globs.update(
                {name: value for name, value in vars(builtins).items() if name in vars(weft)}
            )
        weft.manual_seed(0)


# Tests whose time is mostly that of processes, models and files: of what stands on weft without being part of it, and
# of whole trainings.
APART = (
    *("packages/distributed/", "packages/text/", "packages/vision/", "tests/deployment/", "tests/onnx/"),
    *("tests/test_examples.py", "tests/test_programs.py", "tests/test_readme.py", "tests/robustness/"),
    *("packages/core/tests/test_autograd_memory.py", "packages/nn/tests/test_data_workers.py"),
    *("packages/nn/tests/test_warm.py", "tests/capture/test_models.py"),
)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where ``WEFT_TESTS`` is ``K/N``, take of the tests in `APART` the K-th of N parts, by their names."""
    part, _, parts = os.environ.get("WEFT_TESTS", "0/1").partition("/")
    if int(parts) > 1:
        left = [
            each for each in items if each.nodeid.startswith(APART) and digest(each.nodeid) % int(parts) != int(part)
        ]
        config.hook.pytest_deselected(items=left)
        chosen = set(map(id, items)) - set(map(id, left))
        items[:] = [each for each in items if id(each) in chosen]


def digest(name: str) -> int:
    """A number of a name that is the same in each process."""
    return int(hashlib.sha256(name.encode()).hexdigest(), 16)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say if the compiled engine, by ``./dev compile``, is not that of the sources: the tests ran the old one."""
    engine = terminalreporter.config.rootpath / "packages" / "core" / "src" / "weft" / "_engine"
    stale = [
        source.name
        for source in sorted(engine.glob("*.py"))
        for compiled in engine.glob(f"{source.stem}.*.so")
        if compiled.stat().st_mtime < source.stat().st_mtime
    ]
    if stale:
        terminalreporter.write_line(
            f"The compiled engine is older than {', '.join(stale)}: ./dev compile makes it anew, "
            "./dev compile --remove goes back to the interpreted one.",
            yellow=True,
        )

"""What every docstring's example may take for granted: ``weft``, ``np``, and the same random numbers each time."""

from importlib.util import find_spec
from typing import Any

import pytest

if find_spec("cupy") is None:  # what stands behind weft.backend_cuda's own check for it
    collect_ignore = ["packages/backend-cuda/src/weft/backend_cuda/backend.py"]


@pytest.fixture(autouse=True)
def examples(request: pytest.FixtureRequest, doctest_namespace: dict[str, Any]) -> None:
    """Prepare a doctest; an ordinary test is left alone."""
    if type(request.node).__name__ == "DoctestItem":
        import numpy

        import weft

        doctest_namespace.update(weft=weft, np=numpy)
        weft.manual_seed(0)

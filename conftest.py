"""What every docstring's example may take for granted: ``weft``, ``np``, and the same random numbers each time."""

from typing import Any

import pytest


@pytest.fixture(autouse=True)
def examples(request: pytest.FixtureRequest, doctest_namespace: dict[str, Any]) -> None:
    """Prepare a doctest; an ordinary test is left alone."""
    if type(request.node).__name__ == "DoctestItem":
        import numpy

        import weft

        doctest_namespace.update(weft=weft, np=numpy)
        weft.manual_seed(0)

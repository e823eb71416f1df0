"""The tests are about compiled kernels: none of them waits for NumPy to have taken long enough.

Without Numba those are skipped that compile a loop themselves, or call one that is not prebuilt past the backend.
"""

import pytest

from weft.backend_cpu import libraries
from weft.backend_cpu.compiled import has_numba
from weft.backend_cpu.compiled.prebuilt import NotPrebuilt

libraries.compile_at_once()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    try:
        return (yield)
    except (NotPrebuilt, ModuleNotFoundError) as error:
        if has_numba() or getattr(error, "name", "numba") not in ("numba", "llvmlite"):
            raise
        pytest.skip(f"without Numba: {error}")

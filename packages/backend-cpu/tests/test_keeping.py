"""Processes that compile at the same time, each without knowing of the other, find their own kernels afterwards."""

import pytest

caching = pytest.importorskip("numba.core.caching")
keeping = pytest.importorskip("weft.backend_cpu.compiled.keeping")


def test_kernels_that_two_processes_keep_at_the_same_time_are_not_mixed_up(tmp_path):
    first, second = (caching.IndexDataCacheFile(str(tmp_path), "kernel", "stamp") for _ in range(2))
    write, read = first._save_data, second._load_index()

    def write_after_the_other(name, data):  # which read the index when both began
        second._load_index = lambda: dict(read)
        keeping.save(second, "tanh", "the kernel of tanh")
        write(name, data)

    first._save_data = write_after_the_other
    keeping.save(first, "exp", "the kernel of exp")
    again = caching.IndexDataCacheFile(str(tmp_path), "kernel", "stamp")
    assert again.load("exp") == "the kernel of exp"
    assert again.load("tanh") in ("the kernel of tanh", None)  # None: it will be compiled again


def test_a_kernel_that_is_compiled_again_takes_the_place_of_the_old_one(tmp_path):
    file = caching.IndexDataCacheFile(str(tmp_path), "kernel", "stamp")
    for data in ("before", "after"):
        keeping.save(file, "exp", data)
    assert file.load("exp") == "after"
    assert len(list(tmp_path.glob("*.nbc"))) == 1

"""The number of threads is one number, which NumPy's BLAS follows."""

import pytest

import weft


@pytest.fixture
def as_before():
    """Put the number of threads back after the test."""
    count = weft.get_num_threads()
    yield
    weft.set_num_threads(count)


def test_the_number_that_was_set_is_the_number_that_is_used(as_before):
    weft.set_num_threads(1)
    assert weft.get_num_threads() == 1


@pytest.mark.parametrize(
    ("num", "message"), [(0, "positive"), (-1, "positive"), (1.5, "got float"), (True, "got bool")]
)
def test_a_number_that_is_no_positive_int_is_an_error(num, message, as_before):
    with pytest.raises(RuntimeError, match=f"^set_num_threads: .*{message}"):
        weft.set_num_threads(num)


def test_operations_run_one_after_the_other():
    assert weft.get_num_interop_threads() == 1
    weft.set_num_interop_threads(4)
    assert weft.get_num_interop_threads() == 1

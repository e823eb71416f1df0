"""Assertions of library code."""

import pytest

import weft


@pytest.mark.parametrize(
    ("check", "error"),
    [
        (weft._check, RuntimeError),
        (weft._check_index, IndexError),
        (weft._check_value, ValueError),
        (weft._check_type, TypeError),
        (weft._check_not_implemented, NotImplementedError),
    ],
)
def test_a_check_raises_what_its_name_says_with_the_message(check, error):
    check(True, lambda: "unseen")
    with pytest.raises(error, match="3 is too small"):
        check(False, lambda: f"{3} is too small")
    with pytest.raises(error, match="Expected cond to be True"):
        check(False)
    with pytest.raises(TypeError, match="cond must be a bool"):
        check(1)


def test_sizes_and_tensors_are_checked():
    weft._check_is_size(3, max=3)
    with pytest.raises(RuntimeError, match="Expected cond"):
        weft._check_is_size(-1)
    weft._check_tensor_all(weft.tensor([True, True]))
    with pytest.raises(RuntimeError, match="not all"):
        weft._check_tensor_all(weft.tensor([True, False]), lambda: "not all")
    with pytest.raises(AssertionError, match="no"):
        weft._assert(weft.tensor(0), "no")


def test_the_older_names_of_autocast_speak_of_one_type_of_device():
    assert not weft.is_autocast_cpu_enabled()
    with weft.autocast("cpu", dtype=weft.float16):
        assert weft.is_autocast_cpu_enabled()
        assert weft.get_autocast_cpu_dtype() is weft.float16
    assert weft.get_autocast_gpu_dtype() is weft.float16


def test_a_check_of_all_elements_raises_the_exception_that_it_is_given():
    """Transformers checks placeholders of images so (LLaVA)."""
    weft._check_tensor_all_with(ValueError, weft.tensor([True, True]))
    with pytest.raises(ValueError, match="one is off"):
        weft._check_tensor_all_with(ValueError, weft.tensor([True, False]), lambda: "one is off")
    with pytest.raises(TypeError, match="must have dtype"):
        weft._check_tensor_all_with(ValueError, weft.tensor([1]))

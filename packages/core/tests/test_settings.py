"""Process-wide switches are kept and told, and refuse what PyTorch refuses."""

import pytest

import weft


def test_deterministic_algorithms_are_on_once_asked_for():
    weft.use_deterministic_algorithms(True, warn_only=True)
    try:
        assert weft.are_deterministic_algorithms_enabled()
        assert weft.is_deterministic_algorithms_warn_only_enabled()
        assert weft.get_deterministic_debug_mode() == 1
    finally:
        weft.use_deterministic_algorithms(False)
    assert not weft.are_deterministic_algorithms_enabled()


@pytest.mark.parametrize(("mode", "number"), [("default", 0), ("warn", 1), ("error", 2), (2, 2)])
def test_the_debug_mode_is_a_word_or_a_number(mode, number):
    weft.set_deterministic_debug_mode(mode)
    try:
        assert weft.get_deterministic_debug_mode() == number
    finally:
        weft.set_deterministic_debug_mode(0)


@pytest.mark.parametrize(("mode", "error"), [("x", RuntimeError), (3, RuntimeError), (1.5, TypeError)])
def test_another_debug_mode_is_refused(mode, error):
    with pytest.raises(error, match="debug_mode"):
        weft.set_deterministic_debug_mode(mode)


def test_flags_that_are_no_bool_are_refused():
    with pytest.raises(TypeError, match=r"'mode' \(position 1\) must be bool"):
        weft.use_deterministic_algorithms(1)
    with pytest.raises(RuntimeError, match="expects a bool"):
        weft.set_flush_denormal(1)
    with pytest.raises(RuntimeError, match="expects a bool"):
        weft.set_warn_always(1)


def test_the_precision_of_products_is_one_of_three_words():
    weft.set_float32_matmul_precision("high")
    try:
        with pytest.warns(UserWarning, match="is not one of"):
            weft.set_float32_matmul_precision("low")
        assert weft.get_float32_matmul_precision() == "high"
    finally:
        weft.set_float32_matmul_precision("highest")
    with pytest.raises(RuntimeError, match="expects a str"):
        weft.set_float32_matmul_precision(1)


def test_anomaly_mode_can_be_set_for_good():
    weft.set_anomaly_enabled(True, check_nan=False)
    try:
        assert weft.is_anomaly_enabled() and not weft.is_anomaly_check_nan_enabled()
    finally:
        weft.set_anomaly_enabled(False)
    assert not weft.is_anomaly_enabled()


def test_each_device_has_a_module():
    assert weft.get_device_module("cpu") is weft.cpu and weft.cpu.device_count() == 1
    assert weft.get_device_module().current_device() == "cpu"
    with pytest.raises(RuntimeError, match=r"expect weft\.device"):
        weft.get_device_module(3)


def test_a_stream_of_the_cpu_is_the_current_one_within_its_block():
    stream = weft.cpu.Stream()
    with weft.cpu.stream(stream):
        assert weft.cpu.current_stream() is stream
    assert weft.cpu.current_stream() is not stream


def test_arithmetic_that_tracers_replace_is_pythons_on_numbers():
    assert (weft.sym_int(-3.7), weft.sym_float(3), weft.sym_sqrt(4), weft.sym_sum([1, 2])) == (-3, 3.0, 2.0, 3)
    assert type(weft.sym_max(3, 2.0)) is float and weft.sym_min(3, 2) == 2
    assert weft.sym_not(1) is False and weft.sym_ite(True, 1, 2) == 1
    weft.sym_constrain_range_for_size(3, min=1, max=5)
    with pytest.raises(RuntimeError, match="Invalid value range"):
        weft.sym_constrain_range(3, min=1, max=2)
    with pytest.raises(AssertionError, match="sym_max"):
        weft.sym_max("a", 1)


@pytest.mark.parametrize("name", ["eig", "lstsq", "matrix_rank", "solve", "symeig"])
def test_a_removed_function_says_what_took_its_place(name):
    with pytest.raises(RuntimeError, match=f"{name}: .*Use linalg"):
        getattr(weft, name)(weft.eye(2))


def test_cond_runs_one_branch_and_gradients_flow_through_it():
    x = weft.ones(2, requires_grad=True)
    weft.cond(x.sum() > 1, lambda x: x * 3, lambda x: x, (x,)).sum().backward()
    assert x.grad.tolist() == [3, 3]
    with pytest.raises(RuntimeError, match="single-element"):
        weft.cond(weft.ones(2) > 0, lambda: 1, lambda: 2)
    with pytest.raises(TypeError, match="operands"):
        weft.cond(True, lambda x: x, lambda x: x, 3)


def test_while_loop_carries_values():
    count, value = weft.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (weft.tensor(0), weft.ones(2)))
    assert count.item() == 3 and value.tolist() == [8, 8]
    with pytest.raises(RuntimeError, match="callable"):
        weft.while_loop(3, lambda x: x, (weft.ones(1),))
    with pytest.raises(RuntimeError, match="as many values"):
        weft.while_loop(lambda i, x: i < 3, lambda i, x: i + 1, (0, 1))


def test_the_namespaces_of_constants_and_short_dtypes():
    assert (weft.float, weft.double, weft.half, weft.long, weft.int) == (
        weft.float32,
        weft.float64,
        weft.float16,
        weft.int64,
        weft.int32,
    )
    assert weft.pi > 3.14 and weft.inf == float("inf") and weft.newaxis is None
    assert [each.abbr for each in (weft.bool, weft.uint8, weft.bfloat16, weft.complex128)] == [
        "b8",
        "u8",
        "bf16",
        "c128",
    ]


def test_named_results_have_types_by_name():
    assert isinstance(weft.tensor([[1, 5, 2]]).max(1), weft.return_types.max)
    assert weft.return_types.lu_unpack._fields == ("P", "L", "U")
    with pytest.raises(AttributeError, match="return_types"):
        weft.return_types.nothing


@pytest.fixture
def deterministic():
    weft.use_deterministic_algorithms(True)
    yield
    weft.use_deterministic_algorithms(False)


@pytest.mark.parametrize("name", ["float32", "bfloat16", "float64", "complex64", "int8", "uint8", "int64", "bool"])
def test_deterministic_programs_see_no_memory_that_was_not_initialised(deterministic, name):
    dtype = getattr(weft, name)
    model = weft.zeros(4, 3, dtype=dtype)
    made = [
        weft.empty(4, 3, dtype=dtype),
        weft.empty_like(model),
        weft.empty_like(model.t()),
        weft.empty_strided((4, 3), (1, 4), dtype=dtype),
        weft.empty_permuted((4, 3), (1, 0), dtype=dtype),
        model.new_empty(4, 3),
        weft.empty(4, 3, dtype=dtype, out=weft.zeros(1, dtype=dtype)),
        weft.zeros(2, dtype=dtype).resize_(14)[2:],
    ]
    for each in made:
        if dtype.is_floating_point or dtype.is_complex:
            assert each.isnan().all()
        else:
            assert (each == (True if name == "bool" else weft.iinfo(dtype).max)).all()


def test_a_tensor_that_grows_keeps_its_elements_in_deterministic_mode(deterministic):
    assert weft.arange(3).resize_(5).tolist() == [0, 1, 2, 2**63 - 1, 2**63 - 1]


def test_memory_is_left_as_it_is_where_the_filling_is_turned_off(deterministic):
    import weft.utils.deterministic as module

    with pytest.raises(RuntimeError, match="expected a bool"):
        module.fill_uninitialized_memory = 1
    module.fill_uninitialized_memory = False
    try:
        memory = weft.zeros(1000).resize_(10)
        assert memory.resize_(1000).tolist()[10:] == [0.0] * 990  # its own memory again
    finally:
        module.fill_uninitialized_memory = True


def test_warn_only_is_kept_also_where_algorithms_may_differ():
    weft.use_deterministic_algorithms(False, warn_only=True)
    try:
        assert weft.is_deterministic_algorithms_warn_only_enabled()
        assert weft.get_deterministic_debug_mode() == 0
    finally:
        weft.use_deterministic_algorithms(False)


def test_the_build_is_told_as_text():
    assert "NumPy" in weft.__config__.show()
    assert str(weft.get_num_threads()) in weft.__config__.parallel_info()

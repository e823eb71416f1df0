"""Flags of PyTorch's libraries are kept as they are set, and what is told of them is so."""

import platform

import pytest

import weft


@pytest.mark.parametrize(
    ("module", "flag", "value"),
    [
        ("cudnn", "enabled", False),
        ("cudnn", "benchmark", True),
        ("cudnn", "deterministic", True),
        ("cudnn", "allow_tf32", False),
        ("mkldnn", "enabled", False),
        ("opt_einsum", "strategy", "greedy"),
        ("quantized", "engine", "fbgemm"),
    ],
)
def test_a_flag_that_is_set_is_kept(monkeypatch, module, flag, value):
    library = getattr(weft.backends, module)
    assert getattr(library, flag) != value
    monkeypatch.setattr(library, flag, value)
    assert getattr(weft.backends, module).__dict__[flag] == value


@pytest.mark.parametrize("module", ["cudnn", "mkldnn", "nnpack"])
def test_flags_hold_within_their_block(module):
    library = getattr(weft.backends, module)
    with library.flags(enabled=False):
        assert not library.enabled
    assert library.enabled


def test_set_flags_returns_what_was():
    before = weft.backends.cudnn.set_flags(_benchmark=True)
    assert before[1] is False and weft.backends.cudnn.benchmark
    weft.backends.cudnn.set_flags(*before)
    assert not weft.backends.cudnn.benchmark


def test_libraries_that_are_not_used_are_not_available():
    libraries = weft.backends
    assert not libraries.cudnn.is_available() and libraries.cudnn.version() is None
    assert not any(getattr(libraries, name).is_available() for name in ("mkl", "openmp", "opt_einsum", "nnpack", "mps"))
    assert not libraries.kleidiai.is_available() and not libraries.cusparselt.is_available()
    assert isinstance(libraries.mkldnn.is_available(), bool)


def test_tf32_of_products_is_the_precision_of_products():
    matmul = weft.backends.cuda.matmul
    assert not matmul.allow_tf32
    weft.set_float32_matmul_precision("medium")
    assert matmul.allow_tf32
    matmul.allow_tf32 = False
    assert weft.get_float32_matmul_precision() == "highest"
    with pytest.raises(AttributeError):
        matmul.allow_tf23 = True


def test_ways_of_attention_are_kept():
    cuda = weft.backends.cuda
    with cuda.sdp_kernel(enable_flash=False):
        assert not cuda.flash_sdp_enabled() and cuda.math_sdp_enabled()
    assert cuda.flash_sdp_enabled()
    weft.backends.mha.set_fastpath_enabled(False)
    assert not weft.backends.mha.get_fastpath_enabled()
    weft.backends.mha.set_fastpath_enabled(True)


def test_the_processors_instructions_are_named():
    assert weft.backends.cpu.get_cpu_capability() in ("AVX512", "AVX2", "NO AVX", "DEFAULT")


def test_a_processors_features_go_with_its_instructions():
    features = weft.cpu.get_capabilities()
    assert features["architecture"] == platform.machine()
    with pytest.raises(TypeError):
        features["avx2"] = True
    if weft.backends.cpu.get_cpu_capability() in ("AVX2", "AVX512") and "avx2" in features:
        assert features["avx2"] and features["sse4_2"] and weft.cpu._is_avx2_supported()
    if weft.backends.cpu.get_cpu_capability() == "AVX512" and "avx512_f" in features:
        assert weft.cpu._is_avx512_supported()
    for name in ("avx512_bf16", "vnni", "amx_tile", "amx_fp16"):
        assert getattr(weft.cpu, f"_is_{name}_supported")() == features.get(
            {"vnni": "avx512_vnni"}.get(name, name), False
        )


def test_linuxs_names_of_features_become_pytorchs(tmp_path):
    listed = tmp_path / "cpuinfo"
    listed.write_text("processor : 0\nflags : fpu pni abm avx2 avx512f sha_ni bmi1\n\nprocessor : 1\nflags : fpu\n")
    assert {"sse3", "lzcnt", "avx2", "avx512_f", "sha", "bmi"} <= weft.cpu._flags(listed)
    assert weft.cpu._flags(tmp_path / "none") == set()


def test_libraries_that_weft_has_not_are_not_enabled():
    assert not weft.backends.xnnpack.enabled
    assert weft.backends.python_native.available_dsls == weft.backends.python_native.all_dsls == []


def test_a_library_that_nobody_has_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"weft\.backends.*'cudn'"):
        weft.backends.cudn
    assert "cudnn" in dir(weft.backends)

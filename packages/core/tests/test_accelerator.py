"""The accelerator is whatever backend an installed plugin brings beside the CPU's."""

import numpy
import pytest

import weft
import weft.plugins
from weft.backend import ArrayNamespaceBackend


class Toy(ArrayNamespaceBackend):
    """Two devices in the host's memory."""

    def __init__(self, count=2):
        super().__init__("toy", numpy)
        self.count, self.current, self.waited = count, 0, []

    def device_count(self):
        return self.count

    def current_device(self):
        return self.current

    def set_device(self, index):
        self.current = index

    def synchronize(self, index=None):
        self.waited.append(index)

    def memory_stats(self, index=None):
        return {"reserved_bytes.all.current": 64, "allocated_bytes.all.current": 16 + index}


def install(monkeypatch, backend):
    monkeypatch.setattr(weft.accelerator, "backends", lambda: ["absent", "cpu", "toy"])
    monkeypatch.setitem(weft.plugins._registry._backends, "toy", backend)
    return backend


@pytest.fixture
def toy(monkeypatch):
    return install(monkeypatch, Toy())


@pytest.fixture
def nothing(monkeypatch):
    return install(monkeypatch, Toy(count=0))


def test_without_an_accelerator_questions_are_answered_and_use_is_an_error(nothing):
    assert not weft.accelerator.is_available()
    assert weft.accelerator.current_accelerator() is None and weft.accelerator.device_count() == 0
    with weft.accelerator.device_index(None):
        pass
    for name in ("current_device_index", "synchronize", "current_stream", "memory_stats", "empty_cache"):
        with pytest.raises(RuntimeError, match=rf"accelerator.{name}: .*none is available"):
            getattr(weft.accelerator, name)()


def test_the_accelerator_is_the_first_backend_that_has_a_device(toy):
    assert weft.accelerator.is_available()
    assert weft.accelerator.current_accelerator() == weft.device("toy")
    assert weft.accelerator.device_count() == 2


def test_a_device_is_current_within_its_block(toy):
    with weft.accelerator.device_index(1):
        assert weft.accelerator.current_device_index() == 1
    assert weft.accelerator.current_device_idx() == 0
    weft.accelerator.set_device_index("toy:1")
    weft.accelerator.set_device_index(-1)
    assert toy.current == 1


def test_a_device_of_another_type_is_refused(toy):
    with pytest.raises(ValueError, match="cpu doesn't match the current accelerator toy"):
        weft.accelerator.set_device_index("cpu")


def test_synchronize_waits_for_the_device_that_is_named(toy):
    weft.accelerator.synchronize()
    weft.accelerator.synchronize(weft.device("toy:1"))
    assert toy.waited == [0, 1]


def test_memory_is_what_the_backend_counts_and_0_where_it_does_not(toy):
    assert list(weft.accelerator.memory_stats()) == ["allocated_bytes.all.current", "reserved_bytes.all.current"]
    assert (weft.accelerator.memory_allocated(1), weft.accelerator.memory_reserved()) == (17, 64)
    assert weft.accelerator.max_memory_allocated() == 0
    weft.accelerator.reset_peak_memory_stats()
    weft.accelerator.empty_cache()


def test_what_the_devices_module_lacks_is_not_implemented(toy):
    with pytest.raises(NotImplementedError, match=r"weft.toy has no current_stream"):
        weft.accelerator.current_stream()


@pytest.mark.parametrize("name", ["mps", "xpu"])
def test_devices_that_no_plugin_brings_are_not_there(name):
    module = getattr(weft, name)
    assert not module.is_available() and module.device_count() == 0
    module.manual_seed(0)
    module.empty_cache()
    with pytest.raises(RuntimeError, match=rf"device '{name}': no backend is installed"):
        module.synchronize()

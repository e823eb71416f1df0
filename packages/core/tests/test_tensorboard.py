"""Logs for TensorBoard: what reaches the package that writes them, or a stand-in for it."""

import importlib
import importlib.util
import sys
import types

import numpy as np
import pytest

import weft

MODULES = ("", ".writer", ".summary", "._event_log", "._hparams")
NAMES = ("tensorboardX", *(f"weft.utils.tensorboard{each}" for each in MODULES))


PACKAGES = ("tensorboardX", "tensorboard")  # that write logs, as they are preferred


class Recording:
    """Has the methods that a writer is expected to have, and keeps what they are called with."""

    def __init__(self, logdir=None, **options):
        self.logdir, self.options, self.calls = logdir, options, []

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        pass

    def add_scalar(self, *args):
        self.calls.append(("scalar", args))

    def add_histogram(self, *args, **kwargs):
        self.calls.append(("histogram", args, kwargs))

    def add_images(self, *args):
        self.calls.append(("images", args))

    def add_hparams(self, *args):
        self.calls.append(("hparams", args))


@pytest.fixture
def writer(monkeypatch):
    for name in NAMES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    package = types.ModuleType("tensorboardX")
    package.SummaryWriter, package.FileWriter, package.RecordWriter = Recording, object, object
    monkeypatch.setitem(sys.modules, "tensorboardX", package)
    yield importlib.import_module("weft.utils.tensorboard").SummaryWriter("folder", flush_secs=3)
    for name in NAMES:
        sys.modules.pop(name, None)


def test_options_go_to_the_writer_by_pytorchs_names(writer):
    assert (writer.log_dir, writer.get_logdir(), writer.options["flush_secs"]) == ("folder", "folder", 3)


def test_numbers_may_be_tensors_with_a_history_or_of_bfloat16(writer):
    x = weft.tensor(1.5, requires_grad=True)
    writer.add_scalar("loss", x * 2, global_step=weft.tensor(3), double_precision=True)
    writer.add_scalar("half", weft.tensor(1.5, dtype=weft.bfloat16))
    (_, loss), (_, half) = writer.calls
    assert (loss[0], float(loss[1]), int(loss[2])) == ("loss", 3.0, 3)
    assert (half[1].dtype, float(half[1]), half[2]) == (np.float32, 1.5, None)


def test_tensors_in_arguments_become_arrays(writer):
    writer.add_histogram("weights", values=weft.arange(3, dtype=weft.float16))
    writer.add_tensor("values", weft.arange(3))
    writer.add_images("pictures", [weft.zeros(3, 2, 2), weft.ones(3, 2, 2)], dataformats="CHW")
    weights, values, pictures = writer.calls
    assert weights[2]["values"].tolist() == values[1][1].tolist() == [0, 1, 2]
    assert isinstance(values[1][1], np.ndarray)
    assert (pictures[1][1].shape, pictures[1][4]) == ((2, 3, 2, 2), "NCHW")


def test_settings_of_a_run_are_numbers(writer):
    writer.add_hparams({"lr": 0.1, "layers": weft.tensor(3)}, {"accuracy": weft.tensor(0.5)}, run_name="first")
    assert writer.calls == [("hparams", ({"lr": 0.1, "layers": 3}, {"accuracy": 0.5}, "first", None))]


def test_a_graph_is_left_out_with_a_warning(writer):
    with pytest.warns(UserWarning, match="traces no graph"):
        writer.add_graph(None, weft.ones(1))
    assert writer.calls == []


def test_without_either_package_the_error_says_what_to_install(monkeypatch):
    for name in NAMES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    for name in PACKAGES:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"pip install weft-core\[tensorboard\]"):
        importlib.import_module("weft.utils.tensorboard")


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_itself_writes_a_log(package, tmp_path, monkeypatch):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    if package == "tensorboard":
        for name in NAMES:
            monkeypatch.delitem(sys.modules, name, raising=False)
        monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with importlib.import_module("weft.utils.tensorboard").SummaryWriter(tmp_path / "log") as writer:
        writer.add_scalar("loss", weft.tensor(0.5), 1)
        writer.add_scalars("losses", {"train": weft.tensor(0.5), "test": 0.7}, 1)
        writer.add_histogram("weights", weft.randn(10, requires_grad=True), 1)
        writer.add_image("picture", weft.rand(3, 8, 8))
        writer.add_images("pictures", [weft.rand(3, 8, 8)], dataformats="CHW")
        if package == "tensorboardX":
            writer.add_embedding(weft.rand(4, 3), metadata=list("abcd"))
            writer.add_pr_curve("curve", weft.randint(0, 2, (20,)), weft.rand(20))
        else:
            with pytest.raises(NotImplementedError, match="install tensorboardX"):
                writer.add_embedding(weft.rand(4, 3))
    assert any("tfevents" in path.name for path in (tmp_path / "log").iterdir())
    for name in NAMES:
        sys.modules.pop(name, None)


@pytest.mark.parametrize("value", [["a", "b"], [1.0], None, {}])
def test_what_is_no_number_is_refused(writer, value):
    with pytest.raises(NotImplementedError, match="a number or tensor is expected"):
        writer.add_scalar("loss", value)

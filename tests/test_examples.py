"""The examples, run as a user runs them: a command, an output folder, what it leaves there."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
TINY_GPT = "--steps 6 --eval-every 3 --batch-size 4 --block-size 16 --width 16 --layers 1 --heads 2 --length 20".split()

needs_pytorch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="compares with PyTorch")
pytest.importorskip("tqdm")


def run(program, *arguments, cwd, blocked=()):
    """Run an example in a process of its own, with the modules named in ``blocked`` made unimportable."""
    start = "import runpy, sys; "
    start += "".join(f"sys.modules[{name!r}] = None; " for name in blocked)
    start += "sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    command = [sys.executable, "-c", start, str(EXAMPLES / program), *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, encoding="utf-8", timeout=300)


def check(result):
    """Return what a run printed, after it ended well and without a warning."""
    assert result.returncode == 0, result.stdout + result.stderr
    assert "Warning" not in result.stderr, result.stderr
    return result.stdout


def history(folder):
    return json.loads((folder / "history.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """The folder of a finished run of two epochs, and what it printed."""
    pytest.importorskip("sklearn")
    folder = tmp_path_factory.mktemp("digits")
    return folder / "out", check(run("digits.py", "--out", "out", "--epochs", 2, "--show-steps", 3, cwd=folder))


@pytest.fixture(scope="module")
def chargpt(tmp_path_factory):
    """The folder of a finished run of six steps, and what it printed."""
    folder = tmp_path_factory.mktemp("chargpt")
    return folder / "out", check(run("chargpt.py", "--out", "out", *TINY_GPT, cwd=folder))


def test_digits_learns_to_read(digits):
    folder, printed = digits
    losses, accuracies = history(folder)["loss"], history(folder)["accuracy"]
    assert len(losses) == 2 * 46
    assert len(accuracies) == 2
    assert accuracies[-1] > 90
    assert f"test accuracy {accuracies[-1]:.2f} %" in printed
    assert f"step   1  loss {losses[0]:.6f}" in printed


def test_digits_leaves_checkpoint_curve_and_pictures(digits):
    folder, printed = digits
    for name in ("curve.png", "predictions.png"):
        if name == "predictions.png" or "no learning curve" not in printed:
            assert (folder / name).read_bytes().startswith(b"\x89PNG")
            assert name in printed
    assert (folder / "checkpoint.pt").stat().st_size > 100_000


def test_digits_resumed_goes_on_as_if_never_stopped(digits, tmp_path):
    folder, _ = digits
    check(run("digits.py", "--out", "out", "--epochs", 1, cwd=tmp_path))
    printed = check(run("digits.py", "--out", "out", "--epochs", 2, "--resume", cwd=tmp_path))
    assert "resumed from" in printed
    assert history(tmp_path / "out") == history(folder)


def test_digits_loads_data_in_worker_processes(digits, tmp_path):
    check(run("digits.py", "--out", "out", "--epochs", 1, "--workers", 2, cwd=tmp_path))
    assert history(tmp_path / "out")["loss"] == history(digits[0])["loss"][:46]


def test_digits_without_matplotlib_says_how_to_get_it_and_goes_on(tmp_path):
    pytest.importorskip("sklearn")
    printed = check(run("digits.py", "--out", "out", "--epochs", 1, cwd=tmp_path, blocked=["matplotlib"]))
    assert "pip install matplotlib" in printed
    assert not (tmp_path / "out" / "curve.png").exists()
    assert (tmp_path / "out" / "predictions.png").exists()


def test_digits_refuses_to_resume_from_nothing(tmp_path):
    result = run("digits.py", "--out", "out", "--resume", cwd=tmp_path)
    assert result.returncode == 1
    assert "--resume: there is no out" in result.stderr


@needs_pytorch
def test_digits_has_the_losses_and_accuracies_of_pytorch(digits, tmp_path):
    folder, _ = digits
    check(run("digits.py", "--framework", "torch", "--out", "out", "--epochs", 2, cwd=tmp_path))
    ours, theirs = history(folder), history(tmp_path / "out")
    assert ours["loss"][:50] == pytest.approx(theirs["loss"][:50], rel=1e-4)
    assert ours["accuracy"] == pytest.approx(theirs["accuracy"], abs=0.5)


@needs_pytorch
def test_pytorch_resumes_the_checkpoint_of_weft(digits, tmp_path):
    folder, _ = digits
    shutil.copytree(folder, tmp_path / "out")
    check(run("digits.py", "--framework", "torch", "--out", "out", "--epochs", 3, "--resume", cwd=tmp_path))
    assert history(tmp_path / "out")["loss"][:92] == history(folder)["loss"]
    assert history(tmp_path / "out")["accuracy"][2] > 95


@needs_pytorch
def test_chargpt_has_the_losses_and_the_sample_of_pytorch(chargpt, tmp_path):
    folder, _ = chargpt
    check(run("chargpt.py", "--framework", "torch", "--out", "out", *TINY_GPT, cwd=tmp_path))
    assert history(folder)["loss"] == pytest.approx(history(tmp_path / "out")["loss"], rel=1e-4)
    assert (tmp_path / "out" / "sample.txt").read_bytes() == (folder / "sample.txt").read_bytes()


def test_chargpt_learns_and_writes(chargpt):
    folder, printed = chargpt
    record = history(folder)
    assert len(record["loss"]) == 6
    assert [step for step, _ in record["validation"]] == [3, 6]
    sample = (folder / "sample.txt").read_text(encoding="utf-8")
    assert sample.startswith("The ")
    assert len(sample) == 24
    assert sample.splitlines()[0] in printed
    assert (folder / "checkpoint.pt").exists()


def test_chargpt_resumed_goes_on_as_if_never_stopped(chargpt, tmp_path):
    folder, _ = chargpt
    half = ["--out", "out", *TINY_GPT]
    check(run("chargpt.py", *half, "--stop-after", 3, cwd=tmp_path))
    printed = check(run("chargpt.py", *half, "--resume", cwd=tmp_path))
    assert "resumed from" in printed
    assert history(tmp_path / "out") == history(folder)
    assert (tmp_path / "out" / "sample.txt").read_bytes() == (folder / "sample.txt").read_bytes()


@pytest.mark.parametrize("program", ["digits.py", "chargpt.py"])
def test_help_names_every_option_and_file(program, tmp_path):
    printed = check(run(program, "--help", cwd=tmp_path))
    for word in ("--framework", "--out", "--resume", "--device", "--seed", "checkpoint.pt", "curve.png"):
        assert word in printed


def test_wrong_options_are_refused(tmp_path):
    assert "must be at least 1" in run("digits.py", "--epochs", 0, cwd=tmp_path).stderr
    assert "must be letters of the manual" in run("chargpt.py", "--prompt", "世界", cwd=tmp_path).stderr
    assert "multiple of --heads" in run("chargpt.py", "--width", 10, "--heads", 4, cwd=tmp_path).stderr


OF_SEVERAL_PROCESSES = {
    "ddp.py": ["--epochs", "1", "--size", "256"],
    "fsdp_gpt.py": ["--steps", "6", "--width", "32", "--batch-size", "8"],
    "tensor_parallel.py": ["--steps", "6", "--width", "32", "--batch-size", "8"],
}


@pytest.mark.parametrize("program", OF_SEVERAL_PROCESSES)
def test_two_processes_have_the_losses_of_one(program, tmp_path):
    options = [*OF_SEVERAL_PROCESSES[program], "--out"]
    check(run(program, *options, "one", cwd=tmp_path))
    launch = [sys.executable, "-m", "weft", "launch", "--standalone", "--nproc-per-node", "2"]
    command = [*launch, str(EXAMPLES / program), *options, "two"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    printed = check(
        subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, encoding="utf-8", timeout=120
        )
    )
    assert "2 processes" in printed
    assert history(tmp_path / "two")["loss"] == pytest.approx(history(tmp_path / "one")["loss"], abs=1e-4)


# Vision ------------------------------------------------------------------------------------------------------


def test_gallery_draws_a_sheet_of_transforms(tmp_path):
    pytest.importorskip("sklearn")
    printed = check(run("gallery.py", "--out", "sheet.png", cwd=tmp_path))
    assert "24 transforms in sheet.png" in printed
    assert (tmp_path / "sheet.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("data", ["digits", "photos"])
def test_augmentation_compares_two_trainings(data, tmp_path):
    pytest.importorskip("sklearn")
    printed = check(run("augmentation.py", "--data", data, "--epochs", 3, cwd=tmp_path)).splitlines()
    assert [line.partition("  ")[0] for line in printed] == ["as they are", "with augmentation"]
    assert min(float(line.split()[-2]) for line in printed) > 30


def test_detection_trains_and_draws(tmp_path):
    printed = check(run("detection.py", "--steps", 3, "--out", "found.png", cwd=tmp_path))
    assert "of the shapes in 24 new pictures" in printed
    assert (tmp_path / "found.png").read_bytes().startswith(b"\x89PNG")


def test_segmentation_trains_and_draws(tmp_path):
    pytest.importorskip("sklearn")
    printed = check(run("segmentation.py", "--steps", 4, "--out", "marked.png", cwd=tmp_path))
    assert "intersection over union on 100 new pictures" in printed
    assert (tmp_path / "marked.png").read_bytes().startswith(b"\x89PNG")


def test_transfer_saves_a_checkpoint_and_begins_with_it(tmp_path):
    pytest.importorskip("sklearn")
    arguments = ("transfer.py", "--epochs", 1, "--checkpoint", "first.pt")
    assert "digits 0 to 4" in check(run(*arguments, cwd=tmp_path))
    printed = check(run(*arguments, cwd=tmp_path))
    assert "digits 0 to 4" not in printed
    assert "from first.pt" in printed

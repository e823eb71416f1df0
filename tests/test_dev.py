"""The launcher ``./dev``."""

import ast
import importlib.machinery
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def dev(tmp_path, monkeypatch):
    """The launcher as a module, whose set-up steps are recorded in ``dev.steps`` instead of run."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    loader = importlib.machinery.SourceFileLoader("dev", str(ROOT / "dev"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("dev", loader))
    loader.exec_module(module)
    (tmp_path / "packages" / "core").mkdir(parents=True)
    (tmp_path / "packages" / "core" / "pyproject.toml").write_text("[project]\n")
    (tmp_path / "dev.txt").write_text("-e packages/core\n")
    (tmp_path / "pyproject.toml").write_text(
        '[dependency-groups]\ntest = ["pytest", { include-group = "more" }]\nmore = ["tqdm"]\nlint = ["ruff", "tqdm"]\n'
    )
    module.ROOT, module.steps = tmp_path, []

    def attempt(arguments):
        module.steps.append(list(map(str, arguments)))
        if "venv" in arguments:
            python = module.Environment(".venv").python
            python.parent.mkdir(parents=True)
            python.touch()
        return ""

    monkeypatch.setattr(module, "attempt", attempt)
    return module


def launch(*arguments, cwd=ROOT):
    return subprocess.run([sys.executable, ROOT / "dev", *arguments], cwd=cwd, capture_output=True, text=True)


def test_alone_it_lists_its_commands():
    result = launch()
    assert result.returncode == 0
    assert all(f"\n  {name} " in result.stdout for name in ("demo", "test", "lint", "bench", "conformance", "compile"))


def test_an_unknown_command_is_refused_with_the_known_ones(tmp_path):
    result = launch("tset", cwd=tmp_path)
    assert result.returncode == 1
    assert "no command 'tset'; there are: demo, test" in result.stderr


def test_an_old_python_can_read_it_as_far_as_its_own_refusal():
    ast.parse((ROOT / "dev").read_text(), feature_version=(3, 6))


def test_a_group_brings_the_groups_it_includes_once(dev):
    assert dev.requirements(["test", "lint"]) == ["pytest", "tqdm", "ruff"]


def test_the_second_time_nothing_is_installed(dev):
    dev.Environment(".venv").ready("test")
    assert any("venv" in step for step in dev.steps)
    assert any({"dev.txt", "pytest", "tqdm"} <= set(step) for step in dev.steps)
    dev.steps.clear()
    dev.Environment(".venv").ready("test")
    dev.Environment(".venv").ready()
    assert dev.steps == []


def test_another_command_brings_only_its_own_tools(dev):
    dev.Environment(".venv").ready("test")
    dev.steps.clear()
    dev.Environment(".venv").ready("lint")
    (step,) = dev.steps
    assert "ruff" in step
    assert "dev.txt" not in step


def test_a_changed_project_is_installed_anew_with_all_tools_in_the_same_environment(dev):
    dev.Environment(".venv").ready("test")
    dev.Environment(".venv").ready("lint")
    dev.steps.clear()
    (dev.ROOT / "packages" / "core" / "pyproject.toml").write_text("[project]\nversion = '2'\n")
    dev.Environment(".venv").ready()
    assert not any("venv" in step for step in dev.steps)
    assert {"dev.txt", "pytest", "ruff"} <= set(dev.steps[-1])


def test_a_moved_checkout_gets_a_new_environment(dev):
    environment = dev.Environment(".venv")
    environment.ready()
    environment.stamp.write_text(json.dumps(json.loads(environment.stamp.read_text()) | {"checkout": "/elsewhere"}))
    dev.steps.clear()
    environment.ready()
    assert any("venv" in step for step in dev.steps)


def test_a_failed_installation_says_so_and_is_tried_again(dev, monkeypatch):
    succeed = dev.attempt
    monkeypatch.setattr(dev, "attempt", lambda step: "no such index" if "dev.txt" in step else succeed(step))
    with pytest.raises(dev.Failure, match=r"no such index\n.*package index within reach"):
        dev.Environment(".venv").ready("test")
    monkeypatch.setattr(dev, "attempt", succeed)
    dev.Environment(".venv").ready("test")
    assert "dev.txt" in dev.steps[-1]


@pytest.mark.parametrize(("arguments", "spread"), [((), True), (("-k", "softmax"), False), (("--pdb",), False)])
def test_all_tests_run_in_several_processes_and_chosen_ones_in_this_one(dev, monkeypatch, arguments, spread):
    begun = []
    monkeypatch.setattr(dev, "run", lambda python, *command: begun.append(command))
    dev.test(*arguments)
    assert ("-n" in begun[0]) is spread

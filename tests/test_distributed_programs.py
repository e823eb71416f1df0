"""Programs for several processes, as people write them for PyTorch, print under weft what they print under PyTorch."""

import importlib.util
from pathlib import Path

import pytest

FILE = Path(__file__).resolve().parent / "distributed_programs" / "run.py"
spec = importlib.util.spec_from_file_location("distributed_programs", FILE)
programs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(programs)


@pytest.mark.parametrize("name", programs.NAMES)
def test_a_program_prints_what_it_does_under_pytorch(name):
    different = programs.difference(programs.output_of(name, as_weft=True), programs.kept(name).read_text())
    assert different is None, different

"""Programs for several processes, as people write them for PyTorch, print under weft what they print under PyTorch.

``WEFT_DISTRIBUTED_PROGRAMS`` chooses, as tests/selection.py says; by default all.
"""

import importlib.util
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import selection

FILE = Path(__file__).resolve().parent / "distributed_programs" / "run.py"
spec = importlib.util.spec_from_file_location("distributed_programs", FILE)
programs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(programs)


def changed_modules_of(name):
    return {each for each in selection.changed_modules() if each.startswith("weft.distributed")}


CHOSEN = selection.chosen(programs.NAMES, os.environ.get("WEFT_DISTRIBUTED_PROGRAMS", "all"), changed_modules_of)


@pytest.mark.parametrize("name", CHOSEN)
def test_a_program_prints_what_it_does_under_pytorch(name):
    different = programs.difference(programs.output_of(name, as_weft=True), programs.kept(name).read_text())
    assert different is None, different

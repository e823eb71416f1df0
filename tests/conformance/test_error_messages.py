"""Wrong calls of PyTorch's database are refused in words that its own tests look for."""

import re
import sys
import warnings
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="PyTorch, the oracle, is installed in the conformance environment only")
sys.path.insert(0, str(Path(__file__).parent))

from harness import columns, entries, resolve
from harness.translate import Library

LIBRARY = Library("weft")
LEFT_OUT = {  # names whose words are others
    "amax": "PyTorch refuses out= in words of its own",
    "amin": "as amax",
    "aminmax": "PyTorch names the dtypes of out= as C++ does",
}
NAMES = [
    name
    for name in entries.names([])
    if name not in LEFT_OUT and any(each.error_inputs_func for each in entries.by_name()[name])
]


def words(name: str) -> list[str]:
    """For each wrong call of an operator whose message has not PyTorch's words: what is said, and what is wanted."""
    found = []
    for entry in entries.by_name()[name]:
        for wrong in entry.error_inputs("cpu", set_seed=False) if entry.error_inputs_func else ():
            case = columns.Case(LIBRARY, entry, "float32")
            try:
                translator, args, kwargs = columns.translated(case, wrong.sample_input)
            except columns.Unjudged:
                continue
            try:
                resolve.function(entry, translator)(*args, **kwargs)
            except Exception as error:
                if not re.search(wrong.error_regex, str(error).replace("weft.", "torch.")):
                    found.append(f"{error} | wanted: {wrong.error_regex}")
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_refusal_has_the_words_of_pytorchs(name):
    entries.seed_everything(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert not words(name)

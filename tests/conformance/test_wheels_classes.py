"""PyTorch's own test classes, from its wheel, import and work where weft stands in PyTorch's place."""

import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="PyTorch, the oracle, is installed in the conformance environment only")

# Lets `torch` be weft, and `torch.testing._internal` the folder of PyTorch's wheel.
START = """
import sys
from importlib.util import spec_from_file_location
from pathlib import Path

import weft

weft.as_torch("torch")

import torch


class Wheel:
    def find_spec(self, name, path=None, target=None):
        package, _, rest = name.partition("torch.testing._internal")
        if package or not name.startswith("torch.testing._internal"):
            return None
        file = WHEEL.joinpath(*rest.split("."))
        if file.is_dir():
            return spec_from_file_location(name, file / "__init__.py", submodule_search_locations=[str(file)])
        return spec_from_file_location(name, file.with_suffix(".py")) if file.with_suffix(".py").exists() else None


WHEEL = Path(sys.argv[1])
sys.meta_path.insert(0, Wheel())
"""

CLASSES = """
import unittest

import numpy
from torch.testing._internal.common_device_type import dtypes, instantiate_device_type_tests
from torch.testing._internal.common_utils import TestCase, parametrize


class TestNumbers(TestCase):
    @dtypes(torch.float32, torch.int64)
    @parametrize("n", [1, 3])
    def test_sum(self, device, dtype, n):
        x = torch.ones(n, dtype=dtype, device=device)
        self.assertEqual(x.sum(), n)
        self.assertEqual(x, numpy.ones(n), exact_dtype=False)
        self.assertEqual({"a": [x, 1, None, True, "s"]}, {"a": [x.clone(), 1, None, True, "s"]})
        self.assertNotEqual(x, x + 1)
        self.assertEqual(x.to_sparse(), x.clone().to_sparse())
        self.assertEqual(1.0, 1.0 + 1e-7)
        self.assertEqual(torch.tensor(True), True)

    def test_differences_are_told(self, device):
        for actual, expected, said in (
            (torch.ones(2), torch.zeros(2), "Mismatched elements: 2 / 2"),
            (torch.ones(2), torch.ones(2).double(), "dtype"),
            (torch.ones(2), torch.ones(3), "shape"),
            (1, 2, "1"),
            (True, False, "Booleans mismatch"),
            ("a", "b", "String comparison failed"),
            (torch.eye(2).to_sparse(), torch.ones(2, 2).to_sparse(), "specified values"),
        ):
            with self.assertRaisesRegex(AssertionError, said):
                self.assertEqual(actual, expected)


instantiate_device_type_tests(TestNumbers, globals(), only_for="cpu")


class TestMore(TestCase):
    def test_a_left_mode_is_told(self):
        state = torch._C._get_torch_function_state()
        with torch._C.DisableTorchFunction():
            self.assertNotEqual(torch._C._get_torch_function_state(), state)
        self.assertEqual(torch._C._get_torch_function_state(), state)


unittest.main(argv=["program"])
"""


def run_on_weft(program, tmp_path):
    file = tmp_path / "program.py"
    file.write_text(START + program, encoding="utf-8")
    wheel = Path(torch.__file__).parent / "testing" / "_internal"
    call = [sys.executable, str(file), str(wheel)]
    return subprocess.run(call, capture_output=True, text=True, timeout=300, check=False)


MODULES = """
common_cuda common_device_type common_dtype common_mkldnn common_nn common_subclass common_utils composite_compliance
custom_tensor hypothesis_utils logging_tensor subclasses two_tensor
""".split()


def test_modules_of_test_classes_import(tmp_path):
    done = run_on_weft("\n".join(f"import torch.testing._internal.{name}" for name in MODULES), tmp_path)
    assert done.returncode == 0, done.stderr


def test_test_cases_for_devices_compare_values(tmp_path):
    done = run_on_weft(CLASSES, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Ran 6 tests" in done.stderr, done.stderr

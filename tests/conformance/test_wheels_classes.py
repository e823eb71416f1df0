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
autograd_function_db common_cuda common_device_type common_dtype common_methods_invocations common_mkldnn common_modules
common_mps common_nn common_ops_unbacked common_optimizers common_quantized common_subclass common_utils
composite_compliance custom_op_db custom_tensor hypothesis_utils logging_tensor subclasses two_tensor
""".split()


def test_modules_of_test_classes_import(tmp_path):
    done = run_on_weft("\n".join(f"import torch.testing._internal.{name}" for name in MODULES), tmp_path)
    assert done.returncode == 0, done.stderr


def test_test_cases_for_devices_compare_values(tmp_path):
    done = run_on_weft(CLASSES, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Ran 6 tests" in done.stderr, done.stderr


DATABASES = """
import unittest

from torch.testing._internal.common_device_type import OpDTypes, instantiate_device_type_tests, ops
from torch.testing._internal.common_methods_invocations import op_db, python_ref_db
from torch.testing._internal.common_modules import module_db, modules
from torch.testing._internal.common_optimizers import optim_db, optims
from torch.testing._internal.common_utils import TestCase

NAMES = "add cat mean nn.functional.gelu linalg.inv to logical_and transpose".split()
some = [each for each in op_db if each.name in NAMES]
references = [each for each in python_ref_db if each.name.removeprefix("_refs.") in NAMES]


class TestDatabases(TestCase):
    @ops(some, allowed_dtypes=(torch.float32, torch.int64))
    def test_layouts(self, device, dtype, op):
        for sample in op.sample_inputs(device, dtype):
            other = sample.noncontiguous()
            expected = op(sample.input, *sample.args, **sample.kwargs)
            self.assertEqual(op(other.input, *other.args, **other.kwargs), expected)

    @ops([each for each in some if each.error_inputs_func], dtypes=OpDTypes.none)
    def test_errors(self, device, op):
        for each in op.error_inputs(device):
            sample = each.sample_input
            with self.assertRaisesRegex(each.error_type, each.error_regex):
                op(sample.input, *sample.args, **sample.kwargs)

    @ops(references, allowed_dtypes=(torch.float32,))
    def test_references(self, device, dtype, op):
        for sample in op.reference_inputs(device, dtype):
            expected = op.torch_opinfo(sample.input, *sample.args, **sample.kwargs)
            actual = op(sample.input, *sample.args, **sample.kwargs)
            torch._prims.utils.compare_tensor_meta(actual, expected)
            self.assertEqual(actual, expected)

    @modules([each for each in module_db if each.name in ("nn.Linear", "nn.BatchNorm1d", "nn.LSTM")])
    def test_modules(self, device, dtype, module_info, training):
        inputs = module_info.module_inputs_func(
            module_info, device=device, dtype=dtype, requires_grad=False, training=training
        )
        for each in inputs:
            args, kwargs = each.constructor_input.args, each.constructor_input.kwargs
            module = module_info.module_cls(*args, **kwargs).to(device, dtype).train(training)
            module(*each.forward_input.args, **each.forward_input.kwargs)

    @optims([each for each in optim_db if each.optim_cls.__name__ in ("SGD", "AdamW")], dtypes=[torch.float32])
    def test_optimizers(self, device, dtype, optim_info):
        for each in optim_info.optim_inputs_func(device=device):
            weight = torch.nn.Parameter(torch.ones(2, device=device, dtype=dtype))
            optimizer = optim_info.optim_cls([weight], **each.kwargs)
            weight.sum().backward()
            optimizer.step()


instantiate_device_type_tests(TestDatabases, globals(), only_for="cpu")
unittest.main(argv=["program"])
"""


def test_tests_over_pytorchs_databases_run(tmp_path):
    done = run_on_weft(DATABASES, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Ran 37 tests" in done.stderr, done.stderr

"""Plugins, installed for real: little distributions in a folder on the path of a fresh interpreter."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import weft
from weft._plugins.kernel_names import NAMES
from weft._plugins.name_checks import unknown_names
from weft._plugins.versions import meets, requirement_on

GOOD = """
    import numpy
    from weft.backend import ArrayNamespaceBackend
    from weft.plugins import hookimpl

    @hookimpl
    def weft_backend(device):
        return ArrayNamespaceBackend(device, numpy)
"""


class Site:
    """A folder of installed distributions, and Python with it on the path."""

    def __init__(self, folder):
        self.folder = folder

    def install(self, distribution, entry_points, requires="weft-core", version="1.2", **modules):
        """Write modules, and the metadata that pip would write: ``entry_points`` maps groups to lines."""
        for name, source in modules.items():
            (self.folder / f"{name}.py").write_text(textwrap.dedent(source))
        info = self.folder / f"{distribution.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        metadata = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\nRequires-Dist: {requires}\n"
        (info / "METADATA").write_text(metadata)
        lines = [f"[{group}]\n{line}\n" for group, line in entry_points.items()]
        (info / "entry_points.txt").write_text("\n".join(lines))

    def run(self, code, **environment):
        """What the code prints in a fresh interpreter; a line that raises prints its error."""
        env = os.environ | environment
        env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(self.folder), os.environ.get("PYTHONPATH")]))
        code = PRELUDE + textwrap.dedent(code)
        done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, env=env)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


PRELUDE = """
import sys, weft
from weft import plugins

def error(call, *args):
    try:
        call(*args)
    except Exception as error:
        cause = f" <- {type(error.__cause__).__name__}: {error.__cause__}" if error.__cause__ else ""
        return f"{type(error).__name__}: {error}{cause}"
    return "no error"

"""


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path)


@pytest.fixture
def crowd(site):
    """A good backend and three that do not work, side by side."""
    site.install("weft-good", {"weft.backends": "good = good_plugin"}, good_plugin=GOOD)
    site.install("weft-broken", {"weft.backends": "broken = broken_plugin"}, broken_plugin="1 / 0")
    site.install(
        "weft-future",
        {"weft.backends": "future = future_plugin"},
        requires="weft-core~=9.1.0",
        future_plugin="raise SystemError('a plugin for another core was tried')",
    )
    site.install(
        "weft-sparkle",
        {"weft.namespace": "sparkle = sparkle_plugin"},
        requires="weft-core (~=0.1.0)",
        sparkle_plugin="def glow(): return 'glowing'",
    )
    return site


def test_import_weft_loads_none_of_the_installed_plugins(crowd):
    env = os.environ | {"PYTHONPATH": str(crowd.folder) + os.pathsep + os.environ.get("PYTHONPATH", "")}
    code = "import weft, sys; print([m for m in sys.modules if m.endswith('_plugin') or m == 'pluggy'])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True, env=env).strip() == "[]"


def test_asking_for_one_device_imports_only_its_plugin(crowd):
    code = "plugins.backend('good'); print([m for m in sys.modules if m.endswith('_plugin')])"
    assert crowd.run(code) == "['good_plugin']"


def test_a_backend_is_made_once(crowd):
    assert crowd.run("print(plugins.backend('good') is plugins.backend('good'))") == "True"


def test_backends_lists_names_without_importing(crowd):
    printed = crowd.run("print(plugins.backends(), [m for m in sys.modules if m.endswith('_plugin')])")
    names, imported = printed.rsplit(" [", 1)
    assert {"good", "broken", "future"} <= set(eval(names))
    assert imported == "]"


def test_a_plugin_that_raises_fails_alone_with_its_own_exception_as_the_cause(crowd):
    printed = crowd.run("print(error(plugins.backend, 'broken')); print(plugins.backend('good').device_type)")
    message, good = printed.splitlines()
    assert message.startswith("PluginError: device 'broken': plugin weft-broken 1.2 failed to load: ZeroDivisionError")
    assert message.endswith("<- ZeroDivisionError: division by zero")
    assert good == "good"


def test_a_failure_is_kept_and_told_again_without_another_try(crowd):
    code = """
        first = error(plugins.backend, 'broken')
        (__import__('pathlib').Path(r'%s') / 'broken_plugin.py').write_text('')
        print(first == error(plugins.backend, 'broken'))
    """
    assert crowd.run(code % crowd.folder) == "True"


def test_a_plugin_for_another_core_is_refused_and_not_tried(crowd):
    message = crowd.run("print(error(plugins.backend, 'future')); assert 'future_plugin' not in sys.modules")
    assert "plugin weft-future 1.2 is refused: it is made for weft-core ~=9.1.0 and this is weft-core" in message
    assert "pip install --upgrade weft-core weft-future" in message


def test_a_namespace_plugin_becomes_an_attribute_of_weft(crowd):
    assert crowd.run("print(weft.sparkle.glow()); from weft import sparkle") == "glowing"


def test_a_namespace_hook_chooses_what_the_attribute_is(site):
    source = """
        from weft.plugins import hookimpl

        @hookimpl
        def weft_namespace(name):
            return name.upper()
    """
    site.install("weft-shout", {"weft.namespace": "shout = shout_plugin"}, shout_plugin=source)
    assert site.run("print(weft.shout)") == "SHOUT"


def test_a_namespace_that_fails_raises_when_it_is_asked_for(site):
    site.install("weft-dull", {"weft.namespace": "dull = dull_plugin"}, dull_plugin="import no_such_library")
    message = site.run("weft.plugins; print(error(getattr, weft, 'dull'))")
    assert message.startswith("PluginError: weft.dull: plugin weft-dull 1.2 failed to load: ModuleNotFoundError")


@pytest.mark.parametrize("disabled", ["good", "weft-good", "x,Weft_Good", " good , broken"])
def test_a_disabled_plugin_is_left_out_and_the_error_says_so(crowd, disabled):
    code = "print(error(plugins.backend, 'good')); print('good' in plugins.backends())"
    message, listed = crowd.run(code, WEFT_DISABLE_PLUGINS=disabled).splitlines()
    assert f"plugin weft-good 1.2 is disabled: left out by WEFT_DISABLE_PLUGINS={disabled}" in message
    assert listed == "False"


def test_no_backend_lists_the_installed_and_the_command_that_brings_it(crowd):
    code = "print(error(plugins.backend, 'abacus'))"
    message = crowd.run(code)
    assert message.startswith("RuntimeError: device 'abacus': no backend is installed for it (installed: ")
    assert "broken" in message
    assert "pip install" not in message  # an invented name might be anybody's


def test_a_first_party_backend_that_is_missing_names_its_package():
    from weft._plugins.registry import no_backend

    assert no_backend("cpu", []) == (
        "device 'cpu': no backend is installed for it (installed: none). Install it with: pip install weft-backend-cpu."
    )


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (GOOD.replace("weft_backend", "weft_bakend"), "unknown hook 'weft_bakend'"),
        (GOOD.replace("(device)", "(devise)"), "hook 'weft_backend'.*hookimpl definition.*devise"),
        ("def weft_backend(device): pass", "no hook 'weft_backend'.*@weft.plugins.hookimpl"),
        (
            GOOD.replace("ArrayNamespaceBackend(device, numpy)", "None"),
            r"is unavailable on this machine: weft_backend\('odd'\) returned None",
        ),
        (GOOD.replace("ArrayNamespaceBackend(device, numpy)", "numpy"), "must return a weft.backend.Backend"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("from weft import plugins\nplugins.backend('odd')", "asks for itself while it is being loaded"),
    ],
    ids=["misspelt", "argument", "unmarked", "none", "type", "exit", "recursion"],
)
def test_a_wrong_hook_is_an_error_when_the_plugin_is_loaded(site, source, reason):
    site.install("weft-odd", {"weft.backends": "odd = odd_plugin"}, odd_plugin=source)
    site.install("weft-good", {"weft.backends": "good = good_plugin"}, good_plugin=GOOD)
    code = "message = error(plugins.backend, 'odd'); plugins.backend('good'); print(message.replace(chr(10), ' '))"
    assert_matches(reason, site.run(code))


def assert_matches(pattern, text):
    with pytest.raises(ValueError, match=pattern):
        raise ValueError(text)


def test_a_backend_without_its_hardware_is_unavailable_and_says_why(site):
    source = GOOD.replace("return ArrayNamespaceBackend(device, numpy)", "raise RuntimeError('no chip. Plug it in')")
    site.install("weft-odd", {"weft.backends": "odd = odd_plugin"}, odd_plugin=source)
    code = "print(error(plugins.backend, 'odd')); print([r.state for r in plugins.status() if r.name == 'odd'])"
    message, state = site.run(code).splitlines()
    expected = "PluginError: device 'odd': plugin weft-odd 1.2 is unavailable on this machine: no chip. Plug it in."
    assert message == f"{expected} <- RuntimeError: no chip. Plug it in"
    assert state == "['unavailable']"


def test_two_plugins_for_one_device_are_a_question_for_the_user(site):
    site.install("weft-one", {"weft.backends": "same = one_plugin"}, one_plugin=GOOD)
    site.install("weft-two", {"weft.backends": "same = two_plugin"}, two_plugin=GOOD)
    code = "print(error(plugins.backend, 'same'))"
    assert "device 'same' is brought by weft-one 1.2 and by weft-two 1.2" in site.run(code)
    assert site.run(code, WEFT_DISABLE_PLUGINS="weft-two") == "no error"


KERNELS = """
    from weft.plugins import hookimpl

    @hookimpl
    def weft_kernels(device):
        return {"nn::conv2d": print}
"""


def test_kernels_are_collected_for_the_device_they_are_for(site):
    site.install("weft-quick", {"weft.kernels": "cpu = quick_plugin"}, quick_plugin=KERNELS)
    code = "print(plugins.kernels('cpu'), plugins.kernels('good'))"
    assert site.run(code) == "{'nn::conv2d': <built-in function print>} {}"


def test_a_kernel_of_a_plugin_wins_over_the_backends_own(site):
    source = """
        from weft.plugins import hookimpl

        @hookimpl
        def weft_kernels(device):
            return {"core::exp": lambda array: array + 100}
    """
    site.install("weft-quick", {"weft.kernels": "cpu = quick_plugin"}, quick_plugin=source)
    code = "print(weft.exp(weft.tensor([1.0])).tolist(), weft.log(weft.tensor([1.0])).tolist())"
    assert site.run(code) == "[101.0] [0.0]"


def test_kernels_that_fail_leave_the_device_its_own_and_warn(site):
    site.install("weft-slow", {"weft.kernels": "cpu = slow_plugin"}, slow_plugin="1 / 0")
    site.install("weft-quick", {"weft.kernels": "cpu = quick_plugin"}, quick_plugin=KERNELS)
    code = """
        import warnings
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            print(list(plugins.kernels("cpu")))
        print(caught[0].category.__name__, caught[0].message)
    """
    kernels, warning = site.run(code).splitlines()
    assert kernels == "['nn::conv2d']"
    assert warning.startswith(
        "RuntimeWarning kernels for 'cpu': plugin weft-slow 1.2 failed to load: ZeroDivisionError"
    )


def test_two_kernels_for_one_op_are_a_question_for_the_user(site):
    site.install("weft-one", {"weft.kernels": "cpu = one_plugin"}, one_plugin=KERNELS)
    site.install("weft-two", {"weft.kernels": "cpu = two_plugin"}, two_plugin=KERNELS)
    assert "the kernel of 'nn::conv2d' on 'cpu' is brought by weft-one" in site.run(
        "print(error(plugins.kernels, 'cpu'))"
    )


def test_a_kernel_without_the_namespace_of_its_op_is_an_error(site):
    source = KERNELS.replace("nn::", "")
    site.install("weft-quick", {"weft.kernels": "cpu = quick_plugin"}, quick_plugin=source)
    code = "print([each.reason for each in plugins.status(load=True) if each.distribution == 'weft-quick'])"
    assert "must map the full names of ops" in site.run(code)


def test_ops_are_imported_when_their_namespace_is_asked_for(site):
    source = """
        from weft.plugins import hookimpl

        @hookimpl
        def weft_ops():
            return ["glow_ops"]
    """
    site.install("weft-glow", {"weft.ops": "glow = glow_plugin"}, glow_plugin=source, glow_ops="print('declared')")
    code = "print([m.__name__ for m in plugins.load_ops('glow')], plugins.load_ops('other'))"
    assert site.run(code) == "declared\n['glow_ops'] []"


def test_status_tells_group_name_distribution_version_state_and_reason(crowd):
    code = """
        before = [r for r in plugins.status() if r.distribution in ("weft-good", "weft-broken")]
        after = [r for r in plugins.status(load=True) if r.distribution != "weft-backend-cpu"]
        print({r.state for r in before})
        for r in after:
            if not r.distribution.startswith(("weft-backend", "weft-distributed")):
                print(r.group, r.name, r.distribution, r.version, r.state, r.reason, sep="|")
    """
    assert crowd.run(code).splitlines() == [
        "{'not loaded'}",
        "weft.backends|broken|weft-broken|1.2|failed|ZeroDivisionError: division by zero",
        f"weft.backends|future|weft-future|1.2|refused|it is made for weft-core ~=9.1.0 and this is weft-core {CORE}",
        "weft.backends|good|weft-good|1.2|loaded|",
        "weft.namespace|sparkle|weft-sparkle|1.2|loaded|",
    ]


CORE = __import__("weft").__version__


def test_threads_that_ask_at_once_get_one_backend(site):
    source = GOOD + "    import time\n    time.sleep(0.05)\n"
    counted = source.replace("def weft_backend(device):", "def weft_backend(device):\n        print('made')")
    site.install("weft-good", {"weft.backends": "good = good_plugin"}, good_plugin=counted)
    code = """
        from concurrent.futures import ThreadPoolExecutor
        with ThreadPoolExecutor(8) as pool:
            made = set(pool.map(plugins.backend, ["good"] * 8))
        print(len(made))
    """
    assert site.run(code) == "made\n1"


@pytest.mark.parametrize(
    ("version", "requirement", "expected"),
    [
        ("0.1.0", "~=0.1.0", True),
        ("0.1.7", "~=0.1.0", True),
        ("0.2.0", "~=0.1.0", False),
        ("0.2.0", "~=0.1", True),
        ("1.0", "~=0.1", False),
        ("0.1", "==0.1.0", True),
        ("0.1.5", "==0.1.*", True),
        ("0.1.5", "!=0.1.*", False),
        ("0.10.0", ">=0.9", True),
        ("0.10.0", ">=0.1,<0.10", False),
        ("0.1.0.dev3+local", "~=0.1.0", True),
        ("0.1.0", "", True),
    ],
)
def test_versions_are_compared_as_pep_440_says(version, requirement, expected):
    assert meets(version, requirement) is expected


def test_what_a_distribution_requires_of_core_is_read_from_its_metadata():
    lines = ["numpy>=2", "weft-core[all]>=0.1,<0.3 ; python_version > '3'", "weft_core>=5 ; extra == 'x'"]
    assert requirement_on("weft-core", lines) == ">=0.1,<0.3"
    assert requirement_on("weft-core", ["weft-core @ file:///somewhere", "weft-core-extras>=7"]) == ""


# Kernels: for ops that exist, with results of the declared type, dtype and shape, or named in the error

FAKE_BACKEND = """
    import numpy
    from weft.backend import ArrayNamespaceBackend
    from weft.plugins import hookimpl

    class Fake(ArrayNamespaceBackend):
        def __init__(self):
            super().__init__("fake", numpy)
            self.kernels.update({table})

    @hookimpl
    def weft_backend(device):
        return Fake()
"""
WRONG_KERNELS = """
    import numpy
    from weft.plugins import hookimpl

    calls = []

    def broken(*args):
        raise ZeroDivisionError("nobody knows")

    def first_right(*args):
        calls.append(args)
        return numpy.add(*args)

    @hookimpl
    def weft_kernels(device):
        return {table}
"""
ERROR = """
import traceback
def report(call):
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error} " + " ".join(getattr(error, "__notes__", ()))
    return "no error"
"""


def installed(site, table, code, checks="0", template=WRONG_KERNELS, group="weft.kernels", name="cpu"):
    site.install("weft-wrong", {group: f"{name} = weft_wrong"}, weft_wrong=template.replace("{table}", table))
    return site.run(ERROR + code, WEFT_CHECK_KERNELS=checks)


def test_a_kernel_for_an_op_that_does_not_exist_is_an_error_when_it_is_registered(site):
    code = """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print(weft.ones(2).exp().shape)
print(caught[0].message)
"""
    said = installed(site, "{'core::exb': numpy.exp}", code)
    assert "Size([2])" in said
    assert "plugin weft-wrong 1.2" in said
    assert "has a kernel for 'core::exb', and there is no such op; did you mean 'core::exp" in said


def test_a_backend_with_a_kernel_for_an_op_that_does_not_exist_is_refused(site):
    code = "print(report(lambda: weft.ones(2, device='fake')))"
    said = installed(site, "{'nn::conv2e': numpy.exp}", code, "0", FAKE_BACKEND, "weft.backends", "fake")
    assert "plugin weft-wrong 1.2" in said
    assert "'nn::conv2e', and there is no such op; did you mean 'nn::conv" in said


def test_names_of_a_namespace_that_nobody_declared_are_left_alone():
    assert unknown_names(["somebody::else", "core::add", "optim::adam_step", "foreach::add_", "nn::conv2d"]) == {}
    assert unknown_names(["core::ad"])["core::ad"] != []


def test_every_op_that_is_declared_has_a_kernels_name():
    from weft._engine.tensor import state

    assert all(op.name.partition("::")[2] in NAMES.get(op.name.partition("::")[0], op.name).split()
               for op in state.ops if op.name.startswith(("core::", "nn::")))  # fmt: skip


WRONG = {
    "type": ("{'core::exp': lambda a: None}", "exp", "returned a NoneType"),
    "list": ("{'core::exp': lambda a: [a.tolist()]}", "exp", "returned a list"),
    "dtype": ("{'core::exp': lambda a: numpy.exp(a).astype('float64')}", "exp", "returned an array of dtype float64"),
    "strange dtype": ("{'core::exp': lambda a: a.astype('datetime64[s]')}", "exp", "dtype datetime64"),
}


@pytest.mark.parametrize("checks", ["0", "1"])
@pytest.mark.parametrize("wrong", WRONG)
def test_a_kernel_that_returns_the_wrong_type_or_dtype_is_named_at_once(site, wrong, checks):
    table, call, found = WRONG[wrong]
    said = installed(site, table, f"print(report(weft.ones(2, 3).{call}))", checks)
    assert said.startswith("PluginError: core::exp on cpu, float32: the kernel of plugin weft-wrong 1.2 ")
    assert found in said


SHAPES = {
    "pointwise": ("{'core::exp': lambda a: numpy.exp(a)[:1]}", "exp()", "shape (1, 3), dtype float32"),
    "reduction": ("{'core::sum': lambda *a: a[0].sum()}", "sum(0)", "shape (), dtype float32"),
    "product": ("{'core::matmul': lambda a, b: (a @ b).T}", "matmul(weft.ones(3, 4))", "shape (4, 2), dtype float32"),
}


@pytest.mark.parametrize("wrong", SHAPES)
def test_a_kernel_that_returns_the_wrong_shape_is_named_when_all_are_checked(site, wrong):
    table, call, found = SHAPES[wrong]
    said = installed(site, table, f"print(report(lambda: weft.ones(2, 3).{call}))", "1")
    assert said.startswith("PluginError: core::")
    assert f"the kernel of plugin weft-wrong 1.2 returned {found}; the op declares shape" in said


def test_a_kernels_own_exception_keeps_its_type_and_carries_the_plugins_name(site):
    said = installed(site, "{'core::exp': broken}", "print(report(weft.ones(2).exp))")
    assert said.startswith("ZeroDivisionError: ")
    assert "nobody knows" in said
    assert "core::exp on cpu: raised in a kernel of plugin weft-wrong 1.2" in said


def test_a_kernel_whose_first_result_was_right_is_called_without_a_check(site):
    code = """
import weft_wrong
from weft.ops._registry import registry
x = weft.ones(2)
x + x
kind = x._key
print(registry["core::add"].op.kernels[kind.index] is weft_wrong.first_right, len(weft_wrong.calls))
"""
    assert installed(site, "{'core::add': first_right}", code) == "True 1"
    assert site.run(ERROR + code, WEFT_CHECK_KERNELS="1") == "False 1"


def test_shapes_that_depend_on_values_are_no_mistake():
    first, second = weft.tensor([0.0, 1.0]), weft.tensor([1.0, 1.0])
    assert first.nonzero().shape == (1, 1)
    assert second.nonzero().shape == (2, 1)
    np.testing.assert_array_equal(weft.unique(weft.tensor([1, 1, 2])).numpy(), [1, 2])
    np.testing.assert_array_equal(weft.unique(weft.tensor([1, 3, 2])).numpy(), [1, 2, 3])


def test_the_backend_suite_compares_every_result_and_names_the_kernel(site):
    code = """
from weft.testing import checks
found = {check.name: check for check in checks("fake")}
print(report(found["op_agrees[core::exp]"]))
print(report(found["kernels_are_for_ops_that_exist"]))
"""
    table = "{'core::exp': lambda a: numpy.exp(a).reshape(-1)}"
    said = installed(site, table, code, "0", FAKE_BACKEND, "weft.backends", "fake").splitlines()
    assert said[0].startswith(
        "PluginError: core::exp on fake, float32: the kernel of plugin weft-wrong 1.2 returned shape"
    )
    assert said[1] == "no error"

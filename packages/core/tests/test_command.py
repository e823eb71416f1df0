"""The ``weft`` command: doctor, plugins, and running PyTorch programs on weft."""

import os
import pathlib
import subprocess
import sys
import textwrap
import zipfile

import pytest

from weft._as_torch.names import explain, weft_name
from weft._command import split
from weft._command.plugins import table
from weft.plugins import Record
from weft.torch_version import TorchVersion


def weft(*args, cwd, **environment):
    """Run the command in a fresh process."""
    environment = os.environ | {"NO_COLOR": "1"} | environment
    command = [sys.executable, "-W", "error", "-m", "weft", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment)


def python(*args, cwd):
    return subprocess.run([sys.executable, *map(str, args)], capture_output=True, text=True, cwd=cwd)


def write(path, source):
    path.write_text(textwrap.dedent(source))
    return path


def test_doctor_tells_versions_engine_threads_backends_and_what_brings_the_missing(tmp_path):
    done = weft("doctor", cwd=tmp_path)
    for word in ("Python ", "weft-core", "NumPy", "BLAS", "engine", "processors", "scipy"):
        assert word in done.stdout
    assert done.stderr == ""


def test_doctor_says_that_no_backend_works_by_its_exit_status(tmp_path):
    assert weft("doctor", cwd=tmp_path, WEFT_DISABLE_PLUGINS="cpu,cuda").returncode == 1


def test_plugins_lists_state_and_reason_and_fails_if_one_failed(tmp_path):
    info = tmp_path / "weft_broken-1.2.dist-info"
    info.mkdir()
    write(info / "METADATA", "Metadata-Version: 2.1\nName: weft-broken\nVersion: 1.2\n")
    write(info / "entry_points.txt", "[weft.backends]\nbroken = broken_plugin\n")
    write(tmp_path / "broken_plugin.py", "1 / 0")
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    done = weft("plugins", cwd=tmp_path, PYTHONPATH=path)
    assert done.stdout.splitlines()[0].split() == ["group", "name", "distribution", "version", "state"]
    assert "ZeroDivisionError: division by zero" in done.stdout
    assert done.returncode == 1
    done = weft("plugins", "--no-load", cwd=tmp_path, PYTHONPATH=path, WEFT_DISABLE_PLUGINS="weft-broken")
    assert "left out by WEFT_DISABLE_PLUGINS=weft-broken" in done.stdout
    assert done.returncode == 0


def test_plugins_table_puts_each_reason_under_its_plugin():
    records = [
        Record("weft.backends", "cpu", "weft-backend-cpu", "0.1.0", "loaded", ""),
        Record("weft.backends", "tpu", "weft-tpu", "1", "failed", "OSError: no device"),
    ]
    assert table(records).splitlines() == [
        "group          name  distribution      version  state",
        "weft.backends  cpu   weft-backend-cpu  0.1.0    loaded",
        "weft.backends  tpu   weft-tpu          1        failed",
        "    OSError: no device",
    ]


def test_a_missing_command_is_explained(tmp_path):
    assert "doctor" in weft(cwd=tmp_path).stderr
    assert weft("nonsense", cwd=tmp_path).returncode == 2


@pytest.mark.parametrize(
    ("argv", "own", "program"),
    [
        (["run", "a.py", "--help"], ["run", "a.py"], ["--help"]),
        (["run", "-m", "pkg", "-m", "x"], ["run", "-m", "pkg"], ["-m", "x"]),
        (["run", "--help"], ["run", "--help"], []),
        (["run", "-c", "-1", "x"], ["run", "-c", "-1"], ["x"]),
        (["run", "-", "x"], ["run", "-"], ["x"]),
        (["plugins", "--no-load"], ["plugins", "--no-load"], []),
    ],
)
def test_what_follows_the_program_belongs_to_it(argv, own, program):
    assert split(argv) == (own, program)


SAME = """
    import os, sys
    import neighbour
    print(__name__, __package__, __spec__ is None, __file__ == os.path.abspath(__file__), os.path.basename(__file__))
    print(sys.argv, os.path.basename(sys.path[0]), sys.modules["__main__"].__dict__ is globals(), neighbour.here)
    print(__builtins__.__name__, __doc__, sorted(name for name in globals() if not name.startswith("__")))
"""


def test_a_script_sees_what_python_shows_it(tmp_path):
    (tmp_path / "project").mkdir()
    write(tmp_path / "project" / "script.py", SAME)
    write(tmp_path / "project" / "neighbour.py", "here = True")
    args = (os.path.join("project", "script.py"), "--help", "-x", "--", "y")
    assert weft("run", *args, cwd=tmp_path).stdout == python(*args, cwd=tmp_path).stdout != ""


def test_a_module_sees_what_python_shows_it(tmp_path):
    (tmp_path / "project").mkdir()
    source = SAME.replace("import neighbour", "from . import neighbour").replace("__spec__ is None", "__spec__.name")
    write(tmp_path / "project" / "__main__.py", source)
    write(tmp_path / "project" / "neighbour.py", "here = True")
    args = ("-m", "project", "--help")
    assert weft("run", *args, cwd=tmp_path).stdout == python(*args, cwd=tmp_path).stdout != ""


@pytest.mark.parametrize(
    "end", ["sys.exit(7)", "sys.exit('bye')", "sys.exit()", "1 / 0", "def f(:", "raise SystemExit"]
)
def test_a_script_ends_as_under_python(tmp_path, end):
    script = write(tmp_path / "script.py", f"import sys\ndef end():\n    {end}\nend()\n")
    ours, theirs = weft("run", script, cwd=tmp_path), python(script, cwd=tmp_path)
    assert (ours.returncode, ours.stderr) == (theirs.returncode, theirs.stderr)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_interrupted_script_ends_as_under_python(tmp_path):
    script = write(tmp_path / "script.py", "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    ours, theirs = weft("run", script, cwd=tmp_path), python(script, cwd=tmp_path)
    assert (ours.returncode, ours.stderr) == (theirs.returncode, theirs.stderr)


def test_a_missing_script_is_an_error_of_the_command(tmp_path):
    done = weft("run", "nowhere.py", cwd=tmp_path)
    assert done.returncode == 2
    assert "cannot run 'nowhere.py'" in done.stderr


def test_torch_is_weft_itself_by_another_name(tmp_path):
    source = """
        import torch, torch.utils, weft, weft.utils
        from torch import Tensor
        import torch.autograd as autograd
        import torch.testing
        print(torch is weft is torch.torch, torch.utils is weft.utils, Tensor is weft.Tensor, autograd is weft.autograd)
        print(weft.__spec__.name, weft.utils.__spec__.name, weft.autograd.__spec__.name)
        print(torch.__name__, torch.utils.__name__, torch.nn.Linear.__module__, torch.nn.functional.relu.__module__)
    """
    done = weft("run", write(tmp_path / "script.py", source), cwd=tmp_path)
    assert done.stdout.splitlines() == [
        "True True True True",
        "weft weft.utils weft.autograd",
        "torch torch.utils torch.nn.modules.linear torch.nn.functional",
    ], done.stderr


def test_a_module_that_weft_makes_without_a_file_is_found(tmp_path):
    source = """
        import sys, types, weft.utils
        weft.utils.made = sys.modules["weft.utils.made"] = types.ModuleType("weft.utils.made")
        import torch.utils.made
        print(torch.utils.made is weft.utils.made, sys.modules["torch.utils.made"] is weft.utils.made)
    """
    done = weft("run", write(tmp_path / "script.py", source), cwd=tmp_path)
    assert done.stdout == "True True\n", done.stderr


def test_a_module_named_like_a_function_leaves_the_function_in_its_place(tmp_path):
    source = """
        import importlib
        import torch.autograd.gradcheck, torch.multiprocessing.spawn, weft.autograd.gradcheck
        importlib.import_module("torch.autograd.gradcheck")
        print(type(torch.autograd.gradcheck).__name__, type(torch.multiprocessing.spawn).__name__)
    """
    done = weft("run", write(tmp_path / "script.py", source), cwd=tmp_path)
    assert done.stdout == "function function\n", done.stderr


def test_modules_that_importing_torch_brings_along_are_in_sys_modules(tmp_path):
    """As libraries look there: transformers initialized loaded weights again where it found no ``torch.nn.init``."""
    source = """
        import sys
        import torch
        from weft._as_torch.paths import BROUGHT_ALONG
        missing = [name for name in BROUGHT_ALONG if "torch." + name not in sys.modules]
        assert not missing, missing
        for name in BROUGHT_ALONG:
            module, own = sys.modules["torch." + name], sys.modules.get("weft." + name)
            assert own in (None, module), name
            assert module.__name__ == "torch." + name, (name, module.__name__)
        assert not [name for name in sys.modules if name.startswith(("torch.vision", "torch.backend_"))]
    """
    pytest.importorskip("weft.nn")
    done = weft("run", write(tmp_path / "script.py", source), cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_module_that_is_looked_into_before_its_package_loads_that_first(tmp_path):
    source = """
        import torch
        import torch.nn.functional as F
        import torch.distributions.normal as normal
        import torch.optim.lr_scheduler as lr_scheduler
        import torch.utils.data.sampler as sampler
        print(F.relu.__name__, normal.Normal.__name__, lr_scheduler.StepLR.__name__, sampler.Sampler.__name__)
        print(torch.nn.Module.__name__, torch.distributions.Normal is normal.Normal, torch.nn.functional is F)
    """
    pytest.importorskip("weft.nn")
    done = weft("run", write(tmp_path / "script.py", source), cwd=tmp_path)
    assert done.stdout == "relu Normal StepLR Sampler\nModule True True\n", done.stderr


@pytest.mark.parametrize(
    "first", ["nn.functional.relu", "fx.graph.Graph", "nn.modules.conv.Conv2d", "amp.autocast_mode.autocast"]
)
def test_what_is_brought_along_may_be_looked_into_in_any_order(tmp_path, first):
    """A part of a package before the package, as attributes and as imports."""
    home, _, name = first.rpartition(".")
    source = f"""
        import operator, sys
        import torch
        found = operator.attrgetter({first!r})(torch)
        assert found is getattr(sys.modules["torch.{home}"], {name!r})
        from torch.{home} import {name} as again
        assert again is found and torch.nn.Linear(2, 2)(torch.ones(1, 2)).shape == (1, 2)
    """
    pytest.importorskip("weft.nn")
    done = weft("run", write(tmp_path / "script.py", source), cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_threads_that_look_into_modules_at_once_find_them_whole(tmp_path):
    source = """
        import threading
        import torch
        wrong, start = [], threading.Barrier(8)
        def look():
            start.wait()
            try:
                (torch.nn.Linear, torch.optim.Adam, torch.distributions.Normal, torch.fx.Graph, torch.jit.script,
                 torch.utils.data.DataLoader, torch.fft.fft, torch.nn.functional.relu, torch.amp.GradScaler)
            except BaseException as error:
                wrong.append(repr(error))
        threads = [threading.Thread(target=look) for _ in range(8)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert not wrong, wrong
    """
    pytest.importorskip("weft.nn")
    done = weft("run", write(tmp_path / "script.py", source), cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_module_that_cannot_be_loaded_says_so_each_time(tmp_path):
    source = """
        import sys
        sys.modules["weft.fx.proxy"] = None  # whoever imports it fails
        import torch
        for _ in range(2):
            try:
                torch.fx.Graph
            except ImportError as error:
                print(error)
    """
    pytest.importorskip("weft.nn")
    done = weft("run", write(tmp_path / "script.py", source), cwd=tmp_path)
    assert done.stdout.count("weft.fx.proxy") == 2, done.stderr


def test_classes_are_pickled_by_the_names_of_pytorch(tmp_path):
    source = """
        import pickle, re
        import torch
        from torch import nn, optim, utils
        from torch.utils import data
        layers = [nn.Linear(2, 2), nn.BatchNorm2d(2), nn.MultiheadAttention(4, 2), nn.LSTM(2, 3), nn.LazyConv2d(2, 1)]
        for kind in (*map(type, layers), optim.AdamW, optim.lr_scheduler.StepLR, data.DataLoader, data.TensorDataset,
                     torch.distributions.Normal, torch.Tensor, torch.Size, nn.functional.relu, torch.add, torch.save,
                     nn.init.zeros_, torch.linalg.norm, torch.get_deterministic_debug_mode, torch.func.vmap):
            pickled = pickle.dumps(kind)
            assert b"weft" not in pickled and pickle.loads(pickled) is kind, (kind, pickled)
    """
    pytest.importorskip("weft.nn")
    done = weft("run", write(tmp_path / "script.py", source), cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_module_that_weft_lacks_is_not_found_and_named_with_what_weft_offers(tmp_path):
    source = """
        import importlib.util
        for name in ("torch.nonsense", "torch.utils.nonsense"):
            assert importlib.util.find_spec(name) is None, name
            try:
                importlib.import_module(name)
            except ModuleNotFoundError as error:
                assert error.name == name
        import torch.utils.nonsense
    """
    error = weft("run", write(tmp_path / "script.py", source), cwd=tmp_path).stderr
    assert "ModuleNotFoundError: No module named 'torch.utils.nonsense'" in error
    assert "weft has no weft.utils.nonsense. weft.utils offers the modules: " in error


def test_a_missing_portion_is_named_with_the_command_that_brings_it(monkeypatch):
    monkeypatch.setattr("weft._as_torch.names.exists", lambda name: False)
    assert explain("torchvision.transforms") == (
        "torchvision.transforms is weft.vision.transforms, which has to be installed: pip install weft-vision"
    )


def test_only_the_names_of_pytorch_are_answered():
    assert weft_name("torch") == "weft"
    assert weft_name("torch.optim.lr_scheduler") == "weft.optim.lr_scheduler"
    assert weft_name("torchvision.transforms") == "weft.vision.transforms"
    assert weft_name("torchtext") == "weft.text"
    assert weft_name("torchaudio") is None
    assert weft_name("torchinfo") is None


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_that_the_program_starts_have_the_names_too(tmp_path, method):
    source = """
        import multiprocessing, sys
        import torch.utils

        def work(queue):
            import torch
            queue.put((torch.__name__, torch.utils.__name__))

        if __name__ == "__main__":
            context = multiprocessing.get_context(sys.argv[1])
            queue = context.Queue()
            process = context.Process(target=work, args=(queue,))
            process.start()
            print(queue.get(timeout=60))
            process.join()
            print(process.exitcode)
    """
    import multiprocessing

    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this platform has no {method}")
    done = weft("run", write(tmp_path / "script.py", source), method, cwd=tmp_path)
    assert done.stdout == "('torch', 'torch.utils')\n0\n", done.stderr


NAMED = "import torch; print(torch.__name__, torch is __import__('weft'))"


def test_programs_that_the_program_starts_have_the_names_too(tmp_path):
    source = f"""
        import subprocess, sys
        print(subprocess.check_output([sys.executable, "-c", {NAMED!r}], text=True).strip())
    """
    done = weft("run", write(tmp_path / "script.py", source), cwd=tmp_path)
    assert done.stdout == "torch True\n", done.stderr


def test_the_variable_gives_the_names_and_nothing_is_imported_before_they_are_asked_for(tmp_path):
    code = "import sys; print([n for n in ('weft', 'numpy', 'importlib.metadata') if n in sys.modules])"
    for variable, first, last in (("1", "torch True", "[]"), ("0", "weft", "[]"), ("", "weft", "[]")):
        environment = os.environ | {"WEFT_AS_TORCH": variable}
        ask = NAMED if variable == "1" else "import weft; print(weft.__name__)"
        for program, expected in ((ask, first), (code, last)):
            done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
            assert done.stdout.strip() == expected, done.stderr


def test_as_torch_gives_the_names_in_a_program_and_refuses_beside_pytorch(tmp_path):
    done = python("-c", "import weft; weft.as_torch(); weft.as_torch(); " + NAMED, cwd=tmp_path)
    assert done.stdout == "torch True\n", done.stderr
    (tmp_path / "torch.py").write_text("")
    done = python("-c", "import torch, weft; weft.as_torch()", cwd=tmp_path)
    assert "RuntimeError: as_torch(): torch is imported already, from " in done.stderr


@pytest.mark.parametrize("chosen", ["the variable", "the call"])
def test_some_of_the_names_may_be_left_to_others(tmp_path, chosen):
    """torchvision's own package runs on weft so."""
    (tmp_path / "torchvision.py").write_text("import torch\n")
    look = "import torch, torchvision, weft; print(torch is weft, torchvision.__file__)"
    prepare = "import weft; weft.as_torch('torch'); " if chosen == "the call" else ""
    inner = (
        f"import subprocess, sys; {look}; print(subprocess.check_output([sys.executable, '-c', {look!r}], text=True))"
    )
    environment = os.environ | ({} if prepare else {"WEFT_AS_TORCH": "torch"})
    start = [sys.executable, "-c", prepare + inner]
    done = subprocess.run(start, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert done.stdout.split() == ["True", str(tmp_path / "torchvision.py")] * 2, done.stderr
    done = python("-c", "import weft; weft.as_torch('torchaudio')", cwd=tmp_path)
    assert "ValueError: as_torch(): the names are torch, torchvision, torchtext; got torchaudio" in done.stderr


@pytest.mark.parametrize("form", [["-c", "SOURCE", "a", "-x"], ["-", "a", "-x"]])
def test_code_and_standard_input_see_what_python_shows_them(tmp_path, form):
    source = "import sys; print(sys.argv, sys.path[0], __name__, __package__, __spec__, __doc__); 1 / 0"
    args = [source if word == "SOURCE" else word for word in form]
    environment = os.environ | {"NO_COLOR": "1"}
    ours, theirs = (
        subprocess.run([*start, *args], input=source, capture_output=True, text=True, cwd=tmp_path, env=environment)
        for start in ([sys.executable, "-m", "weft", "run"], [sys.executable])
    )
    assert (ours.returncode, ours.stdout, ours.stderr) == (theirs.returncode, theirs.stdout, theirs.stderr)


@pytest.mark.skipif(sys.platform == "win32", reason="a script with its interpreter in its first line")
def test_a_command_on_the_path_runs_on_weft(tmp_path):
    command = tmp_path / "trainer"
    command.write_text(f"#!{sys.executable}\nimport sys\n{NAMED}\nprint(sys.argv[1:])\nsys.exit(3)\n")
    command.chmod(0o755)
    done = weft("run", "trainer", "--x", "y", cwd=tmp_path, PATH=f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert (done.returncode, done.stdout) == (3, "torch True\n['--x', 'y']\n"), done.stderr


def test_provided_distributions_are_weft_by_plain_python(tmp_path):
    pytest.importorskip("weft.nn")
    done = weft("provide-torch", "--wheels", tmp_path / "wheels", cwd=tmp_path)
    wheels = [pathlib.Path(line) for line in done.stdout.splitlines()]
    assert wheels[0].name == "torch-2.13.0+weft-py3-none-any.whl", done.stderr
    for each in wheels:
        with zipfile.ZipFile(each) as archive:
            archive.extractall(tmp_path / "site")
            recorded = {line.split(",")[0] for line in archive.read(archive.namelist()[-1]).decode().splitlines()}
            assert recorded == set(archive.namelist())
    assert {"torch", "functorch"} <= {each.name for each in (tmp_path / "site").iterdir()}
    source = """
        import importlib.metadata, subprocess, sys
        assert importlib.metadata.version("torch") == "2.13.0+weft"
        import torch.nn.functional as F
        import torch, weft
        assert torch is weft and torch.nn.functional is F and torch.__name__ == "torch"
        import torch.utils.data
        subprocess.run([sys.executable, "-c", "import torch; print(torch.__version__)"], check=True)
    """
    path = os.pathsep.join(filter(None, [str(tmp_path / "site"), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, write(tmp_path / "script.py", source)]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": path})
    assert done.stdout == "2.13.0+weft\n", done.stderr


def test_nothing_is_provided_beside_pytorch_itself(tmp_path):
    info = tmp_path / "torch-2.13.0.dist-info"
    info.mkdir()
    write(info / "METADATA", "Metadata-Version: 2.1\nName: torch\nVersion: 2.13.0\n")
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    for variable in ("0", "1"):  # what weft shows under the name is not what is installed
        done = weft("provide-torch", cwd=tmp_path, PYTHONPATH=path, WEFT_AS_TORCH=variable)
        assert done.returncode == 1
        assert "torch 2.13.0 is installed in" in done.stderr
    done = weft("provide-torch", "--remove", cwd=tmp_path, PYTHONPATH=path)
    assert (done.returncode, done.stdout.partition(":")[0]) == (0, "nothing to remove")


def test_doctor_names_what_a_library_would_miss(tmp_path):
    source = """
        import torch
        import torch.nn.functional as F
        from torch import nonsense
        from torch.nn import Linear as L
        def later(x):
            return F.relu(x) + F.nonsense(x) + torch.fft.nonsense(x) + L.nonsense + x.anything
        try:
            import torch.maybe
        except ImportError:
            pass
    """
    write(tmp_path / "library_of_others.py", source)
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    done = weft("doctor", "--for", "library_of_others", cwd=tmp_path, PYTHONPATH=path)
    found = {line.split()[0]: " ".join(line.split()[1:3]) for line in done.stdout.splitlines()[1:]}
    assert found == {
        "torch.nonsense": "at import",
        "torch.nn.functional.nonsense": "when called",
        "torch.nn.Linear.nonsense": "when called",
        "torch.fft.nonsense": "when called",
        "torch.maybe": "when called",
    }, done.stderr
    assert weft("doctor", "--for", "not_installed", cwd=tmp_path).returncode == 2


def test_a_program_reads_the_names_and_the_version_of_pytorch(tmp_path):
    source = """
        import importlib.metadata
        import torch
        from torch import nn
        x = torch.zeros(2, 3, dtype=torch.float64)
        print(x.dtype, x.shape, x.type(), type(x), x.layout, torch.channels_last, type(nn.Parameter(x)))
        print(x.max(), x.max(1))
        print(torch.__version__ >= "2.2", torch.__version__ >= (1, 8), torch.__version__.split(".")[:2])
        print(importlib.metadata.version("torch") == torch.__version__ == torch.version.__version__)
    """
    done = weft("run", write(tmp_path / "script.py", source), cwd=tmp_path)
    assert done.stdout.splitlines() == [
        "torch.float64 torch.Size([2, 3]) torch.DoubleTensor <class 'torch.Tensor'> torch.strided torch.channels_last "
        "<class 'torch.nn.parameter.Parameter'>",
        "tensor(0., dtype=torch.float64) torch.return_types.max(",
        "values=tensor([0., 0.], dtype=torch.float64),",
        "indices=tensor([0, 0]))",
        "True True ['2', '13']",
        "True",
    ], done.stderr


def test_versions_compare_by_their_numbers():
    version = TorchVersion("1.13.0")
    assert version > "1.9" and version > (1, 9) and not version > "1.13"
    assert version == "1.13" and version >= "1.13.0rc1" and version < "1.13.0+cpu" and version < "2"
    assert version != "no version" and version == str(version) and hash(version) == hash("1.13.0")

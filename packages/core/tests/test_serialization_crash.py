"""A save that is killed, wherever it is, leaves the old file or the new one; a load takes the memory once."""

import io
import os
import subprocess
import sys
import tracemalloc

import pytest

import weft
from weft.serialization import safetensors

# Forks a process for each call that a save makes, or for each of so many, of Python's or of C's, from where it first
# touches the disk on; the process is killed there. Says how many there were, and what the file held then: what was
# saved before (0), or after (1).
KILLED_AT_EACH_CALL = """
import os, signal, sys
import weft
from weft.serialization import safetensors

path, way, step = sys.argv[1:]

def save(value):
    if way == "safetensors":
        safetensors.save_file({"a": value, "b": value.clone()}, path)
    else:
        weft.save({"a": value, "b": value.clone()}, path, _use_new_zipfile_serialization=way == "zip")

def content():
    loaded = safetensors.load_file(path) if way == "safetensors" else weft.load(path)
    values = {number for tensor in loaded.values() for number in tensor.tolist()}
    assert len(loaded) == 2 and len(values) == 1, values
    return int(values.pop())

def killed_at(moment):
    calls = 0
    def count(frame, event, argument):
        nonlocal calls
        calls += bool(calls or frame.f_code.co_name == "replacing")
        if calls == moment:
            os.kill(os.getpid(), signal.SIGKILL)
    return count

old, new = weft.zeros(500), weft.ones(500)
save(new)
moment, found = 0, []
while True:
    moment += int(step)
    if not found or found[-1]:
        save(old)
    child = os.fork()
    if not child:
        sys.setprofile(killed_at(moment))
        save(new)
        sys.setprofile(None)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    found.append(content())
    if not status:
        break
    assert os.WTERMSIG(status) == signal.SIGKILL
print(moment, found[0], found[-1], found == sorted(found))
"""

# Saves one file over and over until it is killed.
SAVES = """
import sys
import weft
values = [weft.full((200_000,), float(number)) for number in range(3)]
print("ready", flush=True)
while True:
    for value in values:
        weft.save({"a": value, "b": value + 0}, sys.argv[1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.parametrize(("way", "step"), [("zip", 5), ("legacy", 2), ("safetensors", 1)])
def test_a_save_killed_at_any_call_leaves_the_old_file_or_the_new_one(tmp_path, way, step):
    made = [sys.executable, "-c", KILLED_AT_EACH_CALL, str(tmp_path / "model.pt"), way, str(step)]
    moments, first, last, in_order = subprocess.run(made, capture_output=True, text=True, check=True).stdout.split()
    assert int(moments) > 100  # how many calls there are depends on the version of Python
    assert (first, last, in_order) == ("0", "1", "True")  # the old file up to one moment, and the new one from there


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL")
def test_a_save_killed_from_outside_leaves_a_whole_file(tmp_path):
    path = tmp_path / "model.pt"
    for moment in range(6):
        with subprocess.Popen([sys.executable, "-c", SAVES, str(path)], stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            child.stdout.readline()
            while not path.exists():
                assert child.poll() is None
            before = os.stat(path).st_ino
            for _ in range(moment):  # further into the run each time
                while os.stat(path).st_ino == before:
                    assert child.poll() is None
                before = os.stat(path).st_ino
            child.kill()
        loaded = weft.load(path)
        assert {loaded["a"].min().item(), loaded["b"].max().item()} == {loaded["a"][0].item()}
        assert loaded["a"].numel() == loaded["b"].numel() == 200_000


def test_what_a_killed_save_leaves_beside_is_hidden_and_in_nobodys_way(tmp_path, monkeypatch):
    path = tmp_path / "model.pt"
    weft.save([1], path)
    monkeypatch.setattr(os, "replace", lambda *names: (_ for _ in ()).throw(KeyboardInterrupt))
    monkeypatch.setattr(os, "unlink", lambda name: None)  # as when the process is gone
    with pytest.raises(KeyboardInterrupt):
        weft.save([2], path)
    monkeypatch.undo()
    beside = [name for name in os.listdir(tmp_path) if name != "model.pt"]
    assert [name[:10] for name in beside] == [".model.pt."]
    weft.save([3], path)
    assert weft.load(path) == [3]


SIZE = 32 << 20  # bytes: what loading needs besides is small beside it


@pytest.mark.parametrize("way", ["path", "file object", "legacy", "mapped", "safetensors", "safetensors mapped"])
def test_loading_takes_the_memory_of_the_tensors_once(tmp_path, way):
    path = tmp_path / "large"
    value = {"a": weft.ones(SIZE // 8), "b": weft.ones(SIZE // 8)}
    if way.startswith("safetensors"):
        safetensors.save_file(value, path)
    else:
        weft.save(value, path, _use_new_zipfile_serialization=way != "legacy")
    source = io.BytesIO(path.read_bytes()) if way == "file object" else path
    tracemalloc.start()
    try:
        if way.startswith("safetensors"):
            loaded = safetensors.load_file(path, backend="mmap" if way.endswith("mapped") else "pread")
        else:
            loaded = weft.load(source, mmap=way == "mapped")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    expected = 0 if way.endswith("mapped") else SIZE
    assert expected <= peak < expected + SIZE // 8
    assert [tensor.numel() for tensor in loaded.values()] == [SIZE // 8] * 2


def test_saving_copies_no_tensor(tmp_path):
    value = {"a": weft.ones(SIZE // 4)}
    tracemalloc.start()
    try:
        weft.save(value, tmp_path / "model.pt")
        safetensors.save_file(value, tmp_path / "model.safetensors")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < SIZE // 8


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="files without a name are Linux's")
def test_of_a_save_that_is_killed_while_it_writes_nothing_stays(tmp_path):
    code = (
        "import os, sys; from weft.serialization._archive import replacing\n"
        "with replacing(sys.argv[1]) as file: file.write(bytes(10000)); file.flush(); os._exit(9)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "model.pt")], check=False)
    assert done.returncode == 9 and os.listdir(tmp_path) == []

"""Checkpoints of one process: what is written is what is read, safely, and whole or not at all."""

import os
import pickle
import signal
import subprocess
import sys
import time

import pytest

import weft
import weft.distributed.checkpoint as dcp
from weft import nn, optim
from weft.distributed.checkpoint.format_utils import dcp_to_torch_save, torch_save_to_dcp
from weft.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)


def states():
    return {
        "transposed": weft.arange(12).reshape(3, 4).t(),
        "bfloat16": weft.ones(3, dtype=weft.bfloat16),
        "scalar": weft.tensor(2.5),
        "empty": weft.empty(0, 3),
        "view": weft.arange(100)[3:5],
        "parameter": nn.Parameter(weft.ones(2)),
        "nested": {
            "list": [1, {"deep": weft.arange(3.0)}],
            "tuple": (1, "x"),
            "none": None,
            "of numbers": {7: "seven"},
        },
        "step": 12,
    }


def zeroed(value):
    """The same structure, with other values."""
    if isinstance(value, weft.Tensor):
        return weft.zeros_like(value)
    if isinstance(value, dict):
        return {key: zeroed(each) for key, each in value.items()}
    if isinstance(value, list):
        return [zeroed(each) for each in value]
    return "?"


def same(first, second):
    if isinstance(first, weft.Tensor):
        return first.dtype == second.dtype and bool((first == second).all())
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same(first[key], second[key]) for key in first)
    if isinstance(first, list):
        return len(first) == len(second) and all(map(same, first, second))
    return first == second


@pytest.mark.parametrize(
    "options", [{}, {"thread_count": 3}, {"single_file_per_rank": False, "sync_files": False}], ids=str
)
def test_a_state_dict_is_what_was_saved(tmp_path, options):
    dcp.save(states(), storage_writer=dcp.FileSystemWriter(tmp_path / "a", **options), no_dist=True)
    loaded = zeroed(states())
    dcp.load(loaded, checkpoint_id=tmp_path / "a", no_dist=True)
    assert same(loaded, states())


def test_tensors_are_filled_in_place_and_modules_and_optimizers_are_asked(tmp_path):
    def trained(seed):
        weft.manual_seed(seed)
        model = nn.Linear(3, 2)
        optimizer = optim.AdamW(model.parameters(), lr=seed / 10)
        model(weft.ones(1, 3)).sum().backward()
        optimizer.step()
        return model, optimizer

    (model, optimizer), (other, other_optimizer) = trained(1), trained(2)
    dcp.save({"model": model, "optimizer": optimizer}, checkpoint_id=tmp_path, no_dist=True)
    weight = other.weight
    dcp.load({"model": other, "optimizer": other_optimizer}, checkpoint_id=tmp_path, no_dist=True)
    assert other.weight is weight
    assert same(dict(model.state_dict()), dict(other.state_dict()))
    assert same(optimizer.state_dict(), other_optimizer.state_dict())


def test_a_part_of_a_checkpoint_is_loaded_and_what_is_missing_is_named(tmp_path):
    dcp.save({"a": weft.arange(3), "b": {"c": 1}}, checkpoint_id=tmp_path, no_dist=True)
    part = {"a": weft.zeros(3)}
    dcp.load(part, checkpoint_id=tmp_path, no_dist=True)
    assert part["a"].tolist() == [0.0, 1.0, 2.0]
    more = {"a": weft.zeros(3), "b": {"c": 0, "d": 5}, "e": weft.ones(1)}
    dcp.load(more, checkpoint_id=tmp_path, planner=dcp.DefaultLoadPlanner(allow_partial_load=True), no_dist=True)
    assert more["b"] == {"c": 1, "d": 5}
    assert more["e"].item() == 1


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"z": 0, "y": weft.zeros(1)}, r"RuntimeError: Missing key in checkpoint state_dict: z.*1 more: y"),
        ({"a": weft.zeros(2, 2)}, r"ValueError: Size mismatch between saved .*3.* and current: .*2, 2.* for a"),
        ({"a": 5}, "ValueError: Invalid checkpoint metadata for a, expected BytesStorageMetadata"),
    ],
    ids=["missing", "size", "kind"],
)
def test_what_does_not_fit_is_told_with_its_name(tmp_path, wanted, message):
    dcp.save({"a": weft.arange(3)}, checkpoint_id=tmp_path, no_dist=True)
    with pytest.raises(dcp.CheckpointException, match=message) as caught:
        dcp.load(wanted, checkpoint_id=tmp_path, no_dist=True)
    assert list(caught.value.failures) == [0]


def test_without_a_process_group_one_process_is_assumed_with_a_warning(tmp_path):
    with pytest.warns(UserWarning, match="assuming the intent is to save in a single process"):
        dcp.save({"a": 1}, checkpoint_id=tmp_path)
    with pytest.raises(RuntimeError, match="`checkpoint_id` must be specified"):
        dcp.save({"a": 1}, no_dist=True)
    with pytest.raises(dcp.CheckpointException, match="there is no checkpoint"):
        dcp.load({"a": 1}, checkpoint_id=tmp_path / "none", no_dist=True)


def test_overwriting_replaces_a_checkpoint_and_leaves_no_file_of_the_old_one(tmp_path):
    for value in range(3):
        dcp.save({"a": weft.tensor(value)}, checkpoint_id=tmp_path, no_dist=True)
        assert len(os.listdir(tmp_path)) == 2
    loaded = {"a": weft.tensor(9)}
    dcp.load(loaded, checkpoint_id=tmp_path, no_dist=True)
    assert loaded["a"].item() == 2
    with pytest.raises(dcp.CheckpointException, match="overwrite=False"):
        dcp.save({"a": 1}, storage_writer=dcp.FileSystemWriter(tmp_path, overwrite=False), no_dist=True)


def test_a_failed_saving_leaves_the_old_checkpoint(tmp_path):
    dcp.save({"a": weft.tensor(1)}, checkpoint_id=tmp_path, no_dist=True)
    with pytest.raises(dcp.CheckpointException, match="lambda"):
        dcp.save({"a": weft.tensor(2), "f": lambda: 0}, checkpoint_id=tmp_path, no_dist=True)
    loaded = {"a": weft.tensor(9)}
    dcp.load(loaded, checkpoint_id=tmp_path, no_dist=True)
    assert loaded["a"].item() == 1


@pytest.mark.parametrize("harm", ["flipped", "cut", "gone"])
def test_a_damaged_file_is_told(tmp_path, harm):
    dcp.save({"a": weft.arange(1000.0)}, checkpoint_id=tmp_path, no_dist=True)
    file = tmp_path / "__0_0.distcp"
    content = bytearray(file.read_bytes())
    place = content.find(weft.arange(1000.0).numpy().tobytes()) + 10
    if harm == "flipped":
        content[place] ^= 0xFF
        file.write_bytes(content)
    elif harm == "cut":
        file.write_bytes(content[:place])
    else:
        file.unlink()
    with pytest.raises(dcp.CheckpointException, match=r"is damaged|No such file"):
        dcp.load({"a": weft.zeros(1000)}, checkpoint_id=tmp_path, no_dist=True)


def test_async_save_writes_what_was_there_when_it_was_called(tmp_path):
    x = weft.zeros(1000)
    futures = []
    for step in range(3):
        x.fill_(step)
        futures.append(dcp.async_save({"x": x}, checkpoint_id=tmp_path / str(step), no_dist=True))
        x.fill_(-1)
    assert [type(future.result()) for future in futures] == [dcp.Metadata] * 3
    for step in range(3):
        dcp.load({"x": x}, checkpoint_id=tmp_path / str(step), no_dist=True)
        assert x.tolist() == [step] * 1000
    failed = dcp.async_save({"x": lambda: 0}, checkpoint_id=tmp_path / "f", no_dist=True)
    assert isinstance(failed.exception(), dcp.CheckpointException)


def test_a_checkpoint_becomes_one_file_and_back(tmp_path):
    state = {"a": weft.arange(3), "b": {"c": [1, 2]}}
    dcp.save(state, checkpoint_id=tmp_path / "folder", no_dist=True)
    dcp_to_torch_save(tmp_path / "folder", tmp_path / "one.pt")
    assert same(weft.load(tmp_path / "one.pt"), state)
    torch_save_to_dcp(tmp_path / "one.pt", tmp_path / "again")
    loaded = zeroed(state)
    dcp.load(loaded, checkpoint_id=tmp_path / "again", no_dist=True)
    assert same(loaded, state)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 1), nn.BatchNorm1d(1))

    def forward(self, x):
        return self.b(self.a(x))


def test_state_dicts_have_the_names_of_the_model_without_wrappers():
    model = Model()
    assert list(get_model_state_dict(model)) == list(model.state_dict())
    assert list(get_model_state_dict(model, submodules={model.b}))[:2] == ["b.0.weight", "b.0.bias"]
    options = StateDictOptions(keep_submodule_prefixes=False)
    assert list(get_model_state_dict(model, submodules={model.b}, options=options))[:2] == ["0.weight", "0.bias"]
    model.a.weight.requires_grad_(False)
    assert "a.weight" not in get_model_state_dict(model, options=StateDictOptions(ignore_frozen_params=True))
    with pytest.raises(RuntimeError, match=r"Missing key: a.bias."):
        set_model_state_dict(model, {"a.weight": weft.ones(2, 2)})
    result = set_model_state_dict(model, {"a.weight": weft.ones(2, 2)}, options=StateDictOptions(strict=False))
    assert "a.bias" in result.missing_keys
    with pytest.raises(ValueError, match="full_state_dict must be True when broadcast_from_rank0 is True"):
        get_model_state_dict(model, options=StateDictOptions(broadcast_from_rank0=True))


@pytest.mark.parametrize("flat", [False, True])
def test_an_optimizers_state_goes_by_names_to_one_with_other_groups(flat):
    model = Model()
    groups = [{"params": model.b.parameters()}, {"params": model.a.parameters(), "lr": 0.5}]
    first = optim.Adam(groups)
    model(weft.arange(4.0).reshape(2, 2)).sum().backward()
    first.step()
    options = StateDictOptions(flatten_optimizer_state_dict=flat)
    state = get_optimizer_state_dict(model, first, options=options)
    if flat:
        assert state["param_groups.a.weight.lr"] == 0.5
    else:
        assert state["param_groups"][1]["params"] == ["a.weight", "a.bias"]
    second = optim.Adam(model.parameters())
    set_optimizer_state_dict(model, second, state, options=options)
    assert second.param_groups[0]["lr"] == 0.5  # that of its first parameter, a.weight
    for parameter in model.parameters():
        assert weft.equal(second.state[parameter]["exp_avg"], first.state[parameter]["exp_avg"])
    with pytest.raises(RuntimeError, match="none of the model's"):
        get_optimizer_state_dict(nn.Linear(1, 1), first)


class Evil:
    def __init__(self, call):
        self.call = call

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize(
    "call",
    [(os.system, ("touch executed",)), (eval, ("open('executed', 'w')",)), (getattr, (dcp.Metadata, "x"))],
    ids=str,
)
def test_a_hostile_folder_runs_nothing(tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    dcp.save({"a": 1, "b": weft.ones(2)}, checkpoint_id=tmp_path / "c", no_dist=True)
    (tmp_path / "c" / ".metadata").write_bytes(pickle.dumps(Evil(call)))
    with pytest.raises(dcp.CheckpointException, match="UnpicklingError"):
        dcp.load({"a": 0}, checkpoint_id=tmp_path / "c", no_dist=True)
    dcp.save({"a": Evil(call)}, checkpoint_id=tmp_path / "d", no_dist=True)
    with pytest.raises(dcp.CheckpointException, match="UnpicklingError"):
        dcp.load({"a": 0}, checkpoint_id=tmp_path / "d", no_dist=True)
    assert not (tmp_path / "executed").exists()


def test_damaged_metadata_is_refused_or_read_and_nothing_else(tmp_path):
    """Whatever byte is changed: an UnpicklingError, or metadata whose loading fails or succeeds."""
    dcp.save({"a": weft.ones(2), "b": {"c": 1}}, checkpoint_id=tmp_path, no_dist=True)
    file = tmp_path / ".metadata"
    content = file.read_bytes()
    for place in range(0, len(content), 3):
        damaged = bytearray(content)
        damaged[place] = (damaged[place] + 1 + place) % 256
        file.write_bytes(damaged)
        try:
            dcp.load({"a": weft.zeros(2), "b": {"c": 0}}, checkpoint_id=tmp_path, no_dist=True)
        except dcp.CheckpointException as error:
            kinds = (pickle.UnpicklingError, RuntimeError, ValueError, OSError)
            assert isinstance(error.failures[0][0], kinds), error


@pytest.mark.parametrize("path", ["../outside.distcp", "/etc/passwd", "C:\\x", "a/../../b", "..\\x", ""])
def test_metadata_that_leads_out_of_the_folder_is_refused(tmp_path, path):
    dcp.save({"a": weft.ones(2)}, checkpoint_id=tmp_path, no_dist=True)
    content = (tmp_path / ".metadata").read_bytes()
    name = b"\x8c\x0c__0_0.distcp"  # SHORT_BINUNICODE and its length
    assert name in content
    content = content.replace(name, b"\x8c" + bytes([len(path)]) + path.encode())
    (tmp_path / ".metadata").write_bytes(content)
    with pytest.raises(dcp.CheckpointException, match="wrong relative_path"):
        dcp.load({"a": weft.ones(2)}, checkpoint_id=tmp_path, no_dist=True)


SAVING = """
import sys, weft, weft.distributed.checkpoint as dcp
step = 0
while True:
    dcp.save({"step": step, "x": weft.full((200, 500), float(step))}, checkpoint_id=sys.argv[1], no_dist=True)
    print(step, flush=True)
    step += 1
"""


def test_a_process_killed_at_any_moment_leaves_a_whole_checkpoint(tmp_path):
    for attempt in range(4):
        process = subprocess.Popen([sys.executable, "-c", SAVING, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        try:
            process.stdout.readline()  # one is complete
            time.sleep(0.05 + 0.017 * attempt)
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
            process.stdout.close()
        loaded = {"step": None, "x": weft.zeros(200, 500)}
        dcp.load(loaded, checkpoint_id=tmp_path, no_dist=True)
        assert loaded["x"].unique().tolist() == [float(loaded["step"])]
    dcp.save({"x": 1}, checkpoint_id=tmp_path, no_dist=True)
    assert len([name for name in os.listdir(tmp_path) if name.endswith(".distcp")]) == 1  # no rest of the killed ones

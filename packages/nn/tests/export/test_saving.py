"""Files of exported programs."""

import copy
import dataclasses
import io
import json
import pickle
import random
import zipfile
from collections import namedtuple

import pytest

import weft
from weft import nn
from weft.export import Dim, export, load, save

Pair = namedtuple("Pair", "first second")


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.tied = nn.Linear(4, 4), nn.Linear(4, 4)
        self.tied.weight = self.linear.weight
        self.register_buffer("scale", weft.tensor(2.0), persistent=False)
        self.small = nn.Parameter(weft.ones(4, dtype=weft.bfloat16))

    def forward(self, x, extra):
        y = self.tied(self.linear(x) * self.scale).view(-1, 2)
        return Pair(y, {"a": [x + extra["by"], x[..., :2].clamp(max=float("inf"))], "b": self.small.float()})


def made():
    x = weft.randn(2, 4)
    return export(Model(), (x,), {"extra": {"by": 1.5}}, dynamic_shapes={"x": {0: Dim("rows", max=99)}, "extra": None})


def content(program):
    file = io.BytesIO()
    save(program, file)
    return file.getvalue()


def test_what_is_saved_is_loaded(tmp_path):
    program = made()
    save(program, tmp_path / "program.pt2", extra_files={"note.txt": "hello"})
    extra = {"note.txt": ""}
    found = load(tmp_path / "program.pt2", extra_files=extra)
    x, options = weft.randn(7, 4), {"by": 1.5}
    one, two = found.module()(x, extra=options), program.module()(x, extra=options)
    assert type(one).__name__ == "Pair" and one._fields == ("first", "second")
    assert weft.equal(one.first, two.first) and weft.equal(one.second["a"][1], two.second["a"][1])
    assert extra == {"note.txt": "hello"}
    assert str(found.graph) == str(program.graph) and found.range_constraints == {"rows": (0, 99)}
    assert found.state_dict["tied.weight"] is found.state_dict["linear.weight"]
    assert isinstance(found.state_dict["small"], nn.Parameter) and found.state_dict["small"].dtype is weft.bfloat16


def test_a_program_has_one_content():
    program = made()
    assert content(program) == content(program) == content(load(io.BytesIO(content(program))))


def test_an_existing_file_stays_where_a_program_cannot_be_saved(tmp_path):
    path = tmp_path / "program.pt2"
    path.write_bytes(b"before")
    program = made()
    program.constants["scale"] = object()
    with pytest.raises(AttributeError):
        save(program, path)
    assert path.read_bytes() == b"before" and len(list(tmp_path.iterdir())) == 1


def test_damaged_files_are_refused():
    whole, chance = content(made()), random.Random(0)
    for _ in range(100):
        damaged = bytearray(whole)
        for _ in range(chance.choice([1, 20])):
            damaged[chance.randrange(len(damaged))] ^= chance.randrange(1, 256)
        try:
            load(io.BytesIO(damaged[: chance.choice([len(damaged), chance.randrange(len(damaged))])]))
        except RuntimeError as error:
            assert "is no exported program, or is damaged" in str(error)


def changed(change):
    """The file with another description."""
    source = zipfile.ZipFile(io.BytesIO(content(made())))
    described = json.loads(source.read("program.json"))
    change(described)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in source.namelist():
            archive.writestr(name, json.dumps(described) if name == "program.json" else source.read(name))
    return file


def calls(described):
    return [node for node in described["nodes"] if node["op"] == "call_function"]


def guard(left):
    return {"compare": "lt", "left": left, "right": 5, "is": True, "line": "model.py:1"}


def sum_of(count):
    return "rows" if count == 1 else ["add", "rows", sum_of(count - 1)]


HOSTILE = {
    "a name that is code": lambda it: calls(it)[0].update(name="x): import os #"),
    "a keyword that is code": lambda it: calls(it)[0]["kwargs"].update({"x=print()": 1}),
    "an op that reads files": lambda it: calls(it)[0].update(target="core::load"),
    "an op that calls": lambda it: calls(it)[0].update(target="core::apply_"),
    "a function of Python's": lambda it: calls(it)[0].update(target="os.system"),
    "a node that calls a module": lambda it: calls(it)[0].update(op="call_module"),
    "a node that uses itself": lambda it: calls(it)[0]["kwargs"].update(input={"node": calls(it)[0]["name"]}),
    "a huge tensor": lambda it: it["state_dict"]["small"].update(shape=[2**40, 2**40]),
    "a file that is not there": lambda it: it["state_dict"]["small"].update(file="../../etc/passwd"),
    "a class by its name": lambda it: it["in_spec"].update(type="subprocess.Popen"),
    "a field that is code": lambda it: it["out_spec"].update(context=["P", ["__import__('os')", "b"]]),
    "a line that is code": lambda it: calls(it)[0].update(line="a.py:1\nimport os"),
    "a guard that is code": lambda it: it.update(guards=[guard(left="__import__('os')")]),
    "a guard of a size that is not there": lambda it: it.update(guards=[guard(left="columns")]),
    "a guard of large numbers": lambda it: it.update(guards=[guard(left=["pow", ["pow", "rows", 8], 8])]),
    "a guard that is long": lambda it: it.update(guards=[guard(left=sum_of(100))]),
    "another version": lambda it: it.update(version=99),
    "nothing": lambda it: it.clear(),
}


def test_programs_are_copied_and_sent_to_other_processes():
    program = export(nn.Linear(3, 2), (weft.ones(4, 3),))
    for found in (pickle.loads(pickle.dumps(program)), copy.deepcopy(program)):
        assert content(found) == content(program)
        assert weft.equal(found.module()(weft.ones(4, 3)), program.module()(weft.ones(4, 3)))


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused(name):
    with pytest.raises(RuntimeError, match="is no exported program, or is damaged"):
        load(changed(HOSTILE[name]))


def test_deeply_nested_files_are_refused():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("program.json", "[" * 100000)
    with pytest.raises(RuntimeError, match="RecursionError"):
        load(file)


def test_compressed_entries_are_refused():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("program.json", "{}" + " " * 10**6)
    with pytest.raises(RuntimeError, match="compressed"):
        load(file)


@dataclasses.dataclass
class Batch:
    x: weft.Tensor
    y: weft.Tensor


def test_data_classes_are_containers_once_they_are_registered():
    weft.export.register_dataclass(Batch, serialized_type_name="tests.Batch")

    class Sum(nn.Module):
        def forward(self, batch):
            return Batch(batch.x + batch.y, batch.y)

    program = export(Sum(), (Batch(weft.ones(2), weft.ones(2)),))
    found = load(io.BytesIO(content(program))).module()(Batch(weft.ones(2), weft.ones(2)))
    assert isinstance(found, Batch) and found.x.tolist() == [2, 2]


class Keyword(nn.Module):
    def forward(self, x, *, extra):
        return x + extra


def test_an_argument_whose_name_is_code_is_not_written_as_python(tmp_path):
    program = export(Keyword(), (weft.ones(2),), {"extra": weft.ones(2)})
    arguments = program.call_spec.in_spec.children_specs[1]
    arguments.context[:] = ["extra=print()"]
    with pytest.raises(weft.export.UserError, match=r"'extra=print\(\)' is no name of an argument"):
        program.to_python(tmp_path)

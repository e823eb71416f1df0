"""Results with as many rows as values say."""

import importlib.util

import pytest

import weft
from weft import nn
from weft.export import Dim, UserError, export
from weft.utils._pytree import tree_leaves


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def doubled_rows(x):
    y = weft.zeros(len(x), 2)
    rows = weft.where(x[:, 0] > 0)[0]
    y[rows] = x[rows] * 2
    return y


def selected_twice(x):
    rows = x[x[:, 0] > 0]
    return rows[rows[:, 1] > 0] * rows.shape[0]


SELECTIONS = {
    "elements": lambda x: x[x > 0],
    "rows": lambda x: x[x[:, 0] > 0].sum(0),
    "positions": weft.nonzero,
    "rows of positions": weft.argwhere,
    "positions of each dimension": lambda x: weft.where(x > 0.3),
    "a mean": lambda x: x[x > 0].sum() / (x[x > 0].shape[0] + 1),
    "masked_select": lambda x: weft.masked_select(x, x > 0) * 2,
    "the same mask of two tensors": lambda x: x[x > 0] * x.exp()[x > 0],
    "joined": lambda x: weft.cat([x[x > 0], x[x < -1]]).sort()[0],
    "the first": lambda x: x[x > 0][:5],
    "how many the first are": lambda x: x[x > 0][:5] * x[x > 0][:5].shape[0],
    "flattened": lambda x: x[x[:, 0] > 0].view(-1),
    "numbered": lambda x: weft.arange(len(x[x > 0])),
    "a new tensor": lambda x: x.new_zeros(len(x[x > 0]), 3),
    "written": doubled_rows,
    "selected twice": selected_twice,
    "the smaller number of rows": lambda x: x[x > 0].topk(min(5, len(x[x > 0])))[0],
    "the smaller multiple": lambda x: x[x > 0][: min(8, len(x[x > 0]) * 2)],
    "the larger number of rows": lambda x: weft.zeros(max([3, x[x > 0].shape[0]]), 2),
    "computed of the smaller": lambda x: weft.arange(2 * min(len(x[x > 0]), 7) + 1),
}


@pytest.mark.parametrize("name", SELECTIONS)
@pytest.mark.parametrize("rows", [Dim("rows"), None], ids=["dynamic", "fixed"])
def test_what_values_select_has_a_size_of_its_own(name, rows, tmp_path):
    function = SELECTIONS[name]
    program = export(Function(function), (weft.randn(6, 2),), dynamic_shapes=rows and ({0: rows},))
    weft.export.save(program, tmp_path / "file.pt2")
    specification = importlib.util.spec_from_file_location("exported", program.to_python(tmp_path))
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    ways = [program.module(), weft.export.load(tmp_path / "file.pt2").module()]
    for size in (2, 3, 6, 40) if rows else (6,):
        for x in (weft.randn(size, 2), -weft.ones(size, 2), weft.ones(size, 2)):
            expected = tree_leaves(function(x))
            found = [*(tree_leaves(way(x)) for way in ways), tree_leaves(module.Model()(x.numpy()))]
            for each in found:
                for one, other in zip(each, expected, strict=True):
                    assert tuple(one.shape) == tuple(other.shape)
                    assert weft.allclose(weft.as_tensor(one), other)


REFUSED = {
    "a branch on whether there are any": (
        lambda x: x.sin() if len(x[x > 0]) == 0 else x.cos(),
        r"compares how many rows nonzero at test_selections.py:\d+ has, which depends on values",
    ),
    "a smallest of which no tried size is another": (
        lambda x: x[x > 0][: min(1, len(x[x > 0]))],
        r"compares how many rows nonzero at test_selections.py:\d+ has",
    ),
    "a comparison that is not seen": (
        lambda x: x.sin() if 0.5 * len(x[x > 0]) > 50 else x.cos(),
        r"core::cos at .* core::sin .*a comparison that is not seen",
    ),
    "a loop over what is selected": (lambda x: sum((each for each in x[x > 0]), x), "a loop over a size"),
    "the distinct values": (weft.unique, r"core::unique at test_selections.py:\d+: the size of its result"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_depends_on_their_number_otherwise_is_refused(name):
    function, message = REFUSED[name]
    with pytest.raises(UserError, match=message):
        export(Function(lambda x: function(x)), (weft.randn(6, 2),))

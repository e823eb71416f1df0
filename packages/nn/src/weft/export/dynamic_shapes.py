"""Sizes of inputs that may be others in the next call."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar

import weft
from weft.export._sizes import Size
from weft.export.errors import UserError
from weft.utils._pytree import tree_flatten, tree_unflatten

__all__ = ["Dim", "dims"]

LARGEST = 2**31 - 1


class _DimHint:
    """A dimension without a name of its own."""

    def __init__(self, kind: str, min: int | None = None, max: int | None = None) -> None:
        self.kind = kind
        self.min = min
        self.max = max

    def __call__(self, min: int | None = None, max: int | None = None) -> _DimHint:
        return _DimHint(self.kind, min, max)

    def __repr__(self) -> str:
        return f"Dim.{self.kind}"


class Dim:
    """A named size, which is the same wherever the name stands. ``2 * dim`` and ``dim + 1`` depend on it.

    Parameters
    ----------
    name : str
    min, max : int, optional

    Examples
    --------
    >>> batch = weft.export.Dim("batch", min=1, max=64)
    >>> program = weft.export.export(weft.nn.Linear(3, 2), (weft.ones(2, 3),), dynamic_shapes=({0: batch},))
    >>> program.module()(weft.ones(5, 3)).shape
    weft.Size([5, 2])
    """

    AUTO: ClassVar[_DimHint] = _DimHint("AUTO")
    DYNAMIC: ClassVar[_DimHint] = _DimHint("DYNAMIC")
    STATIC: ClassVar[_DimHint] = _DimHint("STATIC")

    def __init__(
        self, name: str, *, min: int | None = None, max: int | None = None, factor: int = 1, plus: int = 0
    ) -> None:
        if not name.isidentifier():
            raise ValueError(f"Dim: the name must be an identifier, got {name!r}")
        if min is not None and max is not None and min > max:
            raise ValueError(f"Dim: min ({min}) must not be larger than max ({max})")
        self.name = name
        self.__name__ = name
        self.min = 0 if min is None else min
        self.max = LARGEST if max is None else max
        self.has_min, self.has_max = min is not None, max is not None
        self.factor, self.plus = factor, plus
        self.is_automatic = False  # it need not change where the program does not let it

    def derived(self, factor: int, plus: int) -> Dim:
        found = copy.copy(self)
        found.factor, found.plus = factor, plus
        return found

    def between(self, least: int, most: int) -> Dim:
        """The same dimension with other limits."""
        found = copy.copy(self)
        found.min, found.max = least, most
        return found

    def __mul__(self, other: int) -> Dim:
        return self.derived(self.factor * other, self.plus * other)

    __rmul__ = __mul__

    def __add__(self, other: int) -> Dim:
        return self.derived(self.factor, self.plus + other)

    __radd__ = __add__

    def __sub__(self, other: int) -> Dim:
        return self + -other

    def __repr__(self) -> str:
        return f"Dim({str(self.size(0))!r}, min={self.min}, max={self.max})"

    def size(self, hint: int) -> Size:
        """The size as an expression."""
        return Size({(self.name,): self.factor, (): self.plus}, hint)


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """Several named sizes.

    Examples
    --------
    >>> weft.export.dims("height", "width", max=512)
    (Dim('height', min=0, max=512), Dim('width', min=0, max=512))
    """
    return tuple(Dim(name, min=min, max=max) for name in names)


def dims_of(named: Mapping[str, Any], shapes: Any) -> list[dict[int, Dim]]:
    """The dimensions that may change of each tensor among the leaves of the arguments.

    Parameters
    ----------
    named : dict
        The arguments by name, in the order in which they are flattened.
    shapes : dict, tuple or list
        As `export` takes it.
    """
    if shapes is None:
        given: list[Any] = [None] * len(named)
    elif isinstance(shapes, Mapping):
        unknown = shapes.keys() - named.keys()
        if unknown:
            raise UserError(
                f"export: dynamic_shapes names {', '.join(sorted(unknown))}; the arguments are {', '.join(named)}"
            )
        given = [shapes.get(name) for name in named]
    else:
        given = list(shapes)
        if len(given) != len(named):
            raise UserError(
                f"export: dynamic_shapes has {len(given)} entries for {len(named)} arguments ({', '.join(named)})"
            )
    found: list[dict[int, Dim]] = []
    for (name, value), spec in zip(named.items(), given):
        collect(name, value, spec, found)
    return found


def collect(path: str, value: Any, spec: Any, found: list[dict[int, Dim]]) -> None:
    """Add the dimensions of each leaf of one argument."""
    if isinstance(value, weft.Tensor):
        found.append(dims_of_tensor(path, value, spec))
        return
    leaves, tree = tree_flatten(value)
    if tree.is_leaf() or not leaves:
        found.extend({} for _ in leaves)
        return
    for place, (key, each) in enumerate(children_of(value)):
        inner = None
        if isinstance(spec, Mapping):
            inner = spec.get(key)
        elif spec is not None:
            inner = spec[place]
        collect(f"{path}_{key}", each, inner, found)


def children_of(value: Any) -> list[tuple[Any, Any]]:
    """What is in a container, by its keys, or numbers where it has none."""
    leaves, tree = tree_flatten(value)
    keys = list(value) if isinstance(value, Mapping) else range(len(tree.children_specs))
    parts = iter(leaves)
    return [
        (key, tree_unflatten(list(islice(parts, child.num_leaves)), child))
        for key, child in zip(keys, tree.children_specs)
    ]


def dims_of_tensor(path: str, tensor: Any, spec: Any) -> dict[int, Dim]:
    """The dimensions of one tensor."""
    if spec is None:
        return {}
    if not isinstance(spec, (Mapping, Sequence)) or isinstance(spec, str):
        raise UserError(f"export: dynamic_shapes of {path} must be a dict, tuple or list of dimensions, got {spec!r}")
    entries = spec.items() if isinstance(spec, Mapping) else enumerate(spec)
    found: dict[int, Dim] = {}
    for place, each in entries:
        if not -tensor.ndim <= place < tensor.ndim:
            raise UserError(
                f"export: dynamic_shapes of {path} names dimension {place}, which {tuple(tensor.shape)} lacks"
            )
        place %= tensor.ndim
        if isinstance(each, str):
            each = Dim(each)
        if isinstance(each, _DimHint) and each.kind != "STATIC":
            hint, each = each, Dim(f"{path}_dim_{place}", min=each.min, max=each.max)
            each.is_automatic = hint.kind == "AUTO"
        if isinstance(each, Dim):
            found[place] = each
        elif isinstance(each, int) and each != tensor.shape[place]:
            raise UserError(f"export: dynamic_shapes of {path}: dimension {place} is {tensor.shape[place]}, not {each}")
    return found

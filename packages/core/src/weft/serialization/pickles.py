"""Plain pickles of a few classes, under the names that another library gives them, read without running anything.

A format built on `save` may keep its index in a pickle of its own classes: PyTorch's distributed checkpoints do.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from weft.serialization._budget import Budget
from weft.serialization._names import Reader, TorchName
from weft.serialization._unpickler import Allowed, SafeUnpickler
from weft.serialization._unpicklers import allowed
from weft.serialization._writing import TorchPickler

__all__ = ["dumps", "loads"]


def dumps(value: object, names: Mapping[type, str], protocol: int = 4) -> bytes:
    """Pickle an object; weft's dtypes, sizes, layouts and devices get PyTorch's names.

    Parameters
    ----------
    value : object
        Without tensors and storages.
    names : mapping
        From a class to the ``module.name`` that stands in the pickle in place of its own.
    protocol : int, default 4

    Raises
    ------
    ValueError
        If there is a tensor: its memory has no place in a plain pickle.
    """
    stream = io.BytesIO()
    torch_names = {kind: TorchName(*name.rsplit(".", 1)) for kind, name in names.items()}
    pickler = TorchPickler(stream, protocol, names=torch_names)
    pickler.dump(value)
    if pickler.storages:
        raise ValueError("dumps: a plain pickle has no place for a tensor's memory; use weft.save")
    return stream.getvalue()


def loads(
    data: bytes,
    classes: Mapping[str, tuple[type, Callable[[Any, Any], None]]],
    functions: Mapping[str, Callable[..., Any]] | None = None,
    source: str = "the pickle",
) -> Any:
    """Build an object from containers, numbers, dtypes, sizes and the given classes, and from nothing else.

    Parameters
    ----------
    data : bytes
    classes : mapping
        From the ``module.name`` in the pickle to a class and the function that gives a new instance the pickled state.
        That function checks the state, which may be anything.
    functions : mapping, optional
        From names to what a pickle may call, with any arguments.
    source : str
        What messages call the pickle.

    Raises
    ------
    pickle.UnpicklingError
        If the pickle is damaged, names anything else, or asks for more memory or time than its length explains.

    Examples
    --------
    >>> from weft.serialization import pickles
    >>> data = pickles.dumps({"dtype": weft.float32, "size": weft.Size([2])}, {})
    >>> pickles.loads(data, {})
    {'dtype': weft.float32, 'size': weft.Size([2])}
    """
    budget = Budget(len(data), source)
    base = allowed(Reader(budget))
    called = dict(functions or {})
    kinds = {name: kind for name, (kind, _) in classes.items()}
    builders = {
        **base.builders,
        **dict.fromkeys(kinds.values(), _refuse_call),
        **{function: _builder(function) for function in called.values()},
        **{(kind, "state"): _setter(restore) for kind, restore in classes.values()},
    }
    known = Allowed({**base.values, **kinds, **called}, builders, base.classes | frozenset(kinds.values()))
    return SafeUnpickler(data, known, _refuse_reference, source, budget).load()


def _refuse_call(unpickler: Any, *arguments: Any) -> NoReturn:
    """An instance is made empty and given its state, which is checked; a constructor would take anything."""
    raise TypeError("the class is called, where the pickle of an instance gives it a state")


def _builder(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda unpickler, *arguments: function(*arguments)


def _setter(restore: Callable[[Any, Any], None]) -> Callable[..., None]:
    return lambda unpickler, target, state: restore(target, state)


def _refuse_reference(identity: Any) -> NoReturn:
    raise pickle.UnpicklingError("loads: a plain pickle refers to no storage")

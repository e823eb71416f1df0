"""Modules as functions of their parameters: what transforms need to differentiate and map over those."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from weft._engine.tensor import TensorBase
from weft._lazy import load
from weft.ops.joining import stack

__all__ = ["functional_call", "replace_all_batch_norm_modules_", "stack_module_state"]


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Any,
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other parameters and buffers in the place of its own.

    Parameters
    ----------
    module : nn.Module
    parameter_and_buffer_dicts : dict, or sequence of dicts
        Tensors by their names in ``module.state_dict()``; what is not named stays. A name that the module does not
        have is an attribute during the call. In a single dict, buffers that `forward` assigns anew are replaced.
    args : tuple, or the only argument
    kwargs : dict, optional
    tie_weights : bool
        A tensor that the module has under several names is replaced under all of them.
    strict : bool
        All parameters and buffers must be given, and no others.

    Raises
    ------
    ValueError
        If the dicts are no dicts, a name is in two of them, or tied names are given different tensors.
    TypeError
        For a value that is no tensor, or a name of something else than a tensor.
    RuntimeError
        With ``strict``, for missing or unknown names; and for a `DataParallel`.

    Examples
    --------
    >>> layer = weft.nn.Linear(1, 1)
    >>> weft.func.functional_call(layer, {"weight": weft.ones(1, 1), "bias": weft.ones(1)}, weft.ones(1, 1))
    tensor([[2.]])
    """
    if isinstance(module, load("nn").DataParallel):
        raise RuntimeError("functional_call: can't be used with nn.DataParallel; pass its module")
    given = merged(parameter_and_buffer_dicts)
    with replaced_tensors(module, given, tie_weights, strict):
        positional = () if args is None else args if isinstance(args, tuple) else (args,)
        return module(*positional, **(kwargs or {}))


def merged(dicts: Any) -> dict[str, Any]:
    """All names in one dict."""
    if isinstance(dicts, dict):
        return dicts
    if not isinstance(dicts, Sequence):
        raise ValueError(
            "functional_call: Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(dicts).__name__}"
        )
    if not all(isinstance(each, dict) for each in dicts):
        raise ValueError(
            "functional_call: Expected all elements of parameter_and_buffer_dicts to be dictionaries, got "
            f"{', '.join(type(each).__name__ for each in dicts)}"
        )
    found: dict[str, Any] = {}
    for each in dicts:
        repeated = sorted(set(each) & set(found))
        if repeated:
            raise ValueError(f"functional_call: {repeated} appeared in multiple dictionaries; the call is ambiguous")
        found.update(each)
    return found


@contextmanager
def replaced_tensors(module: Any, given: dict[str, Any], tie_weights: bool, strict: bool) -> Iterator[None]:
    """The module with other tensors inside of the block.

    What the block itself sets under one of the given names is what ``given`` has afterwards: a buffer that `forward`
    assigns anew, as a count of batches, is a result of the call, and not the module's.
    """
    own = {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }
    wanted = with_tied(own, given) if tie_weights else dict(given)
    if strict:
        check_names(module, own, wanted)
    kept: list[tuple[Any, str, str, Any]] = []
    try:
        for name, tensor in wanted.items():
            path, _, last = name.rpartition(".")
            owner = module.get_submodule(path)
            kept.append((owner, last, name, swapped(owner, last, tensor)))
        yield
    finally:
        for owner, last, name, tensor in reversed(kept):
            left = swapped(owner, last, tensor)
            if name in given and left is not absent:
                given[name] = left


class _Absent:
    """The type of `absent`."""


absent: Final = _Absent()


def swapped(owner: Any, name: str, tensor: Any) -> Any:
    """Let ``owner`` have ``tensor`` under ``name``, and return what it had; `absent` is for nothing at all.

    Raises
    ------
    KeyError
        For the empty name.
    TypeError
        If either is no tensor.
    """
    if name == "":
        raise KeyError('functional_call: tensor name can\'t be empty string ""')
    if tensor is not absent and tensor is not None and not isinstance(tensor, TensorBase):
        raise TypeError(f"functional_call: {name}: {tensor!r} is not an instance of torch.Tensor")
    for table in (owner._parameters, owner._buffers):
        if name in table:
            before = table[name]
            if tensor is absent:
                del table[name]
            else:
                table[name] = tensor
            return before
    # No parameter or buffer: a tensor that is an ordinary attribute, one that is computed, or a new one.
    before = getattr(owner, name, absent)
    if before is not absent and before is not None and not isinstance(before, TensorBase):
        raise TypeError(
            f"functional_call: {name} of {type(owner).__name__} is no Tensor but a {type(before).__name__}; "
            "name its tensors"
        )
    if tensor is not absent:
        setattr(owner, name, tensor)
    elif before is not absent:
        delattr(owner, name)
    return before


def check_names(module: Any, own: dict[str, Any], given: dict[str, Any]) -> None:
    """Raise RuntimeError unless the names are all those of the module."""
    unknown = sorted(set(given) - set(own))
    missing = sorted(set(own) - set(given))
    if unknown or missing:
        lists = [("Unexpected", unknown), ("Missing", missing)]
        found = "\n\t".join(f"{what} key(s): {', '.join(map(repr, names))}." for what, names in lists if names)
        raise RuntimeError(f"functional_call: Error(s) in reparametrizing for {type(module).__name__}:\n\t{found}")


def with_tied(own: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """What was given, under all names of the same tensor."""
    wanted = dict(given)
    for name, tensor in given.items():
        tensor_of = own.get(name)
        for other, same in own.items():
            if tensor_of is None or other == name or same is not tensor_of:
                continue
            if other in given and given[other] is not tensor:
                raise ValueError(
                    f"functional_call got multiple values for keys {sorted([name, other])}, which are one tensor of "
                    "the module (tied); give one of them, or pass tie_weights=False"
                )
            wanted[other] = tensor
    return wanted


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and buffers of several models of one class, stacked for `vmap`.

    Parameters
    ----------
    models : sequence of nn.Module
        Of the same class, all in training mode or all in evaluation mode.

    Returns
    -------
    (params, buffers)
        Dicts of tensors whose first dimension counts the models; leaves that require grad as the models' do.

    Raises
    ------
    RuntimeError
        If there are none, or they differ in class or mode.

    Examples
    --------
    >>> models = [weft.nn.Linear(2, 3) for _ in range(4)]
    >>> params, buffers = weft.func.stack_module_state(models)
    >>> params["weight"].shape
    weft.Size([4, 3, 2])
    """
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({each.training for each in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if len({type(each) for each in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    states = [(dict(each.named_parameters()), dict(each.named_buffers())) for each in models]
    first_params, first_buffers = states[0]
    params = {
        name: stack([params[name] for params, _ in states]).detach().requires_grad_(parameter.requires_grad)
        for name, parameter in first_params.items()
    }
    buffers = {name: stack([buffers[name] for _, buffers in states]) for name in first_buffers}
    return params, buffers


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Let the batch norms of a module, in place, keep no running statistics: `vmap` could not write to them.

    Parameters
    ----------
    root : Module

    Returns
    -------
    The same module. Its batch norms use the statistics of each batch, in evaluation too.
    """
    batch_norm = load("nn").normalization._BatchNorm
    for module in root.modules():
        if isinstance(module, batch_norm) and module.track_running_stats:
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root

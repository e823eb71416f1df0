"""Pruning: set parts of a parameter to zero by a mask, which a hook applies before each forward.

A pruned parameter ``weight`` is kept as ``weight_orig``, its mask as the buffer ``weight_mask``, and ``weight`` is
their product; `remove` makes it a parameter again. Pruning once more takes from what is left.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from typing import Any, ClassVar

import weft
from weft import Tensor
from weft.nn.module import Module

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]


class BasePruningMethod:
    """A way to prune; subclasses give `compute_mask`, and say what they choose among by ``PRUNING_TYPE``.

    Attributes
    ----------
    PRUNING_TYPE : {"unstructured", "structured", "global"}
        Single elements; slices along the dimension ``dim``; or a mask for everything, pruned before or not.
    """

    PRUNING_TYPE: ClassVar[str] = "unstructured"
    _tensor_name: str = ""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask for ``t``: that of before, ``default_mask``, with more zeros."""
        raise NotImplementedError(f"{type(self).__name__}: a pruning method has to have compute_mask(t, default_mask)")

    def __call__(self, module: Module, inputs: Any) -> None:
        """Set the pruned parameter, before forward."""
        setattr(module, self._tensor_name, self.apply_mask(module))

    def apply_mask(self, module: Module) -> Tensor:
        """Return the product of the mask and the whole parameter."""
        name = self._tensor_name
        original: Tensor = getattr(module, name + "_orig")
        return getattr(module, name + "_mask").to(original.dtype) * original  # type: ignore[no-any-return]

    @classmethod
    def apply(cls, module: Module, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any) -> Any:
        """Prune the parameter ``name`` of a module, and prune it again before each forward.

        Raises
        ------
        AssertionError
            If the scores, or the mask, have another shape than the parameter.
        """
        method: Any = cls(*args, **kwargs)
        method._tensor_name = name
        before = pop_hook(module, name)
        if before is not None:
            container = before if isinstance(before, PruningContainer) else PruningContainer(before)
            container.add_pruning_method(method)
            method = container
        tensor = getattr(module, name)
        scores = tensor if importance_scores is None else importance_scores
        if scores.shape != tensor.shape:
            raise AssertionError(
                f"prune: importance_scores should have the same shape as parameter {name} of the module: got "
                f"{tuple(scores.shape)}, wanted {tuple(tensor.shape)}"
            )
        if before is None:
            original, default = tensor, weft.ones_like(tensor)
        else:
            original, default = getattr(module, name + "_orig"), getattr(module, name + "_mask").detach().clone()
        mask = method.compute_mask(scores.detach(), default)
        if before is None:
            delattr(module, name)
            module.register_parameter(name + "_orig", original)
        module.register_buffer(name + "_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """Return a pruned tensor, and change nothing."""
        scores = t if importance_scores is None else importance_scores
        mask = weft.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, mask)

    def remove(self, module: Module) -> None:
        """Make the pruned parameter a parameter again, with the zeros in it."""
        name = self._tensor_name
        pruned, original = self.apply_mask(module).detach(), getattr(module, name + "_orig")
        if hasattr(module, name):
            delattr(module, name)
        original.data = pruned
        del module._parameters[name + "_orig"], module._buffers[name + "_mask"]
        module.register_parameter(name, original)


class PruningContainer(BasePruningMethod):
    """Several methods, one after the other: each chooses among what the ones before it left.

    Parameters
    ----------
    *methods : BasePruningMethod
        Of one parameter.

    Examples
    --------
    >>> layer = weft.nn.Linear(10, 1)
    >>> for _ in range(2):
    ...     _ = weft.nn.utils.prune.l1_unstructured(layer, "weight", amount=0.5)
    >>> (layer.weight == 0).sum()  # 5 of 10, and half of the others, rounded to even
    tensor(7)
    """

    def __init__(self, *methods: Any) -> None:
        self._pruning_methods: tuple[Any, ...] = ()
        for method in methods:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Append a method.

        Raises
        ------
        TypeError
            If it is no method.
        ValueError
            If it prunes another parameter.
        """
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"prune: {type(method)} is not a BasePruningMethod subclass")
        if self._tensor_name and method._tensor_name != self._tensor_name:
            raise ValueError(
                f"prune: can only add pruning methods acting on the parameter named {self._tensor_name!r}, found "
                f"{method._tensor_name!r}"
            )
        self._tensor_name = method._tensor_name
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __getitem__(self, index: Any) -> Any:
        return self._pruning_methods[index]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Apply the last method to what the mask has left."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(t.dtype)
        left: Any = builtins.slice(None)
        if method.PRUNING_TYPE == "unstructured":
            left = mask == 1
        elif method.PRUNING_TYPE == "structured":
            dim = method.dim % t.ndim
            alive = mask.movedim(dim, 0).flatten(1).sum(1) != 0
            left = (builtins.slice(None),) * dim + (alive,)
        mask = mask.clone()
        mask[left] = method.compute_mask(t[left], mask[left])
        return mask


class Identity(BasePruningMethod):
    """Prunes nothing, and makes the mask."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask of before."""
        return default_mask


def _validate_pruning_amount_init(amount: Any) -> None:
    """Raise TypeError or ValueError for an amount that no tensor could be pruned by."""
    if isinstance(amount, bool) or not isinstance(amount, int | float):
        raise TypeError(f"prune: Invalid type for amount: {amount!r}. Must be int or float.")
    if amount < 0 or (isinstance(amount, float) and amount > 1):
        raise ValueError(f"prune: amount={amount} should be a float in [0, 1] or a non-negative int")


def _validate_pruning_amount(amount: Any, tensor_size: int) -> None:
    """Raise ValueError if there are fewer elements or slices than are to go."""
    if isinstance(amount, int) and amount > tensor_size:
        raise ValueError(f"prune: amount={amount} should be smaller than the number to prune from ({tensor_size})")


def _validate_structured_pruning(t: Tensor) -> None:
    """Raise ValueError if the tensor has no slices."""
    if t.ndim < 2:
        raise ValueError(f"prune: structured pruning needs at least 2 dimensions, got shape {tuple(t.shape)}")


def _compute_nparams_toprune(amount: Any, tensor_size: int) -> int:
    """The number of elements to prune, of ``tensor_size``: an integral amount, or so large a part."""
    return amount if isinstance(amount, int) else builtins.round(amount * tensor_size)


def _compute_norm(t: Tensor, n: Any, dim: int) -> Tensor:
    """The norms of order ``n`` of the slices along ``dim``."""
    return weft.norm(t, p=n, dim=[other for other in range(t.ndim) if other != dim % t.ndim])


class Amount(BasePruningMethod):
    """A method that prunes a number of elements or slices, or a part of them."""

    def __init__(self, amount: Any) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def count(self, size: int) -> int:
        """The number to prune, of ``size``.

        Raises
        ------
        ValueError
            If there are not as many.
        """
        _validate_pruning_amount(self.amount, size)
        return _compute_nparams_toprune(self.amount, size)


def without_lowest(scores: Tensor, mask: Tensor, count: int) -> Tensor:
    """A mask in which the elements of the lowest scores are zero, too."""
    found = mask.clone(memory_format=weft.contiguous_format)
    if count:
        found.view(-1)[weft.topk(scores.reshape(-1), count, largest=False).indices] = 0
    return found


class RandomUnstructured(Amount):
    """Prunes elements at random.

    Parameters
    ----------
    amount : int or float
        A number of elements, or a part of them.

    Examples
    --------
    >>> RandomUnstructured(0.5).prune(weft.ones(2, 3)).sum()
    tensor(3.)
    """

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask of before with more zeros."""
        count = self.count(t.numel())
        # PyTorch prunes where the numbers that it draws are the largest.
        return without_lowest(-weft.rand_like(t), default_mask, count) if count else default_mask.clone()


class L1Unstructured(Amount):
    """Prunes the elements of the smallest absolute values.

    Parameters
    ----------
    amount : int or float
        A number of elements, or a part of them.

    Examples
    --------
    >>> L1Unstructured(2).prune(weft.tensor([[1.0, -3.0], [2.0, 0.5]]))
    tensor([[ 0., -3.],
            [ 2.,  0.]])
    """

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask of before with more zeros."""
        return without_lowest(t.abs(), default_mask, self.count(t.numel()))


class Structured(Amount):
    """A method that prunes slices along ``dim``."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def keep(self, t: Tensor, kept: Tensor, default_mask: Tensor) -> Tensor:
        """The mask of before, with zeros in the slices that are not kept."""
        shape = [1] * t.ndim
        shape[self.dim] = -1
        return default_mask * kept.to(default_mask.dtype).reshape(shape)

    def sizes(self, t: Tensor) -> tuple[int, int]:
        """The number of slices, and how many go.

        Raises
        ------
        ValueError
            If the tensor has fewer than two dimensions.
        """
        _validate_structured_pruning(t)
        size = t.shape[self.dim]
        return size, self.count(size)


class RandomStructured(Structured):
    """Prunes slices at random.

    Parameters
    ----------
    amount : int or float
        A number of slices, or a part of them.
    dim : int

    Examples
    --------
    >>> pruned = RandomStructured(1, dim=1).prune(weft.ones(2, 3))
    >>> (pruned == 0).all(0).sum()
    tensor(1)
    """

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask of before with more zeros."""
        size, count = self.sizes(t)
        if not count:
            return default_mask
        drawn = weft.rand(size)
        return self.keep(t, drawn > weft.kthvalue(drawn, count).values, default_mask)


class LnStructured(Structured):
    """Prunes the slices of the smallest norm of order ``n``.

    Parameters
    ----------
    amount : int or float
        A number of slices, or a part of them.
    n : float
        The p of the norm; may be infinity.
    dim : int

    Examples
    --------
    >>> LnStructured(1, n=2, dim=0).prune(weft.tensor([[1.0, -3.0], [2.0, 0.5]]))
    tensor([[ 1., -3.],
            [ 0.,  0.]])
    """

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask of before with more zeros."""
        size, count = self.sizes(t)
        if not count:
            return default_mask
        norms = _compute_norm(t, self.n, self.dim)
        kept = weft.zeros(size, device=t.device)
        kept[weft.topk(norms, size - count).indices] = 1
        return self.keep(t, kept, default_mask)


class CustomFromMask(BasePruningMethod):
    """Prunes by a mask that is given.

    Parameters
    ----------
    mask : Tensor, the shape of the parameter

    Examples
    --------
    >>> CustomFromMask(weft.tensor([[1, 0], [1, 1]])).prune(weft.tensor([[1.0, -3.0], [2.0, 0.5]]))
    tensor([[1.0000, -0.0000],
            [2.0000, 0.5000]])
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the product of both masks."""
        if self.mask.shape != default_mask.shape:
            raise AssertionError(
                f"custom_from_mask: the mask should have the same shape as the parameter: got "
                f"{tuple(self.mask.shape)}, wanted {tuple(default_mask.shape)}"
            )
        return default_mask * self.mask.to(default_mask.dtype)


def identity(module: Module, name: str) -> Module:
    """Give a parameter a mask of ones.

    Parameters
    ----------
    module : Module
    name : str
        Of its parameter.

    Returns
    -------
    Module
        ``module``

    Examples
    --------
    >>> weft.nn.utils.prune.identity(weft.nn.Linear(2, 1), "weight").weight_mask
    tensor([[1., 1.]])
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: float) -> Module:
    """Prune elements of a parameter at random.

    Parameters
    ----------
    module : Module
    name : str
        Of its parameter.
    amount : int or float
        A number of elements, or a part of them.

    Returns
    -------
    Module
        ``module``

    Raises
    ------
    TypeError, ValueError
        If ``amount`` is no number, negative, or more than there are.

    Examples
    --------
    >>> layer = weft.nn.utils.prune.random_unstructured(weft.nn.Linear(10, 10), "weight", amount=0.3)
    >>> (layer.weight == 0).sum()
    tensor(30)
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Module, name: str, amount: float, importance_scores: Tensor | None = None) -> Module:
    """Prune the elements of a parameter whose absolute values (or scores) are the smallest.

    Parameters
    ----------
    module : Module
    name : str
        Of its parameter.
    amount : int or float
        A number of elements, or a part of them.
    importance_scores : Tensor, the shape of the parameter, optional
        Compared instead of it.

    Returns
    -------
    Module
        ``module``

    Raises
    ------
    TypeError, ValueError
        If ``amount`` is no number, negative, or more than there are.

    Examples
    --------
    >>> layer = weft.nn.Linear(3, 1)
    >>> layer.weight.data = weft.tensor([[1.0, -3.0, 0.5]])
    >>> weft.nn.utils.prune.l1_unstructured(layer, "weight", amount=2).weight.detach()
    tensor([[ 0., -3.,  0.]])
    >>> sorted(layer.state_dict())
    ['bias', 'weight_mask', 'weight_orig']
    """
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: float, dim: int) -> Module:
    """Prune slices of a parameter along a dimension at random.

    Parameters
    ----------
    module : Module
    name : str
        Of its parameter.
    amount : int or float
        A number of slices, or a part of them.
    dim : int

    Returns
    -------
    Module
        ``module``

    Raises
    ------
    TypeError, ValueError
        If ``amount`` is no number, negative, or more than there are.

    Examples
    --------
    >>> layer = weft.nn.utils.prune.random_structured(weft.nn.Linear(3, 4), "weight", amount=1, dim=0)
    >>> (layer.weight == 0).all(1).sum()
    tensor(1)
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module, name: str, amount: float, n: Any, dim: int, importance_scores: Tensor | None = None
) -> Module:
    """Prune the slices of a parameter along a dimension whose norm of order ``n`` is the smallest.

    Parameters
    ----------
    module : Module
    name : str
        Of its parameter.
    amount : int or float
        A number of slices, or a part of them.
    n : float
        The p of the norm; may be infinity.
    dim : int
    importance_scores : Tensor, the shape of the parameter, optional
        Compared instead of it.

    Returns
    -------
    Module
        ``module``

    Raises
    ------
    TypeError, ValueError
        If ``amount`` is no number, negative, or more than there are.

    Examples
    --------
    >>> layer = weft.nn.Linear(3, 2)
    >>> layer.weight.data = weft.tensor([[1.0, -3.0, 0.5], [2.0, 1.0, 2.5]])
    >>> weft.nn.utils.prune.ln_structured(layer, "weight", amount=1, n=2, dim=0).weight.detach()
    tensor([[0.0000, -0.0000, 0.0000],
            [2.0000, 1.0000, 2.5000]])
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune a parameter where ``mask`` is zero.

    Parameters
    ----------
    module : Module
    name : str
        Of its parameter.
    mask : Tensor, the shape of the parameter

    Returns
    -------
    Module
        ``module``

    Raises
    ------
    AssertionError
        If the shapes differ.

    Examples
    --------
    >>> layer = weft.nn.Linear(3, 2)
    >>> layer.weight.data = weft.tensor([[1.0, -3.0, 0.5], [2.0, 1.0, 2.5]])
    >>> mask = weft.tensor([[1, 0, 1], [1, 1, 0]])
    >>> weft.nn.utils.prune.custom_from_mask(layer, "weight", mask).weight.detach()
    tensor([[1.0000, -0.0000, 0.5000],
            [2.0000, 1.0000, 0.0000]])
    """
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]], pruning_method: Any, importance_scores: Any = None, **kwargs: Any
) -> None:
    """Prune elements of several parameters, chosen among all of them together.

    Parameters
    ----------
    parameters : iterable of (Module, str)
    pruning_method : class
        `L1Unstructured` or `RandomUnstructured`, say.
    importance_scores : dict from (Module, str) to Tensor, optional
        Default: the parameters themselves.
    **kwargs
        For the method: ``amount``.

    Raises
    ------
    TypeError
        If the method does not choose single elements.

    Examples
    --------
    >>> small, large = weft.nn.Linear(2, 1), weft.nn.Linear(2, 1)
    >>> small.weight.data, large.weight.data = weft.tensor([[0.1, 0.2]]), weft.tensor([[3.0, 4.0]])
    >>> weft.nn.utils.prune.global_unstructured([(small, "weight"), (large, "weight")], L1Unstructured, amount=0.5)
    >>> small.weight_mask, large.weight_mask
    (tensor([[0., 0.]]), tensor([[1., 1.]]))
    """
    chosen = list(parameters)
    given = importance_scores or {}
    scores = [given.get((module, name), getattr(module, name)) for module, name in chosen]
    masks = [getattr(module, name + "_mask", weft.ones_like(getattr(module, name))) for module, name in chosen]
    container = PruningContainer()
    container._tensor_name = "temp"
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            f"global_unstructured: only unstructured pruning methods are supported, got {pruning_method.__name__} "
            f"({method.PRUNING_TYPE})"
        )
    container.add_pruning_method(method)
    flat = weft.cat([each.detach().reshape(-1) for each in scores])
    final = container.compute_mask(flat, weft.cat([each.reshape(-1) for each in masks]))
    start = 0
    for module, name in chosen:
        parameter = getattr(module, name)
        custom_from_mask(module, name, final[start : start + parameter.numel()].view_as(parameter))
        start += parameter.numel()


def remove(module: Module, name: str) -> Module:
    """Make a pruned parameter a parameter again, with the zeros in it.

    Parameters
    ----------
    module : Module
    name : str
        Of its parameter.

    Returns
    -------
    Module
        ``module``

    Raises
    ------
    ValueError
        If it is not pruned.

    Examples
    --------
    >>> layer = weft.nn.utils.prune.identity(weft.nn.Linear(2, 1), "weight")
    >>> sorted(weft.nn.utils.prune.remove(layer, "weight").state_dict())
    ['bias', 'weight']
    """
    method = pop_hook(module, name)
    if method is None:
        raise ValueError(f"prune: Parameter {name!r} of module {module} has to be pruned before pruning can be removed")
    method.remove(module)
    return module


def is_pruned(module: Module) -> bool:
    """Whether a module, or one in it, has a pruned parameter.

    Parameters
    ----------
    module : Module

    Examples
    --------
    >>> layer = weft.nn.Linear(2, 1)
    >>> before = weft.nn.utils.prune.is_pruned(layer)
    >>> before, weft.nn.utils.prune.is_pruned(weft.nn.utils.prune.identity(layer, "weight"))
    (False, True)
    """
    return any(
        isinstance(hook, BasePruningMethod) for each in module.modules() for hook in each._forward_pre_hooks.values()
    )


def pop_hook(module: Module, name: str) -> Any:
    """Take the hook that prunes a parameter away from the module; None if there is none."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            del module._forward_pre_hooks[key]
            return hook
    return None

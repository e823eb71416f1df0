"""Walking a tree of modules: listing, finding by path, applying, printing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar, cast

from weft import Tensor
from weft.nn._module.registry import Registry
from weft.nn.parameter import Parameter

if TYPE_CHECKING:
    from weft.nn.module import Module  # imports this module, and puts its class here

Self = TypeVar("Self", bound="Traversal")


class Traversal(Registry):
    """The parts of a module and of all modules below it."""

    def _replicate_for_data_parallel(self: Self) -> Self:
        """A module of the same kind with no parameters, and tables of its own for buffers and submodules.

        Who computes on several devices puts copies of parameters there that are no leaves.
        """
        replica = object.__new__(type(self))
        vars(replica).update(vars(self))
        vars(replica).update(
            _parameters={}, _buffers=dict(self._buffers), _modules=dict(self._modules), _is_replica=True
        )
        return replica

    # -- listing -----------------------------------------------------------------------------------------------------

    def _named_members(
        self,
        get_members_fn: Callable[[Any], Iterable[tuple[str, Any]]],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        modules: Iterable[tuple[str, Any]] = [(prefix, self)]
        if recurse:
            modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        seen = set()
        for module_prefix, module in modules:
            for name, member in get_members_fn(module):
                if member is None or member in seen:
                    continue
                if remove_duplicate:
                    seen.add(member)
                yield (f"{module_prefix}.{name}" if module_prefix else name), member

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Yield ``(name, parameter)`` of this module and, with ``recurse``, of all below it.

        Parameters
        ----------
        prefix : str
            Put before each name, with a dot.
        recurse : bool
        remove_duplicate : bool
            Whether a parameter that is used in two places comes once, under its first name.

        Examples
        --------
        >>> model = weft.nn.Sequential(weft.nn.Linear(3, 2), weft.nn.BatchNorm1d(2))
        >>> [name for name, _ in model.named_parameters()]
        ['0.weight', '0.bias', '1.weight', '1.bias']
        """
        return self._named_members(lambda module: module._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Yield each parameter once; see `named_parameters`."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Yield ``(name, buffer)`` of this module and, with ``recurse``, of all below it.

        Parameters
        ----------
        prefix : str
            Put before each name, with a dot.
        recurse : bool
        remove_duplicate : bool
            Whether a buffer that is used in two places comes once, under its first name.

        Examples
        --------
        >>> model = weft.nn.Sequential(weft.nn.Linear(3, 2), weft.nn.BatchNorm1d(2))
        >>> [name for name, _ in model.named_buffers()]
        ['1.running_mean', '1.running_var', '1.num_batches_tracked']
        """
        return self._named_members(lambda module: module._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Yield each buffer once; see `named_buffers`."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Yield ``(name, module)`` of the direct submodules, each once."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """Yield the direct submodules, each once."""
        for _, module in self.named_children():
            yield module

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Yield ``(path, module)``: this one first (under ``prefix``), then all below it, depth first.

        Parameters
        ----------
        memo : set of Module, optional
            Those seen already, which are left out; filled while walking.
        prefix : str
            Put before each path, with a dot.
        remove_duplicate : bool
            Whether a module that is used in two places comes once, under its first path.

        Examples
        --------
        >>> model = weft.nn.Sequential(weft.nn.Linear(3, 2), weft.nn.ReLU())
        >>> [(path, type(module).__name__) for path, module in model.named_modules()]
        [('', 'Sequential'), ('0', 'Linear'), ('1', 'ReLU')]
        """
        memo = set() if memo is None else memo
        this = cast("Module", self)
        if this in memo:
            return
        if remove_duplicate:
            memo.add(this)
        yield prefix, this
        for name, module in self._modules.items():
            if module is not None:
                path = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(memo, path, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """Yield this module and all below it, depth first."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    # -- finding by path ---------------------------------------------------------------------------------------------

    def get_submodule(self, target: str) -> Module:
        """Return the module at the path ``target``, such as ``"encoder.layers.0"``; ``""`` is this module.

        Raises
        ------
        AttributeError
            If a step of the path does not exist, or is not a module.
        """
        module = cast("Module", self)
        for step in target.split(".") if target else ():
            if not hasattr(module, step):
                raise AttributeError(
                    f"get_submodule: {module._get_name()} has no attribute `{step}` (path '{target}'); "
                    f"its submodules are {list(module._modules)}"
                )
            module = getattr(module, step)
            if not isinstance(module, Traversal):
                raise AttributeError(
                    f"get_submodule: `{step}` is not an nn.Module but {type(module).__name__} (path '{target}')"
                )
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put ``module`` at the path ``target``, replacing what is there.

        Parameters
        ----------
        target : str
            The module's path; all but its last step must exist.
        module : Module
        strict : bool
            Whether the last step must exist, too.

        Raises
        ------
        ValueError
            If ``target`` is empty, or ``module`` is not a Module.
        AttributeError
            If a step of the path does not exist, or is not a module.

        Examples
        --------
        >>> model = weft.nn.Sequential(weft.nn.Sequential(weft.nn.ReLU()))
        >>> model.set_submodule("0.0", weft.nn.GELU())
        >>> model.get_submodule("0.0")
        GELU(approximate='none')
        """
        if target == "":
            raise ValueError("set_submodule: the target is empty; a module cannot replace itself, name a submodule")
        if not isinstance(module, Traversal):
            raise ValueError(f"set_submodule: `module` is not an nn.Module, found {type(module)}")
        parent_path, _, name = target.rpartition(".")
        parent = self.get_submodule(parent_path)
        if strict and not hasattr(parent, name):
            raise AttributeError(
                f"set_submodule: {parent._get_name()} has no attribute `{name}` (path '{target}'); "
                "strict=False adds a new submodule"
            )
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Traversal):
            raise AttributeError(f"set_submodule: `{name}` is not an nn.Module (path '{target}')")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """Return the parameter at the path ``target``, such as ``"encoder.layers.0.linear1.weight"``.

        Raises
        ------
        AttributeError
            If a step of the path does not exist, or the last is not a parameter.
        """
        owner, name = self._owner_of(target, "get_parameter")
        parameter = getattr(owner, name)
        if not isinstance(parameter, Parameter):
            raise AttributeError(f"get_parameter: `{name}` is not an nn.Parameter but {type(parameter).__name__}")
        return parameter

    def get_buffer(self, target: str) -> Tensor:
        """Return the buffer at the path ``target``.

        Raises
        ------
        AttributeError
            If a step of the path does not exist, or the last is not a buffer.
        """
        owner, name = self._owner_of(target, "get_buffer")
        if name not in owner._buffers:
            raise AttributeError(
                f"get_buffer: `{name}` is not a buffer; {owner._get_name()} has {list(owner._buffers)}"
            )
        return cast(Tensor, owner._buffers[name])

    def _owner_of(self, target: str, caller: str) -> tuple[Module, str]:
        module_path, _, name = target.rpartition(".")
        owner = self.get_submodule(module_path)
        if not hasattr(owner, name):
            raise AttributeError(f"{caller}: {owner._get_name()} has no attribute `{name}` (path '{target}')")
        return owner, name

    # -- applying ----------------------------------------------------------------------------------------------------

    def apply(self: Self, fn: Callable[[Module], None]) -> Self:
        """Call ``fn`` on each module below and then on this one; return self. The usual use is initialization.

        Examples
        --------
        >>> def fill(module):
        ...     if isinstance(module, weft.nn.Linear):
        ...         module.weight.data.fill_(1.0)
        >>> weft.nn.Sequential(weft.nn.Linear(2, 2)).apply(fill)[0].weight.sum().item()
        4.0
        """
        for module in self.children():
            module.apply(fn)
        fn(cast("Module", self))
        return self

    def train(self: Self, mode: bool = True) -> Self:
        """Set training mode here and in all modules below; dropout and batch norm behave differently in it.

        Raises
        ------
        ValueError
            If ``mode`` is not a bool.
        """
        if not isinstance(mode, bool):
            raise ValueError(f"train: training mode is expected to be boolean, got {mode!r}")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self: Self) -> Self:
        """Set evaluation mode: the same as ``train(False)``."""
        return self.train(False)

    def requires_grad_(self: Self, requires_grad: bool = True) -> Self:
        """Set whether the parameters take gradients, in place; ``False`` freezes the module."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or fill them with zeros.

        Parameters
        ----------
        set_to_none : bool
            Whether ``grad`` becomes None (which frees its memory) rather than zeros.
        """
        for parameter in self.parameters():
            if parameter.grad is None:
                continue
            if set_to_none:
                parameter.grad = None
                continue
            if parameter.grad.grad_fn is not None:
                parameter.grad.detach_()
            else:
                parameter.grad.requires_grad_(False)
            parameter.grad.zero_()

    # -- printing ----------------------------------------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """Return what `repr` shows between the parentheses; override it in your modules. May have several lines."""
        return ""

    def __repr__(self) -> str:
        lines = self.extra_repr().split("\n") if self.extra_repr() else []
        if lines and not self._modules:
            if len(lines) == 1:
                return f"{self._get_name()}({lines[0]})"
        for name, module in self._modules.items():
            lines.append(f"({name}): {_indented(repr(module))}")
        if not lines:
            return f"{self._get_name()}()"
        return "\n  ".join([f"{self._get_name()}(", *lines]) + "\n)"


def _indented(text: str) -> str:
    """Indent all lines but the first by two spaces."""
    return text.replace("\n", "\n  ")

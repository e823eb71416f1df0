"""Counting floating-point operations: of matrix products, convolutions and attention, by module."""

from __future__ import annotations

import math
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from weft import Tensor, ops
from weft.library.kernels import wrap_kernels
from weft.library.state import local
from weft.nn import Module
from weft.nn._module.hooks import register_module_forward_hook, register_module_forward_pre_hook

__all__ = ["FlopCounterMode", "flop_registry", "register_flop_formula"]

Count = tuple[str, int]  # the name that PyTorch's dispatcher has for the op, and the operations

flop_registry: dict[str, Callable[..., Count]] = {}
"""From an op's name (``"nn::conv2d"``) to its formula: of the arrays that its kernel gets and of its result."""


def register_flop_formula(targets: str | list[str]) -> Callable[[Callable[..., Count]], Callable[..., Count]]:
    """Decorator: the formula for the ops of these names.

    Parameters
    ----------
    targets : str or list of str
        As in ``"nn::conv2d"``; ``weft.library`` gives ops of one's own such names. The formula is called with what the
        kernel is called with, and ``result=``, and returns a name to count under and a number.
    """

    def register(formula: Callable[..., Count]) -> Callable[..., Count]:
        for target in [targets] if isinstance(targets, str) else targets:
            flop_registry[target] = formula
        return formula

    return register


@register_flop_formula("core::matmul")
def matmul_flop(input: Any, other: Any, *_: Any, result: Any = None) -> Count:
    """Twice m n k for each product of an (m, k) and a (k, n) matrix; with a vector none, as PyTorch counts."""
    if other.ndim < 2 or input.ndim < 1:
        return "mv", 0
    count = 2 * math.prod(result.shape) * input.shape[-1]
    return "mm" if input.ndim <= 2 or other.ndim == 2 else "bmm", count


@register_flop_formula("core::addmm")
def addmm_flop(input: Any, mat1: Any, mat2: Any, *_: Any, result: Any = None) -> Count:
    """As for the product alone."""
    return "addmm" if mat1.ndim == 2 else "baddbmm", 2 * math.prod(result.shape) * mat1.shape[-1]


@register_flop_formula("nn::linear")
def linear_flop(input: Any, weight: Any, bias: Any = None, *_: Any, result: Any = None) -> Count:
    """As for the product alone."""
    return "mm" if bias is None else "addmm", 2 * math.prod(input.shape) * weight.shape[0]


@register_flop_formula([f"nn::conv{n}d" for n in (1, 2, 3)])
def conv_flop(input: Any, weight: Any, *_: Any, result: Any = None) -> Count:
    """Twice the elements of the filter for each place of each output."""
    return _convolution(), 2 * result.shape[0] * math.prod(result.shape[2:]) * weight.size


@register_flop_formula([f"nn::conv{n}d_input_gradient" for n in (1, 2, 3)])
def conv_input_gradient_flop(output_grad: Any, weight: Any, *_: Any, result: Any = None) -> Count:
    """Forward, it is a transposed convolution."""
    return _convolution(), 2 * output_grad.shape[0] * math.prod(output_grad.shape[2:]) * weight.size


@register_flop_formula([f"nn::conv{n}d_weight_gradient" for n in (1, 2, 3)])
def conv_weight_gradient_flop(output_grad: Any, input: Any, *_: Any, result: Any = None) -> Count:
    """As PyTorch counts, which takes all channels of the input also where there are groups."""
    kernel = math.prod(result.shape[2:])
    return _convolution(), 2 * kernel * math.prod(output_grad.shape) * input.shape[1]


@register_flop_formula("nn::attention")
def attention_flop(query: Any, key: Any, value: Any, *_: Any, result: Any = None) -> Count:
    """Two matrix products: the scores, and the weighted values; masks save nothing."""
    return "_scaled_dot_product_flash_attention", _attention_products(query, key, query, value)


@register_flop_formula("nn::attention_gradient")
def attention_gradient_flop(output_grad: Any, query: Any, key: Any, value: Any, *_: Any, result: Any = None) -> Count:
    """Five: the scores again, and the gradients of scores, values, queries and keys."""
    count = _attention_products(query, key, query, query, query, value, value)
    return "_scaled_dot_product_flash_attention_backward", count


@register_flop_formula("nn::lstm_layer")
def lstm_flop(input: Any, h: Any, c: Any, weight_ih: Any, weight_hh: Any, *_: Any, result: Any = None) -> Count:
    """Two products for each row: of the input and of the state before it."""
    return "addmm", 2 * input.shape[0] * (weight_ih.size + weight_hh.size)


@register_flop_formula(["nn::gru_layer", "nn::rnn_layer"])
def gru_flop(input: Any, h: Any, weight_ih: Any, weight_hh: Any, *_: Any, result: Any = None) -> Count:
    """As for an LSTM, of fewer gates."""
    return "addmm", 2 * input.shape[0] * (weight_ih.size + weight_hh.size)


@register_flop_formula([f"nn::{name}_layer_gradient" for name in ("lstm", "gru", "rnn")])
def recurrent_gradient_flop(input: Any, weight_ih: Any, weight_hh: Any, *args: Any, result: Any = None) -> Count:
    """The gradients of the state and of both weights, and of the input where it is asked for."""
    return "mm", 2 * input.shape[0] * (2 * weight_hh.size + (2 if args[-1][0] else 1) * weight_ih.size)


def _attention_products(query: Any, key: Any, *factors: Any) -> int:
    """FLOPs of products of the sizes of queries and keys and the widths of factors."""
    return 2 * math.prod(query.shape[:-1]) * key.shape[-2] * sum(each.shape[-1] for each in factors)


def _convolution() -> str:
    return "convolution" if local.backward_pass is None else "convolution_backward"


class FlopCounterMode:
    """Context manager that counts the operations of its block, forward and backward.

    Counted are matrix products and convolutions, each multiplication with its addition as two; the same numbers as
    PyTorch's, which has none for the elementwise rest. Attention is counted by the products that it is made of.

    Parameters
    ----------
    mods : Module or list of Module, optional
        Not needed: modules are found by their calls.
    depth : int
        How many levels of modules the table shows.
    display : bool
        Print the table at the end.
    custom_mapping : dict, optional
        Formulas for this counter alone, in place of `flop_registry`'s.

    Examples
    --------
    >>> from weft.utils.flop_counter import FlopCounterMode
    >>> with FlopCounterMode(display=False) as counter:
    ...     loss = weft.nn.Linear(3, 4)(weft.ones(2, 3)).sum()
    ...     loss.backward()
    >>> counter.get_total_flops()
    96
    """

    def __init__(
        self,
        mods: Module | list[Module] | None = None,
        depth: int = 2,
        display: bool = True,
        custom_mapping: dict[str, Callable[..., Count]] | None = None,
    ) -> None:
        self.depth = depth
        self.display = display
        self.formulas = {**flop_registry, **(custom_mapping or {})}
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self._names: dict[int, tuple[str, Any]] = {}  # of modules, with the module so that its id stays its own
        self._stack: list[str] = []  # of modules that are being called
        self._chain: tuple[str, ...] = ()  # of the module that backward is in
        self._seen: dict[int, Any] = {}  # weak references to tensors whose gradients tell where backward is
        self._undo: list[Callable[[], None]] = []
        self._active = False

    def get_total_flops(self) -> int:
        """The operations of the block so far."""
        return sum(self.flop_counts["Global"].values()) if "Global" in self.flop_counts else 0

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """The operations of each module, by op: ``{"Net.conv1": {aten.convolution: 1000}, "Global": {...}}``."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """The modules and their ops as lines of text.

        Parameters
        ----------
        depth : int, optional
            In place of the constructor's.
        """
        total = self.get_total_flops()
        rows = [("Module", "FLOP", "% Total")]
        for name in ["Global", *sorted(name for name in self.flop_counts if name != "Global")]:
            level = 0 if name == "Global" else name.count(".") + 1
            if level > (self.depth if depth is None else depth) or name not in self.flop_counts:
                continue
            counts = self.flop_counts[name]
            rows.append((" " * level + name, *_amount(sum(counts.values()), total)))
            rows += [(f"{' ' * level} - {op}", *_amount(count, total)) for op, count in counts.items()]
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        lines = [f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}".rstrip() for a, b, c in rows]
        return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self._active = True
        enter = register_module_forward_pre_hook(self._enter_module)
        leave = register_module_forward_hook(self._leave_module, always_call=True)
        self._undo += [enter.remove, leave.remove]
        self._undo += wrap_kernels(self.formulas, self._counting)
        return self

    def __exit__(self, *exc: object) -> None:
        self._active = False
        for undo in reversed(self._undo):
            undo()
        self._undo.clear()
        self._stack.clear()
        self._names.clear()
        self._seen.clear()
        if self.display:
            print(self.get_table())

    # Kernels

    def _counting(self, name: str, kernel: Any) -> Any:
        """A kernel whose operations are counted, too."""
        formula = self.formulas[name]

        def counting(*args: Any, **options: Any) -> Any:
            result = kernel(*args, **options)
            if self._active:
                self._add(*formula(*args, result=result))
            return result

        return counting

    def _add(self, name: str, count: int) -> None:
        if count == 0:
            return
        op = getattr(ops.aten, name, f"aten.{name}")
        chain = self._chain if local.backward_pass is not None else self._stack
        for module in {"Global": None, **dict.fromkeys(chain)}:
            self.flop_counts[module][op] += count

    # Modules

    def _enter_module(self, module: Any, args: Any) -> None:
        if id(module) not in self._names:
            root = type(module).__name__
            for name, each in module.named_modules():
                self._names.setdefault(id(each), (f"{root}.{name}" if name else root, each))
        parents = tuple(self._stack)
        self._stack.append(self._names[id(module)][0])
        for tensor in _tensors(args):
            if tensor.requires_grad and local.grad_enabled:
                self._on_gradient(tensor, parents)  # backward leaves the module

    def _leave_module(self, module: Any, args: Any, output: Any) -> None:
        if not self._stack:
            return
        chain = tuple(self._stack)
        self._stack.pop()
        for tensor in _tensors((output,)):
            if tensor.requires_grad and not tensor.is_leaf:
                self._on_gradient(tensor, chain)

    def _on_gradient(self, tensor: Any, chain: tuple[str, ...]) -> None:
        """Have backward be in these modules from where the tensor's gradient arrives, unless that is known already.

        What is the output of a module and the input of the next, or of the one around it, was seen first as what it is.
        """
        known = self._seen.get(id(tensor))
        if known is not None and known() is tensor:
            return

        def arrive(grad: Any) -> None:
            self._chain = chain

        self._seen[id(tensor)] = weakref.ref(tensor)
        self._undo.append(tensor.register_hook(arrive).remove)


def _tensors(values: Any) -> Iterator[Any]:
    for value in values.values() if isinstance(values, dict) else values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (tuple, list, dict)):
            yield from _tensors(value)


def _amount(count: int, total: int) -> tuple[str, str]:
    power = min((max(len(str(count)) - 1, 0)) // 3, 5)
    text = f"{count / 1000**power:.3f}{['', 'K', 'M', 'B', 'T', 'Q'][power]}" if power else str(count)
    return text, f"{100 * count / total:.2f}%" if total else "-"

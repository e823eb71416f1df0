"""Counting floating-point operations: of matrix products, convolutions and attention, by module."""

from __future__ import annotations

import functools
import math
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from weft import Tensor, ops
from weft.library.state import local
from weft.nn import Module
from weft.nn._module.hooks import register_module_forward_hook, register_module_forward_pre_hook
from weft.utils._python_dispatch import TorchDispatchMode
from weft.utils._pytree import tree_map

__all__ = ["FlopCounterMode", "flop_registry", "register_flop_formula"]

Formula = Callable[..., int]

aten = ops.aten
flop_registry: dict[Any, Formula] = {}
"""From an operator (``weft.ops.aten.mm``) to its formula, which gets its arguments, and its result as ``out_val``."""


def of_shapes(formula: Formula) -> Formula:
    """A formula of arguments, from one of their shapes."""

    @functools.wraps(formula)
    def wrapped(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        args, kwargs, shape = tree_map(shape_of, (args, kwargs, out_val))
        return formula(*args, out_shape=shape, **kwargs)

    return wrapped


def shape_of(value: Any) -> Any:
    """A tensor's shape; other values as they are."""
    return value.shape if isinstance(value, Tensor) else value


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[Formula], Formula]:
    """Decorator: the formula for operators.

    Parameters
    ----------
    targets : OpOverloadPacket or list of them
        As ``weft.ops.aten.mm``. The formula is called with the operator's arguments, shapes in place of tensors, and
        with ``out_shape``.
    get_raw : bool
        It gets the tensors themselves, and ``out_val``.
    """

    def register(formula: Formula) -> Formula:
        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            flop_registry[target] = formula if get_raw else of_shapes(formula)
        formula._get_raw = get_raw  # type: ignore[attr-defined]
        return formula

    return register


@register_flop_formula(aten.mm)
def mm_flop(a: Any, b: Any, *_: Any, out_shape: Any = None, **options: Any) -> int:
    """Twice m n k for the product of an (m, k) and a (k, n) matrix."""
    return 2 * math.prod(a) * b[-1]


@register_flop_formula(aten.addmm)
def addmm_flop(input: Any, a: Any, b: Any, *_: Any, out_shape: Any = None, **options: Any) -> int:
    """As for the product alone."""
    return mm_flop(a, b)


@register_flop_formula(aten.bmm)
def bmm_flop(a: Any, b: Any, *_: Any, out_shape: Any = None, **options: Any) -> int:
    """As for a product of matrices, for each of the batch."""
    return 2 * math.prod(a) * b[-1]


@register_flop_formula(aten.baddbmm)
def baddbmm_flop(input: Any, a: Any, b: Any, *_: Any, out_shape: Any = None, **options: Any) -> int:
    """As for the products alone."""
    return bmm_flop(a, b)


@register_flop_formula(aten.convolution)
def conv_flop(
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    *_: Any,
    out_shape: Any = None,
    **options: Any,
) -> int:
    """Twice the elements of the filter for each place of each output; of each input, where it is transposed."""
    places = input if transposed else out_shape
    return 2 * places[0] * math.prod(places[2:]) * math.prod(weight)


@register_flop_formula(aten.convolution_backward)
def conv_backward_flop(
    output_grad: Any,
    input: Any,
    weight: Any,
    bias_sizes: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    output_mask: Any,
    out_shape: Any = None,
    **options: Any,
) -> int:
    """The gradient of the input is a transposed convolution; that of the weights takes all channels, as PyTorch counts.

    Where there are groups as well.
    """
    count = 0
    if output_mask[0]:
        count += 2 * output_grad[0] * math.prod(output_grad[2:]) * math.prod(weight)
    if output_mask[1]:
        count += 2 * math.prod(weight[2:]) * math.prod(output_grad) * input[1]
    return count


@register_flop_formula(aten._scaled_dot_product_flash_attention_for_cpu)
def attention_flop(query: Any, key: Any, value: Any, *_: Any, out_shape: Any = None, **options: Any) -> int:
    """Two matrix products: the scores, and the weighted values; masks save nothing."""
    return _attention_products(query, key, query, value)


def attention_gradient_flop(grad: Any, query: Any, key: Any, value: Any, *_: Any) -> tuple[str, int]:
    """Five: the scores again, and the gradients of scores, values, queries and keys."""
    count = _attention_products(query, key, query, query, query, value, value)
    return "_scaled_dot_product_flash_attention_for_cpu_backward", count


def lstm_flop(input: Any, h: Any, c: Any, weight_ih: Any, weight_hh: Any, *_: Any) -> tuple[str, int]:
    """Two products for each row: of the input and of the state before it."""
    return "addmm", 2 * input[0] * (math.prod(weight_ih) + math.prod(weight_hh))


def gru_flop(input: Any, h: Any, weight_ih: Any, weight_hh: Any, *_: Any) -> tuple[str, int]:
    """As for an LSTM, of fewer gates."""
    return "addmm", 2 * input[0] * (math.prod(weight_ih) + math.prod(weight_hh))


def recurrent_gradient_flop(input: Any, weight_ih: Any, weight_hh: Any, *args: Any) -> tuple[str, int]:
    """The gradients of the state and of both weights, and of the input where it is asked for."""
    inputs = (2 if args[-1][0] else 1) * math.prod(weight_ih)
    return "mm", 2 * input[0] * (2 * math.prod(weight_hh) + inputs)


# Ops that are shown under names of weft's own: what PyTorch counts them under, and how many.
OWN: dict[str, Callable[..., tuple[str, int]]] = {
    "nn.attention": lambda *args: ("_scaled_dot_product_flash_attention_for_cpu", attention_flop(*args)),
    "nn.attention_gradient": attention_gradient_flop,
    "nn.lstm_layer": lstm_flop,
    "nn.gru_layer": gru_flop,
    "nn.rnn_layer": gru_flop,
    **{f"nn.{name}_layer_gradient": recurrent_gradient_flop for name in ("lstm", "gru", "rnn")},
}


def _attention_products(query: Any, key: Any, *factors: Any) -> int:
    """FLOPs of products of the sizes of queries and keys and the widths of factors."""
    return 2 * math.prod(query[:-1]) * key[-2] * sum(each[-1] for each in factors)


class FlopCounterMode(TorchDispatchMode):
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
        Formulas for this counter alone, beside `flop_registry`'s: from an operator to a function of shapes, see
        `register_flop_formula`.

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
        custom_mapping: dict[Any, Formula] | None = None,
    ) -> None:
        super().__init__()
        self.depth = depth
        self.display = display
        own = {
            packet: formula if getattr(formula, "_get_raw", False) else of_shapes(formula)
            for packet, formula in (custom_mapping or {}).items()
        }
        self.flop_registry = {**flop_registry, **own}
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self._names: dict[int, tuple[str, Any]] = {}  # of modules, with the module so that its id stays its own
        self._stack: list[str] = []  # of modules that are being called
        self._chain: tuple[str, ...] = ()  # of the module that backward is in
        self._seen: dict[int, Any] = {}  # weak references to tensors whose gradients tell where backward is
        self._undo: list[Callable[[], None]] = []

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
        enter = register_module_forward_pre_hook(self._enter_module)
        leave = register_module_forward_hook(self._leave_module, always_call=True)
        self._undo += [enter.remove, leave.remove]
        super().__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        for undo in reversed(self._undo):
            undo()
        self._undo.clear()
        self._stack.clear()
        self._names.clear()
        self._seen.clear()
        if self.display:
            print(self.get_table())

    # Operators

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Count an operator that runs."""
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        packet = func.overloadpacket
        formula = self.flop_registry.get(packet)
        if formula is not None:
            count = formula(*args, **kwargs, out_val=result)
            backward = packet is aten.convolution and local.backward_pass is not None
            self._add(aten.convolution_backward if backward else packet, count)
        elif str(packet) in OWN:
            name, count = OWN[str(packet)](*tree_map(shape_of, args))
            self._add(getattr(aten, name, f"aten.{name}"), count)
        return result

    def _add(self, op: Any, count: int) -> None:
        if count == 0:
            return
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

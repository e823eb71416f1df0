"""From recordings to a graph: what is the same in all of them is a constant, what differs a size."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy

import weft
from weft.export._operators import sym_size
from weft.export._recording import Call, Constant, Recording, Slot, slots_in
from weft.export._size_guards import (
    OPERATORS,
    Formula,
    Guard,
    Leaf,
    formula_leaves,
    formula_of_size,
    solved,
    value_of,
)
from weft.export._sizes import Repeated, Size, Solver, line_through
from weft.export.errors import UserError
from weft.fx import Graph, Node

__all__ = ["ARITHMETIC", "GraphMaker", "Tensor", "check_same_calls"]

ARITHMETIC = {name: OPERATORS[name] for name in "add sub mul floordiv min max".split()}
"""What a graph computes sizes by, by name."""
PLAIN = (bool, float, complex, str, type(None), type(...), weft.dtype, weft.device, weft.layout, weft.memory_format)


class Tensor(NamedTuple):
    """What is known of a node's value: ``node.meta["val"]``.

    Attributes
    ----------
    shape : tuple of int and Size
    dtype : weft.dtype
    """

    shape: tuple[Any, ...]
    dtype: Any


def check_same_calls(recordings: Sequence[Recording]) -> None:
    """All recordings are of the same ops.

    Raises
    ------
    UserError
        If they are not, with the first difference.
    """
    first, *others = recordings
    for other in others:
        for one, two in zip(first.calls, other.calls):
            if one.target is not two.target:
                raise UserError(
                    "export: the program does other things with inputs of other sizes, or a second time: "
                    f"{one.target.name} at {one.line}, then {two.target.name} at {two.line}"
                )
        if len(first.calls) != len(other.calls):
            counts = len(first.calls), len(other.calls)
            call = max(first.calls, other.calls, key=len)[min(counts)]
            raise UserError(
                f"export: the program runs {counts[0]} ops, and {counts[1]} with inputs of other sizes, or a second "
                "time: a loop over a size, a branch on one, or a state that is no tensor. The first that is not in "
                f"both is {call.target.name} at {call.line}"
            )


class GraphMaker:
    """Writes the graph of some recordings, which are of the same ops.

    Attributes
    ----------
    graph : Graph
    solver : Solver
    nodes : dict
        From a slot's number to its node.
    constants : dict
        From the name of a placeholder to a tensor that the program made of Python's numbers.
    """

    def __init__(self, recordings: Sequence[Recording], solver: Solver) -> None:
        self.recordings = recordings
        self.first = recordings[0]
        self.solver = solver
        self.graph = Graph()
        self.nodes: dict[int, Node] = {}
        self.origins: dict[str, tuple[Node, int, int, int]] = {}  # where a symbol's size is: node, dim, factor, plus
        self.symbols: dict[str, Node] = {}
        self.products: dict[Any, Node] = {}
        self.computed: dict[Formula, Node] = {}  # smallest and largest sizes, by their formulas
        self.formulas: dict[str, Callable[[], Formula]] = {}  # of symbols that are computed: of quotients, and of these
        self.constants: dict[str, Any] = {}
        self.state: Node | None = None  # the last placeholder before those of the user's inputs
        self.selected: set[str] = set()  # symbols of sizes that values say
        self.line = ""  # the op that is being written, and its line
        self.near: list[str] = []  # symbols in the shapes of what the call that is being written takes
        self.sources: dict[str, list[str]] = {}  # the same of the call that a symbol's size is of the result of

    def placeholder(self, name: str, slot: int) -> Node:
        """An input of the graph, for a value that was there before."""
        node = self.graph.placeholder(name)
        node.meta["val"] = self.known(slot)
        self.nodes[slot] = node
        return node

    def known(self, slot: int) -> Tensor:
        """The shape and dtype of a value."""
        kinds = [each.kinds[slot] for each in self.recordings]
        shape = [self.solver.of_inputs(sizes) for sizes in zip(*(each.shape for each in kinds))]
        return Tensor(tuple(shape), kinds[0].dtype)

    # Calls

    def call(self, calls: Sequence[Call]) -> None:
        """Write one call, as the recordings have it."""
        first = calls[0]
        if isinstance(first.args.get("data"), Constant):
            self.lift([call.args["data"].tensor for call in calls], first)
            return
        self.line = f"{first.target.name} at {first.line}"
        self.near = self.symbols_near(first)
        kwargs = {name: self.same([call.args[name] for call in calls], name) for name in first.args}
        node = self.graph.call_function(first.target, (), kwargs, name=first.target.__name__)
        node.meta["line"] = first.line
        if isinstance(first.result, Slot):
            node.meta["val"] = self.result(node, first.result.number)
            return
        node.meta["val"] = ()
        for index, slot in enumerate(first.result):
            part = self.graph.call_function(operator.getitem, (node, index), name=f"{node.name}_{index}")
            part.meta["line"] = first.line
            part.meta["val"] = self.result(part, slot.number)
            node.meta["val"] = (*node.meta["val"], part.meta["val"])

    def symbols_near(self, call: Call) -> list[str]:
        """The symbols in the shapes of a call's tensors."""
        shapes = [self.nodes[each.number].meta["val"].shape for each in slots_in(call.args)]
        return [name for shape in shapes for size in shape if isinstance(size, Size) for name in size.symbols]

    def result(self, node: Node, slot: int) -> Tensor:
        """What is known of a result; sizes that are no polynomial in those of the inputs get symbols."""
        self.nodes[slot] = node
        kinds = [each.kinds[slot] for each in self.recordings]
        shape = []
        for dim, sizes in enumerate(zip(*(each.shape for each in kinds))):
            is_selected = dim == 0 and Slot(slot) in self.first.selections
            found = None if is_selected else self.solver.of_result(sizes)
            if found is None:
                name = f"{'u' if is_selected else 's'}{len(self.solver.inner)}"
                if is_selected:
                    self.selected.add(name)
                self.solver.inner[name] = sizes
                self.origins[name] = node, dim, 1, 0
                self.sources[name] = self.near
                found = Size({(name,): 1}, sizes[0])
            shape.append(found)
        return Tensor(tuple(shape), kinds[0].dtype)

    def lift(self, tensors: Sequence[Any], call: Call) -> None:
        """Make a tensor of Python's numbers an input of the graph."""
        if any(not numpy.array_equal(tensors[0].numpy(), each.numpy()) for each in tensors):
            raise UserError(
                f"export: {call.target.name} at {call.line}: a tensor of numbers that depend on the inputs' sizes, or "
                "are others each time. Make it with ops: weft.arange, weft.full, weft.stack"
            )
        name = f"c_lifted_tensor_{len(self.constants)}"
        place = self.graph.inserting_after(self.state) if self.state else self.graph.inserting_before()
        with place:
            self.state = self.placeholder(name, call.result.number)
        self.constants[name] = tensors[0]

    # Arguments

    def same(self, values: Sequence[Any], name: str) -> Any:
        """An argument of the graph's, from what it was in each recording."""
        first = values[0]
        if any(type(each) is not type(first) for each in values):
            raise UserError(f"export: {self.line}: its argument {name} is {first!r}, then {values[-1]!r}")
        if isinstance(first, Slot):
            if any(each != first for each in values):
                raise UserError(f"export: {self.line}: its argument {name} is another tensor with other sizes")
            return self.nodes[first.number]
        if isinstance(first, (list, tuple)):
            return self.same_list(values, name)
        if isinstance(first, slice):
            return slice(*(self.same([getattr(each, at) for each in values], name) for at in ("start", "stop", "step")))
        if type(first) is int:
            return self.number(values, name)
        if type(first) is float and len(set(values)) > 1 and all(each.is_integer() for each in values):
            return self.number([int(each) for each in values], name)  # a mean is divided by a size
        if not isinstance(first, PLAIN):
            kind = type(first).__name__
            raise UserError(f"export: {self.line}: its argument {name} is a {kind}, which no graph holds")
        if any(each != first and each == each for each in values):
            raise UserError(
                f"export: {self.line}: its argument {name} is {first!r}, then {values[-1]!r} with inputs of other "
                "sizes, or a second time. Only whole numbers may depend on sizes: compute others with tensors"
            )
        return first

    def same_list(self, values: Sequence[Any], name: str) -> Any:
        lengths = [len(each) for each in values]
        if len(set(lengths)) == 1:
            found = [self.same(each, name) for each in zip(*values)]
            return found if isinstance(values[0], list) else tuple(found)
        if not all(type(one) is int and one == each[0] for each in values for one in each):
            raise UserError(f"export: {self.line}: its argument {name} has {lengths[0]} entries, then {lengths[-1]}")
        value, count = self.number([each[0] for each in values], name), self.number(lengths, name)
        node = self.graph.call_function(operator.mul, ([value], count), name="repeated")
        node.meta["val"] = Repeated(*(each.meta["val"] if isinstance(each, Node) else each for each in (value, count)))
        return node

    def number(self, values: Sequence[int], name: str) -> Any:
        """A whole number, or the node that computes it of sizes."""
        found = self.solver.of_argument(values, self.near)
        if found is None and self.add_extreme(values):
            found = self.solver.of_argument(values, self.near)
        if found is None:
            found = self.quotient(values)
        if found is None:
            found = self.solver.of_sums(values, self.near)
        if found is None:
            raise UserError(
                f"export: {self.line}: its argument {name} is {', then '.join(map(str, values))} with inputs of other "
                "sizes; no sum or product of sizes is that"
            )
        return self.size_node(found) if isinstance(found, Size) else found

    def formula(self, leaf: Leaf) -> Formula:
        """The size of a value's dimension, in symbols of the inputs.

        Raises
        ------
        UserError
            If it is no sum, product or quotient of them.
        """
        size = self.nodes[leaf.slot].meta["val"].shape[leaf.dim]
        return formula_of_size(size, self.formula_of_symbol)

    def own_formula(self, leaf: Leaf) -> Formula:
        """The same in the symbols that the value's shape has."""
        return formula_of_size(self.nodes[leaf.slot].meta["val"].shape[leaf.dim])

    def formula_of_symbol(self, name: str) -> Formula:
        """The same of a symbol: of the sizes of what the op took whose result has it."""
        if name in self.solver.inputs or name in self.selected:
            return name
        if name in self.formulas:
            return self.formulas[name]()
        found = self.solver.quotient(self.solver.inner[name], self.sources[name])
        if found is None or found[0] == name:
            node, dim, *_ = self.origins[name]
            raise UserError(
                f"export: the program compares {name}, which is size {dim} of {node.name} at {node.meta['line']}: no "
                "sum, product or quotient of the inputs' sizes, of which it could be said for which the comparison "
                "comes out the same. Compare sizes of the inputs"
            )
        return self.quotient_formula(found)

    def check_guard(self, guard: Guard) -> None:
        """No guard is on how many rows values select, which is not known before the program runs.

        Raises
        ------
        UserError
            If it is.
        """
        name = next((each for each in guard.symbols if each in self.selected), None)
        if name is not None:
            node = self.origins[name][0]
            raise UserError(
                f"export: {guard.line} compares how many rows {node.name} at {node.meta['line']} has, which depends on "
                f"values ({guard}): the other branch is not in the graph. Write it so that no rows are no special case"
            )

    def quotient(self, values: Sequence[int]) -> Size | None:
        """A quotient of a size, as a symbol of its own; None if there is none."""
        made = self.solver.quotient(values, self.near)
        if made is None:
            return None
        name, start, divisor = made
        node = self.symbol(name)
        node = self.arithmetic(operator.add, node, start) if start else node
        symbol = f"s{len(self.solver.inner)}"
        self.solver.inner[symbol] = tuple(values)
        self.symbols[symbol] = self.arithmetic(operator.floordiv, node, divisor)
        self.formulas[symbol] = partial(self.quotient_formula, made)
        return Size({(symbol,): 1}, values[0])

    def quotient_formula(self, quotient: tuple[str, int, int]) -> Formula:
        """The formula of a quotient, as the solver gives it."""
        name, start, divisor = quotient
        made = self.formula_of_symbol(name)
        return ("floordiv", ("add", made, start) if start else made, divisor)

    def add_extreme(self, values: Sequence[int]) -> bool:
        """Give a smallest or largest of sizes a symbol, if a number depends on one; whether there is such a one."""
        known = {formula for each in self.recordings for formula in each.comparisons.extremes}
        for formula in [each for each in self.first.comparisons.extremes if each in known - self.computed.keys()]:
            if any(leaf.slot not in self.nodes for leaf in formula_leaves(formula)):
                continue
            seen = [value_of(formula, each) for each in self.recordings]
            if line_through(seen, values) is None:
                continue
            node = self.node_of(formula)
            if isinstance(node, Node):
                symbol = f"s{len(self.solver.inner)}"
                self.solver.inner[symbol] = tuple(seen)
                self.symbols[symbol] = node
                self.formulas[symbol] = partial(solved, formula, self.formula)
                node.meta["val"] = Size({(symbol,): 1}, seen[0])
                return True
        return False

    def node_of(self, formula: Formula) -> Any:
        """The node that computes a formula, or the number; None if no graph does."""
        if isinstance(formula, Leaf):
            size = self.nodes[formula.slot].meta["val"].shape[formula.dim]
            return self.size_node(size) if isinstance(size, Size) else size
        if not isinstance(formula, tuple):
            return formula if type(formula) is int else None
        if formula not in self.computed:
            operands = [self.node_of(each) for each in formula[1:]]
            function = ARITHMETIC.get(formula[0])
            if function is None or any(each is None for each in operands):
                return None
            if not any(isinstance(each, Node) for each in operands):
                return function(*operands)
            self.computed[formula] = self.arithmetic(function, *operands)
        return self.computed[formula]

    def size_node(self, size: Size) -> Node:
        """The node of a size."""
        if size not in self.products:
            total: Any = None
            for term, factor in size.terms.items():
                made: Any = factor if not term else self.product(term)
                if term and factor != 1:
                    made = self.arithmetic(operator.mul, made, factor)
                total = made if total is None else self.arithmetic(operator.add, total, made)
            total.meta["val"] = size
            self.products[size] = total
        return self.products[size]

    def product(self, names: tuple[str, ...]) -> Node:
        first, *others = names
        found = self.symbol(first)
        for each in others:
            found = self.arithmetic(operator.mul, found, self.symbol(each))
        return found

    def arithmetic(self, function: Any, one: Any, two: Any) -> Node:
        node = self.graph.call_function(function, (one, two), name="size")
        node.meta["val"] = None
        return node

    def symbol(self, name: str) -> Node:
        """The node that looks at a tensor's size."""
        if name not in self.symbols:
            node, dim, factor, plus = self.origins[name]
            made = self.graph.call_function(sym_size, (node, dim), name="sym_size")
            made.meta["val"] = node.meta["val"].shape[dim]
            if plus:
                made = self.arithmetic(operator.sub, made, plus)
            if factor != 1:
                made = self.arithmetic(operator.floordiv, made, factor)
            self.symbols[name] = made
        return self.symbols[name]

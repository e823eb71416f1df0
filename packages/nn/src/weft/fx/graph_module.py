"""`GraphModule`: a module whose `forward` is written from a graph."""

from __future__ import annotations

import copy
import itertools
import linecache
from pathlib import Path
from typing import Any

import weft
from weft.fx._code import PythonCode
from weft.fx.graph import Graph
from weft.nn import Module

__all__ = ["GraphModule"]

_numbers = itertools.count()
_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"  # in `GraphModule.meta`: attributes that copies get too
HINT = "# To see more debug info, please use `graph_module.print_readable()`"


def compiled(code: PythonCode) -> Any:
    """The function of a text, whose lines tracebacks show."""
    name = f"<eval_with_key>.{next(_numbers)}"
    namespace = dict(code.globals)
    exec(compile(code.src, name, "exec"), namespace)
    linecache.cache[name] = (len(code.src), None, code.src.splitlines(keepends=True), name)
    return namespace["forward"]


def _copy_attr(from_module: Module, to_module: Module, target: str) -> None:
    """Give a module what another has under a dotted name, in plain modules where the path needs some."""
    *path, field = target.split(".")
    for part in path:
        found = getattr(from_module, part)
        if not hasattr(to_module, part):
            setattr(to_module, part, Module())
        elif found is getattr(to_module, part):
            return  # already there, with all that it has
        from_module, to_module = found, getattr(to_module, part)
    value = getattr(from_module, field)
    if isinstance(value, weft.Tensor) and not isinstance(value, weft.nn.Parameter):
        to_module.register_buffer(field, value)
    else:
        setattr(to_module, field, value)


def assign_attribute(value: Any, target: Module, name: str) -> None:
    """Set a dotted name of a module."""
    *path, field = name.split(".")
    for part in path:
        if not hasattr(target, part):
            setattr(target, part, Module())
        target = getattr(target, part)
    if isinstance(value, weft.Tensor) and not isinstance(value, weft.nn.Parameter):
        target.register_buffer(field, value)
    else:
        setattr(target, field, value)


class _CodeOnlyModule(Module):
    """A module with the attributes of another, and no `forward` of its own; torchvision copies its graphs by it."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__.update(body)


class GraphModule(Module):
    """A module whose `forward` is written from a graph.

    Each object has a class of its own, so that each has its `forward`. After a change of the graph call `recompile`.

    Parameters
    ----------
    root : Module or dict
        Has what the graph's nodes name: modules, parameters, buffers. They are taken over and not copied.
    graph : Graph
    class_name : str
        What the class shall be called.

    Attributes
    ----------
    graph : Graph
        To assign one is to recompile.
    code : str
        The text of `forward`.
    meta : dict

    Raises
    ------
    RuntimeError
        If a dict lacks what a node names.

    Examples
    --------
    >>> traced = weft.fx.symbolic_trace(weft.nn.Sequential(weft.nn.Linear(2, 3), weft.nn.ReLU()))
    >>> for node in traced.graph.nodes:
    ...     if node.target == "1":
    ...         with traced.graph.inserting_after(node):
    ...             doubled = traced.graph.call_function(weft.mul, (node, 2))
    ...         _ = node.replace_all_uses_with(doubled, lambda user: user is not doubled)
    >>> _ = traced.recompile()
    >>> print(traced.code.strip())
    def forward(self, input):
        input_1 = input
        _0 = getattr(self, "0")(input_1);  input_1 = None
        _1 = getattr(self, "1")(_0);  _0 = None
        mul = weft.mul(_1, 2);  _1 = None
        return mul
    """

    _graph: Graph

    def __new__(cls, *args: Any, **kwargs: Any) -> GraphModule:
        for each in cls.__mro__:
            if each.__qualname__ != "GraphModuleImpl":
                made: Any = type("GraphModuleImpl", (each,), {"__module__": __name__})
                return super().__new__(made)
        raise AssertionError("GraphModule: a class has a base that is none of this kind")

    def __init__(self, root: Module | dict[str, Any], graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        type(self).__name__ = class_name
        self.meta: dict[str, Any] = {}
        targets = [node.target for node in graph.nodes if node.op in ("call_module", "get_attr")]
        if isinstance(root, Module):
            self.training = root.training
            if isinstance(root, GraphModule):
                self.meta.update(root.meta)
            for target in targets:
                _copy_attr(root, self, target)
        elif isinstance(root, dict):
            missing = [target for target in targets if target not in root]
            if missing:
                raise RuntimeError(
                    f"GraphModule: a node referenced the target {missing[0]}, but that target was not provided in root"
                )
            for target in sorted(targets, key=lambda each: each.count(".")):
                assign_attribute(root[target], self, target)
        else:
            raise RuntimeError(f"GraphModule: unsupported type {type(root).__name__} passed for root")
        self._tracer_cls = graph._tracer_cls
        self.graph = graph

    # The graph and its code

    @property
    def graph(self) -> Graph:
        """What `forward` does."""
        return self._graph

    @graph.setter
    def graph(self, graph: Graph) -> None:
        if not isinstance(graph, Graph):
            raise AssertionError(f"GraphModule: expected a Graph, got {type(graph).__name__}")
        object.__setattr__(self, "_graph", graph)
        graph.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The text of `forward`."""
        return str(self._code)

    def recompile(self) -> PythonCode:
        """Write `forward` anew from the graph."""
        written = self._graph.python_code("self")
        object.__setattr__(self, "_code", written.src)
        type(self).forward = compiled(written)
        return written

    def print_readable(self, print_output: bool = True, **kwargs: Any) -> str:
        """The code as that of a class, also of the graph modules inside; printed, and returned."""
        body = self.code.strip("\n ").replace("\n", "\n    ")
        text = f"class {self._get_name()}({weft.__name__}.nn.Module):\n    {body}\n"
        for child in self.children():
            if isinstance(child, GraphModule):
                inner = child.print_readable(print_output=False).replace("\n", "\n    ").rstrip(" ")
                text += f"\n    {inner}"
        if print_output:
            print(text)
        return text

    def __str__(self) -> str:
        return "\n".join([super().__str__(), self._code, HINT])

    # Submodules

    def add_submodule(self, target: str, m: Module) -> bool:
        """Add a module under a dotted name; False if what the name begins with is no module."""
        *path, field = target.split(".")
        module: Module = self
        for part in path:
            if not hasattr(module, part):
                setattr(module, part, Module())
            found = getattr(module, part)
            if not isinstance(found, Module):
                return False
            module = found
        module.add_module(field, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Delete the module of a dotted name; False if there is none."""
        path, _, field = target.rpartition(".")
        try:
            owner = self.get_submodule(path)
        except AttributeError:
            return False
        if not isinstance(getattr(owner, field, None), Module):
            return False
        delattr(owner, field)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Delete the submodules that no node names, nor anything inside of which one names."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = node.target.split(".")
                used.update(".".join(parts[: i + 1]) for i in range(len(parts)))
            if node.op == "call_module":
                inner = self.get_submodule(node.target)
                used.update(f"{node.target}.{name}" for name, _ in inner.named_modules() if name)
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    # Copies and files

    def __deepcopy__(self, memo: Any) -> GraphModule:
        fields = {name: value for name, value in self.__dict__.items() if name not in ("_graph", "_code")}
        source = Module()
        made_id = id(self)
        source.__dict__.update(copy.deepcopy(fields, memo))
        made = GraphModule.__new__(type(self))
        memo[made_id] = made
        GraphModule.__init__(made, source, copy.deepcopy(self._graph), type(self).__name__)
        for name, value in source.__dict__.items():
            if name not in ("_parameters", "_buffers", "_modules"):
                made.__dict__[name] = value
        for table in ("_parameters", "_buffers", "_modules"):
            for name, value in source.__dict__[table].items():
                made.__dict__[table].setdefault(name, value)
        return made

    def __copy__(self) -> GraphModule:
        made = GraphModule(self, self.graph, type(self).__name__)
        self.graph.owning_module = self
        return made

    def __reduce__(self) -> Any:
        fields = {name: value for name, value in self.__dict__.items() if name not in ("_graph", "_code")}
        code = self._graph.python_code("self")
        return rebuilt, (fields, code.src, imports_of(code), type(self).__name__)

    def to_folder(self, folder: str | Path, module_name: str = "FxModule") -> None:
        """Write the module as a package: its code, and its parameters and submodules in files beside it.

        Parameters
        ----------
        folder : path
        module_name : str
            What the class in it shall be called.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        parts = dict(self.named_children())
        weft.save(self.state_dict(), folder / "state_dict.pt")
        weft.save(parts, folder / "modules.pt")
        own = [f'        self.register_buffer("{name}", None)' for name in self._buffers]
        own += [f'        self.register_parameter("{name}", None)' for name in self._parameters]
        code = self._graph.python_code("self")
        body = code.src.strip("\n ").replace("\n", "\n    ")
        text = PACKAGE.format(
            imports=imports_of(code).strip(),
            weft=weft.__name__,
            name=module_name,
            own="\n".join(own) or "        pass",
            forward=body,
        )
        (folder / "module.py").write_text(text)
        (folder / "__init__.py").write_text("from .module import *\n")


PACKAGE = """from pathlib import Path

{imports}

folder = Path(__file__).resolve().parent


class {name}({weft}.nn.Module):
    def __init__(self):
        super().__init__()
{own}
        state = {weft}.load(folder / "state_dict.pt")
        for name, module in {weft}.load(folder / "modules.pt", weights_only=False).items():
            self.add_module(name, module)
        for name, value in state.items():
            if name in self._parameters:
                setattr(self, name, {weft}.nn.Parameter(value))
            elif name in self._buffers:
                setattr(self, name, value)
        self.load_state_dict(state)

    {forward}
"""


def imports_of(code: PythonCode) -> str:
    """The statements that bring what a text uses."""
    lines = [f"import {weft.__name__}", "from math import inf, nan", f"from {weft.__name__} import device"]
    for name, value in code.globals.items():
        if name in (weft.__name__, "inf", "nan", "device"):
            continue
        if name == "NoneType":
            lines.append("NoneType = type(None)")
        elif hasattr(value, "__path__") or type(value) is type(weft):
            lines.append(f"import {value.__name__} as {name}")
        elif name.startswith("typing_"):
            lines.append(f"from typing import {name[7:]} as {name}")
        else:
            lines.append(import_of(name, value))
    return "\n".join(lines) + "\n"


def import_of(name: str, value: Any) -> str:
    """The statement that brings one object.

    Raises
    ------
    RuntimeError
        If it has no name in any module.
    """
    module, qualified = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not module or not qualified or "<" in qualified:
        raise RuntimeError(
            f"GraphModule: {value!r}, which the code uses as {name}, cannot be imported from anywhere, and so not saved"
        )
    first, _, rest = qualified.partition(".")
    if not rest:
        return f"from {module} import {first} as {name}"
    return f"from {module} import {first} as _{name}; {name} = _{name}.{rest}"


def rebuilt(fields: dict[str, Any], source: str, imports: str, class_name: str) -> GraphModule:
    """A graph module from a file: its code is run on proxies again."""
    from weft.fx._symbolic_trace import Tracer

    namespace: dict[str, Any] = {}
    exec(imports, namespace)
    forward = compiled(PythonCode(source, namespace))

    class WithForward(_CodeOnlyModule):
        pass

    WithForward.forward = forward

    class KeepModules(Tracer):
        def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
            return True

    body = WithForward(fields)
    graph = KeepModules().trace(body)
    graph._tracer_cls = fields.get("_tracer_cls")
    made = GraphModule(body, graph, class_name)
    for name, value in fields.items():
        if name not in ("_parameters", "_buffers", "_modules"):
            made.__dict__[name] = value
    for table in ("_parameters", "_buffers", "_modules"):
        for name, value in fields[table].items():
            made.__dict__[table].setdefault(name, value)
    return made

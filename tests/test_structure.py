"""What the sources promise of their structure: who imports whom, and where."""

import ast
import re
from pathlib import Path

PACKAGES = Path(__file__).resolve().parent.parent / "packages"
CORE = PACKAGES / "core" / "src"
OWN_ENTRIES = 30  # at the top of weft/, beside what PyTorch has too: rooms, and modules of one subject
PYTORCHS = set(
    "_C __config__.py __future__.py _compile.py _custom_ops.py _dynamo _functorch _guards.py _higher_order_ops "
    "_inductor _lazy.py _logging _ops.py _prims _prims_common _refs _subclasses _tensor _tensor_str.py _utils.py "
    "_utils_internal.py _vendor _VF.py _vmap_internals.py __pycache__".split()
)
IMPORTS_IN_FUNCTIONS = 10  # in core; may only shrink


def modules(source):
    """The modules below a folder of sources, by name."""
    files = {file: ".".join(file.relative_to(source).with_suffix("").parts) for file in source.rglob("*.py")}
    return {name.removesuffix(".__init__"): file for file, name in files.items()}


def imports(nodes, inside=False):
    """Import statements that run, each with whether it is in a function."""
    for node in nodes:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node, inside
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from imports(node.orelse, inside)
        else:
            is_function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            yield from imports(ast.iter_child_nodes(node), inside or is_function)


def imported(node, known):
    """The modules that a statement imports; of ``from package import module`` the module alone."""
    if isinstance(node, ast.Import):
        return {each.name for each in node.names} & known
    inner = {f"{node.module}.{each.name}" for each in node.names}
    own = {node.module} if any(name not in known for name in inner) else set()
    return (inner | own) & known


def cycles(graph):
    """Groups of modules each of which leads to all others of its group."""
    reached = {}
    for start in graph:
        found, stack = set(), [start]
        while stack:
            for each in graph[stack.pop()] - found:
                found.add(each)
                stack.append(each)
        reached[start] = found
    groups = {frozenset(each for each in graph if each in reached[start] and start in reached[each]) for start in graph}
    return [sorted(group) for group in groups if group]


def test_no_modules_of_core_import_each_other_in_a_circle():
    known = modules(CORE)
    graph = {
        name: set().union(
            *(
                imported(node, set(known) - {"weft"})
                for node, inside in imports(ast.parse(file.read_text(encoding="utf-8")).body)
                if not inside
            )
        )
        for name, file in known.items()
    }
    assert not cycles(graph)


def test_imports_in_functions_become_no_more():
    found = [
        name
        for name, file in modules(CORE).items()
        for _, inside in imports(ast.parse(file.read_text(encoding="utf-8")).body)
        if inside and name != "_weft_as_torch"  # which runs at the start of processes that need none of them
    ]
    assert len(found) <= IMPORTS_IN_FUNCTIONS


def test_the_top_of_core_is_a_table_of_contents():
    private = {entry.name for entry in (CORE / "weft").iterdir() if entry.name.startswith("_")} - PYTORCHS
    own = {"array_api", "backend.py", "plugins.py", "py.typed"}
    assert len(private | own) <= OWN_ENTRIES, sorted(private | own)


# What a call of `Op.run_kernel` would slow by a twentieth: they have its lines.
RUN_KERNELS_THEMSELVES = {"binary_operator", "unary_operator", "inplace_operator", "Join.finish"}
ASK_FOR_KERNELS = {
    "Op.run_kernel",
    "Op.kernel",
    "writing_kernel",
    "with_whole_number",
}  # to run them so, or to look at them


def test_kernels_are_run_in_one_place():
    found = set()
    for file in [*(CORE / "weft" / "_engine").glob("*.py"), CORE / "weft" / "_tensor" / "conjugation.py"]:
        for top in ast.parse(file.read_text(encoding="utf-8")).body:
            functions, owner = (top.body, f"{top.name}.") if isinstance(top, ast.ClassDef) else ([top], "")
            named = {owner + each.name: ast.unparse(each) for each in functions if isinstance(each, ast.FunctionDef)}
            found |= {name for name, text in named.items() if re.search(r"\bkernels\[|\.kernel\(\w", text)}
    assert found - ASK_FOR_KERNELS == RUN_KERNELS_THEMSELVES


def test_arguments_are_read_in_one_place():
    """What a declared function's fast path takes is read from its annotations; nobody else looks at a call's."""
    for portion in sorted(PACKAGES.glob("*/src")):
        for file in portion.rglob("*.py"):
            assert not re.search(r"\bquick\b ?=|(?<!def )\bby_name\(", file.read_text(encoding="utf-8")), file

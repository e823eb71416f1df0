"""Declaring ops: what the files of this folder use, and what a third party uses for its own.

A declaration is a kernel against an array namespace ``xp``, the rules for dtypes, and a gradient for
each differentiable argument. From it come the function, the method, the operator and its reflection,
the in-place variant and ``out=``.

- `pointwise`: one or more tensors (or numbers), broadcast and promoted; the decorated function is the kernel.
- `op`: the decorated function has PyTorch's signature, checks and completes the arguments, and calls its
  ``.op`` with what the kernel takes; the kernel follows with ``@name.kernel``, or with ``@name.formula`` a formula of
  one element, of which kernels are made.
- `composite`: a plain function over other ops; it needs no gradient of its own.

``@name.gradient("argument")`` declares a gradient. Its first parameter is ``grad`` (of the first output)
or ``grads`` (a list, None for outputs without one); the others say by name what must be kept for it: an
argument, ``output`` (``outputs``; ``later_outputs``: all but the first, which may then be written to), or only the
``<argument>_shape`` or ``<argument>_dtype`` of one.

Forward mode follows from the gradients (autograd/_pushforward.py); ``linear="input"`` (or ``"input | other"``: in each
for itself) says where an op is its own derivative, and ``@name.forward`` declares a derivative outright.
``vmap="leading"`` (or another rule of ops/_batching.py) says how the op runs on a batch, ``@name.vmap`` declares it;
without either, `vmap` runs the op once for each example, and says so.

``onnx="Relu"`` is the operator that does the same in an ONNX file; ``@name.onnx`` declares a function that writes the
op with several: see weft/onnx/README.md (weft-nn).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, wraps
from inspect import CO_VARARGS
from types import FunctionType
from typing import Any, NoReturn, TypeVar

import numpy

from weft._devices.devices import backend_of, key_of, resolve_device
from weft._dtypes import float8
from weft._dtypes.dtypes import (
    BY_NUMPY,
    COMPLEX,
    FLOAT8,
    FLOATING,
    INTEGER,
    _by_name,
    check_bits,
    default_listeners,
    dtype,
    element_type,
    float32,
    get_default_dtype,
    result_dtype,
)
from weft._engine.dispatch import (
    VJP,
    BackwardPlan,
    Op,
    binary_operator,
    binary_with_scalar,
    inplace_operator,
    inplace_unary,
    unary_operator,
)
from weft._engine.dispatch_keys import DispatchKey, KernelBySize
from weft._engine.fast_paths import FastPath
from weft._engine.methods import declared_methods
from weft._engine.tensor import TensorBase, install, is_collision, local, run_elsewhere, state
from weft._errors import PluginError
from weft._interception import transforms
from weft._interception.autocast import in_precision
from weft._interception.interceptors import Operation, intercepted, is_watched
from weft._interception.profiling import watched
from weft._interception.results import observe
from weft._interception.torch_dispatch import dispatching, run_subclass
from weft._interception.torch_function import (
    Unimplemented,
    arm,
    awakened,
    call_override,
    flatten,
    overriding,
    public,
    unmasked,
)
from weft._plugins.access import plugins
from weft._plugins.kernel_checks import checked_kernel, note
from weft._plugins.result_sizes import with_overflow_check
from weft._tensor import conjugation
from weft._tensor.base import Tensor
from weft._tensor.interop import as_tensor, tensor
from weft.backend import invalidate_kernels
from weft.ops._batching import reads_values
from weft.ops._formulas import Formula
from weft.ops._geometry import broadcast_shapes
from weft.ops._inplace import view_inplace, write_inplace, write_out
from weft.ops._node_names import node_name
from weft.ops._registry import registry
from weft.random import default_generator_of

__all__ = ["Declaration", "composite", "op", "pointwise", "public_functions"]

OUTPUTS = ("output", "outputs", "later_outputs")  # what an op's gradients take of its results: one of them
CATEGORIES = ("bool", "int", "float", "complex", "float8")
Rule = tuple[Any, tuple[str, ...]]  # a gradient's function, and what it takes: gradients and values by name
NO_NAMES: dict[str, Any] = {}
NO_RULE: Rule = (None, ("grad",))
R = TypeVar("R")
ALL_DTYPES = "bool int float complex float8"  # for `dtypes`: what moves elements, or looks at each


class Declaration:
    """All that is particular to one op, and the slow half of its calls.

    Parameters
    ----------
    name : str
        With its namespace, ``"core::mul"``.
    result : str
        The dtype of the result: ``"same"`` as the inputs; ``"float"``: as well, but integers become the
        default dtype before the kernel; ``"bool"``; ``"real"``: the real part's; ``"any"``: what the kernel returns.
    dtypes : str
        Which categories of dtypes have a kernel. ``"float8"``: the 8-bit floats as well. Views have them anyhow; ops
        with a result of ``"any"`` dtype take them as they are, the others compute in float32.
    promotes : bool
        Tensors and numbers are brought to their common dtype first.
    compute_dtype : str
        ``"float32"``: float16 and bfloat16 are computed in float32 and rounded once; ``"native"``: as they are.
    rounds_to : str
        For an op that is computed in float32, what each result is rounded to: the dtype of the argument that is named,
        of the first one where that is None; ``"float32"``: it stays, as a statistic that the gradient takes. Default:
        all to the dtype of the first argument.
    gradient : str or None
        ``"declared"``: it follows with ``@name.gradient``; None: it has none, and its results have no history;
        ``"refused"``: the results have a history, and differentiating it is an error.
    """

    def __init__(
        self,
        name: str,
        *,
        result: str,
        dtypes: str,
        promotes: bool,
        compute_dtype: str,
        is_view: bool = False,
        gradient: str | None = "declared",
    ) -> None:
        self.name = name
        self.short = name.partition("::")[2]
        self.result = result
        self.dtypes = tuple(CATEGORIES.index(word) for word in dtypes.split())
        self.takes_float8 = is_view or FLOAT8 in self.dtypes
        self.promotes = promotes
        self.compute_dtype = compute_dtype
        self.rounds_to: tuple[str, ...] = ()
        self.error_type: type[Exception] = NotImplementedError
        self.error_hint = "Convert with .to(dtype)"
        self.exact_out = False
        self.complete = False  # no operand may be None
        self.numbers: tuple[str, ...] | None = None  # which arguments may be numbers, where not all may
        self.scalars: dict[str, str] = {}  # what becomes of a number that is given for an argument, see `pointwise`
        self.strict = False
        self.label = node_name(self.short)
        self.function: Any = None
        self.generic: Any = None  # the kernel: a function of (xp, *arguments), or a name in xp
        self.formula: Formula | None = None  # of one element; the kernel too, unless there is another
        self.meta: Any = None  # the kernel of arrays without values, where the declared one needs values
        self.complex_kernel: Any = None  # a function of (xp, *arguments) for complex dtypes, where that is another
        self.arguments: tuple[str, ...] = ()
        self.gradients: dict[str, Rule] = {}
        self.linear: tuple[tuple[str, ...], ...] = ()  # arguments in which it is linear together, group by group
        self.forward: Any = None  # its directional derivative, where it is declared: a function, and what it takes
        self.vmap: Any = ""  # how it runs on a batch: the name of a rule, or a function
        self.onnx: Any = None  # how it is written to ONNX files: an operator's name, or a function
        self.gradient = gradient
        self.op = Op(name, (), -1, self)
        self.op.is_view = is_view
        self.op.differentiable = gradient is not None and result != "bool" and max(self.dtypes) >= FLOATING
        self.op.promotes = promotes
        registry[name] = self

    @property
    def is_ufunc(self) -> bool:
        """Whether the kernel is a function of the array namespace that may give its operands' dtype."""
        return isinstance(self.generic, str) and self.result in ("same", "float")

    def set_kernel(self, kernel: Any, arguments: Sequence[str], tensors: str, sequence: str = "") -> None:
        """Say what computes it, and which of the kernel's arguments are tensors."""
        self.generic = kernel
        self.arguments = tuple(arguments)
        self.op.positions = tuple(self.arguments.index(name) for name in tensors.split())
        self.op.sequence_position = self.arguments.index(sequence) if sequence else -1

    # Kernels

    def resolve(self, key: DispatchKey) -> tuple[Any, DispatchKey | None]:
        """The kernel for a dispatch key, measured where a profiler runs, and the key of the result."""
        kernel, result = self.prepare(key)
        return watched(self.name, checked_kernel(self, key, kernel, result)), result

    def prepare(self, key: DispatchKey, own: bool = True) -> tuple[Any, DispatchKey | None]:
        """The kernel for a dispatch key, with the conversions that its dtype needs, and the key of the result.

        Without ``own``, the declared one, whatever the backend has.
        """
        element: dtype = key.dtype
        if element.is_float8:
            return self.prepare_float8(key, own)
        if element.category not in self.dtypes:
            raise self.error_type(
                f"{self.short}: not implemented for '{element.scalar_type_name}' ({element}); it takes "
                f"{', '.join(CATEGORIES[each] for each in self.dtypes)} tensors. {self.error_hint}"
            )
        compute = element
        if self.result == "float" and element.category < FLOATING:
            compute = get_default_dtype()
        result = compute
        if self.compute_dtype == "float32" and compute.is_half:
            compute = float32
        kernel = self.find_kernel(key.device, compute, own)
        if self.result == "bool":
            result = _by_name("bool")
        elif self.result == "real":
            result = element.to_real()
        given = None if self.result == "any" else result
        if compute is not element:
            places = [None if each == "float32" else self.arguments.index(each) for each in self.rounds_to]
            kernel = converting(kernel, element, compute, given, key.device, places)
            if element.is_half and own:
                kernel = self.find_half_kernel(key.device, element, kernel)
        rounds = [name for name, way in self.scalars.items() if way != "float32"]
        if element.is_half and rounds and backend_of(key.device).rounds_numbers:
            convert = {
                self.arguments.index(name): partial(half_number, self.short, element, self.scalars[name] == "checked")
                for name in rounds
            }
            kernel = rounding(kernel, len(self.arguments), convert)
        return kernel, None if given is None else key_of(given, key.device)

    def prepare_float8(self, key: DispatchKey, own: bool = True) -> tuple[Any, DispatchKey | None]:
        """As `prepare`, for the 8-bit floats: of ops that move elements the kernel itself, else one in float32."""
        element: dtype = key.dtype
        if not self.takes_float8:
            float8.refuse_float8(self.short, element)
        if self.result == "any":
            return self.find_kernel(key.device, element, own), None
        truth = self.result == "bool"
        kernel = float8.computed(self.find_kernel(key.device, float32, own), element, not truth)
        return kernel, key_of(_by_name("bool") if truth else element, key.device)

    def find_kernel(self, device: Any, compute: dtype, own: bool = True) -> Any:
        """A plugin's or the backend's own kernel by the op's name, else the generic one; at once, without ``own``."""
        backend = backend_of(device)
        found = plugins().kernels(device.type).get(self.name) if own else None
        if found is None:
            named = isinstance(self.generic, str)
            generic = getattr(backend.xp, self.generic) if named else partial(self.generic, backend.xp)
            if isinstance(self.generic, Formula):
                generic = self.generic.kernel(backend.xp, compute.numpy)
            if self.complex_kernel is not None and compute.is_complex:
                generic = partial(self.complex_kernel, backend.xp)
            found = backend.kernel(self.name, compute, generic) if own else generic
        if backend.sizes_wrap:
            meta = partial(self.find_kernel, resolve_device("meta"), compute)
            found = with_overflow_check(self, backend.array_type, found, meta)
        return backend.on_device(found, device.index)

    def find_half_kernel(self, device: Any, element: dtype, generic: Any) -> Any:
        """The backend's kernel of half precision, else the one that computes in float32; a plugin's own stays."""
        if self.name in plugins().kernels(device.type):
            return generic
        backend = backend_of(device)
        found = backend.half_kernel(self.name, element, generic)
        return generic if found is generic else backend.on_device(found, device.index)

    # Gradients

    def add_gradient(self, names: str, function: Any, needs: str = "") -> None:
        """Keep a function that gives the gradients of arguments; what it takes are its parameters, or ``needs``."""
        if self.gradient != "declared":
            raise TypeError(f"{self.name}: it was declared with gradient={self.gradient!r}, and a gradient follows")
        rule = (function, tuple(needs.split()) or parameters_of(function))
        for name in names.split():
            self.gradients[name] = rule

    def plan(self, mask: int) -> BackwardPlan:
        """Which gradients to compute, and what to save for them, for the arguments in ``mask`` (bits)."""
        wanted = [position for position in self.op.positions if mask >> position & 1]
        groups: list[tuple[Rule, list[int]]] = []
        for position in wanted:
            rule = self.gradients.get(self.arguments[position], NO_RULE)
            if groups and rule is not NO_RULE and groups[-1][0] is rule:
                groups[-1][1].append(position)
            else:
                groups.append((rule, [position]))
        saves: list[int] = []
        saved_outputs: set[str] = set()
        for (_, needs), _ in groups:
            for name in needs[1:]:
                if name in OUTPUTS:
                    saved_outputs.add(name)
                elif name != "needs" and self.locate(name) not in saves:
                    saves.append(self.locate(name))
        saves.sort()
        steps = tuple(self.step(rule, group, saves) for rule, group in groups)
        takes_first = all(needs[0] == "grad" for (_, needs), _ in groups)
        saves_output = bool(saved_outputs)
        keeps = saves_output or any(position in self.op.positions for position in saves)
        pattern = tuple(
            -1 if position == self.op.sequence_position else mask >> position & 1 for position in self.op.positions
        )
        plan = BackwardPlan(self.label, tuple(saves), saves_output, steps, takes_first, keeps, pattern)
        plan.names = tuple(
            self.arguments[place] if place >= 0 else self.metadata_name(*self.op.metadata[-1 - place])
            for place in saves
        )
        plan.shown = tuple(
            each
            for each, position in zip(pattern, self.op.positions)
            if each or self.arguments[position] in self.gradients or not self.gradients
        )
        plan.skips = int(saved_outputs == {"later_outputs"})
        if not self.op.differentiable:
            plan.pair = -1  # off the fast path, which would record it
        return plan

    def step(self, rule: Rule, group: list[int], saves: list[int]) -> VJP:
        function, needs = rule
        if function is None:
            return VJP(partial(no_gradient, self.short) if not self.gradients else lambda grad: None, (), -1)
        if group[0] == self.op.sequence_position:
            return VJP(function, self.picks(needs, saves), -2)
        together = [name for name in self.arguments if self.gradients.get(name) is rule]
        if len(together) == 1:
            return VJP(function, self.picks(needs, saves), -1)
        chosen = [self.arguments.index(name) in group for name in together]

        def some(grad: Any, *saved: Any) -> list[Any]:
            extra = {"needs": chosen} if "needs" in needs else {}
            return [each for each, use in zip(function(grad, *saved, **extra), chosen) if use]

        return VJP(some, self.picks(needs, saves), len(group))

    def metadata_name(self, position: int, of: str) -> str:
        """What a saved shape or dtype of an argument is called."""
        return f"{self.arguments[position]}_{of}"

    def picks(self, needs: tuple[str, ...], saves: list[int]) -> tuple[int, ...]:
        return tuple(
            len(saves) if name in OUTPUTS else saves.index(self.locate(name)) for name in needs[1:] if name != "needs"
        )

    def locate(self, name: str) -> int:
        """The position of an argument; for ``<argument>_shape`` a negative number that `fact` understands."""
        if name in self.arguments:
            return self.arguments.index(name)
        argument, _, saved_metadata = name.rpartition("_")
        if argument not in self.arguments or saved_metadata not in ("shape", "dtype"):
            raise TypeError(f"{self.name}: a gradient asks for {name!r}; there are {', '.join(self.arguments)}, output")
        key = (self.arguments.index(argument), saved_metadata)
        if key not in self.op.metadata:
            self.op.metadata.append(key)
        return -1 - self.op.metadata.index(key)

    # Calls that the fast path leaves

    def dispatch(self, args: tuple[Any, ...]) -> Any:
        """A call with numbers, several dtypes or devices, subclasses, or somebody watching."""
        tensors = flatten(args)
        hidden = [each for each in tensors if each._key.has_torch_function]
        if hidden and not local.modes and not overriding(args):
            if dispatching(hidden):
                return self.dispatch_to_subclasses(args)
            return unmasked(hidden, self.op, args, {})
        if hidden and local.plain_only:
            return unmasked(hidden, self.op, args, {})
        if hidden or local.modes:
            return call_override(public(self), overriding(args), args, {})
        try:
            self.check_types(args)
        except TypeError:
            types = overriding(args)
            if not types:
                raise
            arm()
            return call_override(public(self), types, args, {})
        if any(each._key.bits for each in tensors) and not any(each._key.wrapped for each in tensors):
            if self.op.is_view:
                view = partial(conjugation.run_view, self, args)
                result = intercepted(self, self.named(args), view) if is_watched() else view()
                if state.intercepting:
                    observe(result)
                return result
            args = tuple(conjugation.in_op(arg) for arg in args)
        args = self.promote(args) if self.promotes else self.one_device(args)
        wrapped = any(each._key.wrapped for position in self.op.positions for each in members(args[position]))
        if wrapped:
            result = transforms.run(self, args)
        elif is_watched():
            result = intercepted(self, self.named(args), lambda: self.op.execute(args))
        else:
            result = self.op.execute(args)
        if state.intercepting:
            observe(result)
        return result

    def dispatch_to_subclasses(self, args: tuple[Any, ...]) -> Any:
        """A call with tensors of subclasses that define ``__torch_dispatch__``."""
        self.check_types(args)
        result = run_subclass(self, self.promote(args) if self.promotes else self.one_device(args))
        if state.intercepting:
            observe(result)
        return result

    def dispatch_operator(self, args: tuple[Any, ...]) -> Any:
        """As `dispatch`, for Python's operators: what is unknown may know how to combine with a tensor."""
        for arg in args:
            if isinstance(arg, OPERANDS):
                continue
            if hasattr(type(arg), "__torch_function__"):
                break  # check_types comes to it
            if isinstance(arg, numpy.ndarray) and self.short in ("eq", "ne") and arg.dtype in BY_NUMPY:
                return self.dispatch(
                    tuple(tensor_of_array(each) for each in args)
                )  # NumPy would give one truth for all
            return NotImplemented
        try:
            return self.dispatch(args)
        except Unimplemented:
            return NotImplemented

    def check_types(self, args: tuple[Any, ...]) -> None:
        some = False
        for position in self.op.positions:
            arg = args[position]
            if isinstance(arg, TensorBase):
                some = True
            elif position == self.op.sequence_position:
                for number, member in enumerate(arg):
                    some = True
                    if member is not None and not isinstance(member, TensorBase):
                        raise TypeError(
                            f"{self.short}(): expected Tensor as element {number} in argument "
                            f"'{self.arguments[position]}', but got {type(member).__name__}"
                        )
            elif arg is not None or self.complete:
                name = self.arguments[position]
                takes = self.promotes if self.numbers is None else name in self.numbers
                if takes and isinstance(arg, (int, float, complex, numpy.generic)):
                    continue
                raise TypeError(
                    f"{self.short}(): argument '{name}' (position {position + 1}) must be Tensor"
                    f"{' or a number' if takes else ''}, not {type(arg).__name__}; "
                    "make one with weft.as_tensor(...)"
                )
        if not some:
            raise TypeError(
                f"{self.short}(): argument '{self.arguments[0]}' must be Tensor, not {type(args[0]).__name__}; "
                "make one with weft.as_tensor(...)"
            )

    def promote(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Arguments brought to their common dtype and device; numbers stay numbers where they fit."""
        positions = self.op.positions
        if self.strict:
            self.check_operands([args[position] for position in positions])
        common = result_dtype([args[place] for place in positions if args[place] is not None], self.short)
        computed = get_default_dtype() if self.result == "float" and common.category < FLOATING else common
        converted = list(self.one_device(args))
        if computed is not common:
            tensors = [converted[place] for place in positions if isinstance(converted[place], TensorBase)]
            if any(each._key.dtype is not common for each in tensors):
                common = computed  # at once: those integers may not have the number of a tensor without dimensions
        for position in positions:
            arg = converted[position]
            if isinstance(arg, Tensor):
                if arg._key.dtype is common:
                    continue
                way = self.scalars.get(self.arguments[position])
                if common.is_half and way == "float32" and is_constant(args[position]):
                    converted[position] = fit_number(self.short, args[position].item(), computed)
                else:
                    converted[position] = arg.to(common)
            elif arg is not None:
                number = fit_number(self.short, arg, computed)
                checked = self.scalars.get(self.arguments[position]) == "checked"
                if checked and number != arg and common.category == INTEGER:
                    raise wide_number(self.short, arg, common)
                converted[position] = number
        return tuple(converted)

    def check_operands(self, operands: list[Any]) -> None:
        """Each operand is of an accepted category, where it is not enough that their common dtype is.

        Raises
        ------
        Exception
            The declared error.
        """
        for operand in operands:
            element = result_dtype((operand,))
            if element.category not in self.dtypes:
                raise self.error_type(
                    f"{self.short}: not implemented where an operand is '{element.scalar_type_name}' ({element}). "
                    f"{self.error_hint}"
                )

    def one_device(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, if they are on one device; a zero-dimensional CPU tensor follows the others."""
        tensors = [each for position in self.op.positions for each in members(args[position])]
        devices = {each._key.device for each in tensors}
        if len(devices) == 1:
            return args
        main = {each._key.device for each in tensors if each._array.ndim or each._key.device.type != "cpu"}
        if len(main) != 1 or not self.promotes:
            names = ", ".join(str(each) for each in sorted(devices, key=str))
            raise RuntimeError(
                f"{self.short}: expected all tensors to be on the same device, but found at least two devices: "
                f"{names}. Move them with .to(device)"
            )
        target = main.pop()
        return tuple(arg.to(target) if isinstance(arg, Tensor) else arg for arg in args)

    def recover(self, error: Exception, kernel: Any, arrays: Sequence[Any], args: tuple[Any, ...]) -> Any:
        """What to do about a kernel's exception: run it elsewhere, or say what was wrong in our words."""
        if is_collision(error):
            try:
                return run_elsewhere(kernel, *arrays)
            except Exception as raised:
                error = raised
        key = next((each._key for arg in args for each in members(arg)), None)
        if isinstance(error, PluginError):
            raise error
        if key is not None:
            note(error, self.name, key)
        if isinstance(error, ValueError) and (self.promotes or self.vmap == "elementwise"):
            explain_broadcast(self.short, [each for each in args if isinstance(each, TensorBase)])
        from weft.ops._explain import explained

        said = explained(self.short, error, self.arguments, args, {})
        if key is not None:
            note(said, self.name, key)
        raise said

    def named(self, args: tuple[Any, ...]) -> dict[str, Any]:
        """The arguments of a call by name, as interceptors see them: a device's default generator is None."""
        named = dict(zip(self.arguments, args))
        generator = named.get("generator")
        if generator is not None and generator is default_generator_of(generator.device):
            named["generator"] = None
        return named

    def __call__(self, /, *args: Any, **named: Any) -> Any:
        values = [*args, *[named[name] for name in self.arguments[len(args) :]]]
        if "generator" in named and named["generator"] is None:
            device = values[self.op.positions[0]]._key.device
            values[self.arguments.index("generator")] = default_generator_of(device)
        return self.op(*values)


def tensor_of_array(value: Any) -> Any:
    """An operand, as a tensor if it is an array of NumPy's."""
    return as_tensor(value) if isinstance(value, numpy.ndarray) else value


def no_gradient(name: str, grad: Any) -> None:
    """The gradient of an op that has none.

    Raises
    ------
    NotImplementedError
        Always.
    """
    raise NotImplementedError(
        f"{name}: the derivative for '{name}' is not implemented; use detach() on its inputs where none is wanted"
    )


def members(arg: Any) -> Iterable[TensorBase]:
    if isinstance(arg, TensorBase):
        return (arg,)
    return [each for each in arg if isinstance(each, TensorBase)] if isinstance(arg, (list, tuple)) else ()


def is_constant(tensor: Any) -> bool:
    """A tensor on the CPU that is as good as a number: without dimensions, history, or a transform that looks on."""
    key = tensor._key
    return key.plain and key.device.type == "cpu" and not tensor._array.ndim and not tensor._requires_grad


def half_number(name: str, element: dtype, checked: bool, value: Any) -> float:
    """A number as a dtype of half precision has it; infinite where it is too large, which may be refused.

    Raises
    ------
    RuntimeError
        If it is ``checked``, and the dtype has no such number.
    """
    found = float(element.numpy.type(float(value)))
    if checked and math.isinf(found) and math.isfinite(value):
        raise wide_number(name, value, element)
    return found


def rounding(kernel: Any, count: int, conversions: Mapping[int, Callable[[Any], float]]) -> Any:
    """A kernel of half precision, of so many arguments, whose numbers are converted at some positions.

    What it computes in float32 are, as PyTorch's sums in bfloat16, those of the rounded number.
    """
    if isinstance(kernel, KernelBySize):
        small, large = (rounding(each, count, conversions) for each in (kernel.small, kernel.large))
        return KernelBySize(small, large, kernel.least)

    def rounded(*args: Any) -> Any:
        for position, convert in conversions.items():
            value = args[position]
            if type(value) is float or type(value) is int:
                args = (*args[:position], convert(value), *args[position + 1 :])
        return kernel(*args)

    def pair(input: Any, other: Any) -> Any:  # without a loop: most calls are such, and most of those of two arrays
        if type(other) is float or type(other) is int:
            return rounded(input, other)
        return rounded(input, other) if type(input) is float or type(input) is int else kernel(input, other)

    return pair if count == 2 else rounded


def wide_number(name: str, value: Any, element: dtype) -> RuntimeError:
    """The error for a number that a dtype does not have."""
    return RuntimeError(f"{name}: value cannot be converted to type {element} without overflow: {value}")


def number_in(name: str, value: Any, argument: str = "value") -> Any:
    """The number in a tensor that stands for one.

    Raises
    ------
    TypeError
        If the tensor requires grad, since its gradient would be lost.
    """
    if value._requires_grad and local.grad_enabled:
        raise TypeError(
            f"{name}(): argument '{argument}' must be Number, not a Tensor that requires grad, whose gradient would be "
            "lost. Pass tensor.item(), or write the product out"
        )
    return value.item()


def fit_number(name: str, value: Any, element: dtype) -> Any:
    """A number as a kernel takes it beside arrays of a dtype; integers wrap around as they do in tensors.

    Raises
    ------
    OverflowError
        For an integer that has more than 64 bits.
    """
    if isinstance(value, numpy.generic):
        value = value.item()
    if isinstance(value, int):
        check_bits(name, value)
    if element.category == COMPLEX:
        return complex(value)
    if element.category == FLOATING:
        return float(value)
    if element.name == "bool":
        return bool(value)
    return wrap_around(int(value), element)


def wrap_around(value: int, element: dtype) -> int:
    """An integer as those of a dtype are computed: by its last bits."""
    bits = 8 * element.itemsize
    low = -(1 << (bits - 1)) if element.is_signed else 0
    return (value - low) % (1 << bits) + low


def converting(
    kernel: Any,
    element: dtype,
    compute: dtype,
    result: dtype | None,
    device: Any,
    places: Sequence[int | None] = (),
) -> Any:
    """A kernel that computes in another dtype than that of its arrays, and rounds once.

    ``places`` has for each result the argument whose dtype it is given, or None; see ``rounds_to`` of `Declaration`.
    """
    source, target = element.numpy, compute.numpy
    final = None if result is None else result.numpy
    many = (list, tuple)
    convert = registry["core::convert"]
    widen, narrow = (convert.find_kernel(device, each) for each in (element, compute))

    def up(arg: Any) -> Any:
        if isinstance(arg, many):
            return type(arg)([up(each) for each in arg])
        return widen(arg, compute) if getattr(arg, "dtype", None) == source else arg

    def down(array: Any) -> Any:
        if array.dtype == target and (final is None or final == source):
            return narrow(array, element)
        return array if final is None or array.dtype == final else array.astype(final)

    def converted(*args: Any) -> Any:
        returned = kernel(*[up(arg) for arg in args])
        if isinstance(returned, many):
            return tuple(down(each) for each in returned)
        return down(returned)

    def rounded(array: Any, like: Any) -> Any:
        return down(array) if like is None or like.dtype == source else array

    def converted_each(*args: Any) -> Any:
        returned = kernel(*[up(arg) for arg in args])
        results = returned if isinstance(returned, many) else (returned,)
        found = [each if place is None else rounded(each, args[place]) for each, place in zip(results, places)]
        return tuple(found) if isinstance(returned, many) else found[0]

    return converted_each if places else converted


def explain_broadcast(name: str, tensors: list[Any]) -> None:
    """Raise the error for shapes that cannot be broadcast, if they are the reason."""
    broadcast_shapes(name, [tensor._array.shape for tensor in tensors])


def parameters_of(function: Any) -> tuple[str, ...]:
    code = function.__code__
    return tuple(code.co_varnames[: code.co_argcount])


def full_name(function: Any, namespace: str, name: str | None) -> str:
    return f"{namespace}::{(name or function.__name__).rstrip('_') or function.__name__}"


def name_code(function: Any, name: str) -> None:
    """Name a function's code too, which is what tracebacks and profiles show."""
    if type(function) is FunctionType:
        function.__code__ = function.__code__.replace(co_name=name, co_qualname=name)


def set_metadata(function: Any, source: Any, declaration: Declaration | None, public: bool) -> None:
    """Give a derived function the name and docstring of its declaration, and what declarations go on with."""
    function.is_public = public
    function.__name__ = source.__name__
    function.__qualname__ = source.__qualname__
    function.__module__ = source.__module__
    function.__doc__ = source.__doc__
    name_code(function, source.__name__)
    if declaration is None:
        return
    declaration.function = function
    function.op = declaration.op
    function.declaration = declaration

    def gradient(names: str, needs: str = "") -> Callable[[Any], Any]:
        def keep(rule: Any) -> Any:
            declaration.add_gradient(names, rule, needs)
            return rule

        return keep

    def forward(rule: Any) -> Any:
        declaration.forward = (rule, parameters_of(rule))
        return rule

    def vmap(rule: Any) -> Any:
        declaration.vmap = rule
        return rule

    def meta(rule: Any) -> Any:
        declaration.meta = rule
        return rule

    def onnx(rule: Any) -> Any:
        declaration.onnx = rule
        return rule

    function.onnx = onnx
    function.gradient = gradient
    function.meta = meta
    function.forward = forward
    function.vmap = vmap


NUMBERS = (int, float, complex, numpy.number, numpy.bool_)
OPERANDS = (TensorBase, *NUMBERS)
# In PyTorch's graph the tensor comes first of these, whose operands may be exchanged.
EXCHANGED = ("__radd__", "__rmul__")
NOT_REFLECTED = ("__round__", "__rshift__", *EXCHANGED)


def attach(
    function: Any,
    methods: str,
    inplace: str,
    declaration: Declaration | None,
    operators: Any = None,
    is_view: bool = False,
    inplace_kernel: Any = None,
) -> None:
    """Put a function on Tensor under the names of its methods, operators and in-place variants."""
    for name in methods.split():
        if name in declared_methods:
            declared_methods[name] = function
        elif operators is None or not name.startswith("__"):
            setattr(Tensor, name, function)
        else:
            install(Tensor, name, operators(name.startswith("__r") and name not in NOT_REFLECTED, name in EXCHANGED))
    for name in inplace.split():
        setattr(Tensor, name, inplace_variant(function, name, declaration, is_view, inplace_kernel))


# What an overriding class is asked for where an operator is used: as in PyTorch, the method; ``&=``, ``|=``, ``^=`` and
# the shifts are asked for by their own names.
OPERATORS_ASKED = {
    "__iadd__": "add_",
    "__ifloordiv__": "floor_divide_",
    "__imod__": "remainder_",
    "__imul__": "mul_",
    "__ipow__": "pow_",
    "__isub__": "sub_",
    "__itruediv__": "div_",
}


def is_asked(other: Any) -> bool:
    """Whether the other operand may say what an operator does: no number, nor a plain tensor."""
    if isinstance(other, TensorBase):
        return other._key.has_torch_function
    return not isinstance(other, (float, int))


def inplace_variant(
    function: Any, name: str, declaration: Declaration | None, is_view: bool, inplace_kernel: Any = None
) -> Any:
    """The method that writes a function's result into its first argument; or makes it the view that it returns."""
    if is_view:

        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                return view_inplace(name, self, function, args, kwargs)
            except Exception as error:
                if awakened(self, *args, *kwargs.values()):
                    return method(self, *args, **kwargs)
                reraise(name, function, error, (self, *args), kwargs)

    else:
        alone = with_one = None
        if declaration is not None and declaration.is_ufunc and len(declaration.arguments) == 1:
            alone = inplace_unary(declaration.op, name)
        elif declaration is not None and declaration.is_ufunc:
            with_one = inplace_operator(declaration.op, name)

        is_operator = name[0] == "_"

        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            if with_one is not None and len(args) == 1 and not kwargs and with_one(self, args[0]):
                return self
            if alone is not None and not args and not kwargs and alone(self):
                return self
            if inplace_kernel is not None and not kwargs and inplace_kernel(name, self, args):
                return self
            asks = is_operator and args and (self._key.has_torch_function or is_asked(args[0]))
            if asks or (args and not is_operator and not isinstance(args[0], (TensorBase, float, int))):
                types = overriding((self, *args) if is_operator else args)
                if types:
                    arm()
                    asked = getattr(Tensor, OPERATORS_ASKED.get(name, name))
                    try:
                        return call_override(asked, types, (self, *args), kwargs)
                    except Unimplemented:
                        if not is_operator:
                            raise
                        return NotImplemented
                if is_operator and not isinstance(args[0], (TensorBase, *NUMBERS)):
                    return NotImplemented  # what makes a new tensor of the two, or what it likes
            try:
                return write_inplace(name, self, function, args, kwargs)
            except Exception as error:
                if awakened(self, *args, *kwargs.values()):
                    return method(self, *args, **kwargs)
                reraise(name, function, error, (self, *args), kwargs)

        method.function = function  # type: ignore[attr-defined]

    method.__name__ = name
    method.__qualname__ = f"Tensor.{name}"
    name_code(method, name)
    method.__doc__ = f"In-place variant of `weft.{function.__name__}`: writes into ``self`` and returns it."
    return method


def pointwise(
    methods: str = "",
    inplace: str = "",
    *,
    kernel: str | None = None,
    formula: bool = False,
    result: str = "same",
    dtypes: str = "bool int float complex",
    compute_dtype: str = "float32",
    error_type: type[Exception] | None = None,
    error_hint: str = "",
    numbers: str | None = None,
    scalars: str = "rounded",
    strict: bool = False,
    allow_scalars: bool = False,
    out: bool | str = True,
    gradient: str | None = "declared",
    onnx: str | None = None,
    name: str | None = None,
    namespace: str = "core",
) -> Callable[[Any], Any]:
    """Declare an op that computes each element from the elements at the same place.

    Parameters
    ----------
    methods, inplace : str
        Names on Tensor, separated by spaces; ``__radd__`` and its like take their operands in reverse.
    kernel : str, optional
        A function of the array namespace that does it; the decorated function then has only the arguments
        and the docstring. Else the decorated function is the kernel and takes ``xp`` first.
    formula : bool
        The decorated function is not the kernel but a formula of one element, of which kernels are made: see
        `weft.library.formulas`.
    result, dtypes, compute_dtype, gradient
        See `Declaration`.
    numbers : str, optional
        The arguments that may be numbers; default: all, if another one is a tensor.
    scalars : str
        What becomes of a number in place of the second tensor. ``"rounded"``: it is converted to the common dtype, in
        which integers wrap around and floats may be infinite; ``"checked"``: the same, where the dtype has to hold it;
        ``"float32"``: float16 and bfloat16 tensors take it in float32, as they do a tensor without dimensions.
    strict : bool
        Each operand has to be of an accepted category; else only their common dtype.
    allow_scalars : bool
        Two numbers without a tensor will do: the result is a tensor without dimensions.
    out : bool or str
        See `op`.
    onnx : str, optional
        The operator of ONNX that does the same.
    """

    def declare(source: Any) -> Any:
        declaration = Declaration(
            full_name(source, namespace, name),
            result=result,
            dtypes=dtypes,
            promotes=True,
            compute_dtype=compute_dtype,
            gradient=gradient,
        )
        declaration.complete = True
        declaration.numbers = None if numbers is None else tuple(numbers.split())
        declaration.strict = strict
        declaration.op.takes_numbers = numbers in (None, "other")
        declaration.exact_out = out in ("exact", "exact shared")
        declaration.error_type = error_type or declaration.error_type
        declaration.error_hint = error_hint or declaration.error_hint
        declaration.vmap = "elementwise"
        declaration.onnx = onnx
        arguments = parameters_of(source) if kernel or formula else parameters_of(source)[1:]
        if formula:
            declaration.formula = Formula(declaration.name, source, arguments, (), True)
        declaration.set_kernel(kernel or declaration.formula or source, arguments, " ".join(arguments))
        if len(arguments) == 1:
            function, operators = unary(declaration, bool(out))
        elif len(arguments) == 2:
            takes = arguments if declaration.numbers is None else declaration.numbers
            declaration.scalars = {each: scalars if each == arguments[1] else "rounded" for each in takes}
            function, operators = binary(declaration, allow_scalars)
        else:
            function, operators = nary(declaration), None
        set_metadata(function, source, declaration, name is None)
        attach(function, methods, inplace, declaration, operators)
        return function

    return declare


def unary(declaration: Declaration, out: bool) -> tuple[Any, Any]:
    call = unary_operator(declaration.op)

    def function(input: Any, *, out: Any = None) -> Any:
        result = call(input) if isinstance(input, TensorBase) else declaration.dispatch((input,))
        return result if out is None else written_out(declaration, out, result, (input,))

    def without_out(input: Any) -> Any:
        return call(input) if isinstance(input, TensorBase) else declaration.dispatch((input,))

    return function if out else without_out, lambda reflected, exchanged: call


def binary(declaration: Declaration, allow_scalars: bool) -> tuple[Any, Any]:
    call = binary_operator(declaration.op, declaration.dispatch)
    op = declaration.op
    number_first = partial(of_numbers, declaration) if allow_scalars else lambda *args: declaration.dispatch(args)
    operator = binary_operator(op, declaration.dispatch_operator)
    slow = declaration.dispatch_operator
    is_division = declaration.short == "div"

    def function(input: Any, other: Any, *, out: Any = None) -> Any:
        result = call(input, other) if isinstance(input, TensorBase) else number_first(input, other)
        return result if out is None else written_out(declaration, out, result, (input, other))

    def reflected_operator(self: Any, other: Any) -> Any:
        check_reflected(self)
        key = self._key
        if is_division and not isinstance(other, TensorBase) and isinstance(other, (*OPERANDS, numpy.ndarray)):
            return self.__rdiv__(other)  # type: ignore[attr-defined]  # NumPy's own division leaves arrays to us
        if (type(other) is float or type(other) is int) and key.is_real_float and key.fast_path and op.takes_numbers:
            return binary_with_scalar(op, self, other, True)
        return slow((other, self))

    def exchanged_operator(self: Any, other: Any) -> Any:
        check_reflected(self)
        return operator(self, other)

    def chosen(reflected: bool, exchanged: bool) -> Any:
        return exchanged_operator if exchanged else reflected_operator if reflected else operator

    return function, chosen


def check_reflected(value: Any) -> None:
    if not isinstance(value, TensorBase):
        raise TypeError(f"a reflected operator belongs to Tensor and does not apply to {type(value).__name__}")


def of_numbers(declaration: Declaration, input: Any, other: Any) -> Any:
    """A call whose first operand is no tensor; if neither is, the first number becomes one."""
    if not isinstance(other, TensorBase) and isinstance(input, (int, float, complex)):
        input = tensor(input)
    return declaration.dispatch((input, other))


def nary(declaration: Declaration) -> Any:
    def function(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        if kwargs:
            args = (*args, *[kwargs.pop(name) for name in declaration.arguments[len(args) :] if name in kwargs])
        if kwargs or len(args) != len(declaration.arguments):
            raise TypeError(f"{declaration.short}(): takes {', '.join(declaration.arguments)} and out")
        result = declaration.dispatch(args)
        return result if out is None else written_out(declaration, out, result, args)

    return function


def written_out(declaration: Declaration, out: Any, result: Any, operands: Sequence[Any]) -> Any:
    if not isinstance(out, TensorBase) and awakened(out):
        return declaration.function(*operands, out=out)
    return write_out(declaration.short, out, result, declaration.exact_out, operands=operands)


def op(
    methods: str = "",
    inplace: str = "",
    *,
    tensors: str = "input",
    sequence: str = "",
    view: bool = False,
    out: bool | str = False,
    error_type: type[Exception] = RuntimeError,
    result: str = "any",
    dtypes: str = "bool int float complex",
    compute_dtype: str = "native",
    rounds_to: str = "",
    promotes: bool = False,
    gradient: str | None = "declared",
    numbers: str | None = None,
    vmap: str = "",
    linear: str = "",
    autocast: str = "",
    fast_path: FastPath | None = None,
    inplace_kernel: Any = None,
    scalars: str = "",
    onnx: str | None = None,
    name: str | None = None,
    namespace: str = "core",
) -> Callable[[Any], Any]:
    """Declare an op whose decorated function has PyTorch's signature and prepares the call.

    It checks and completes the arguments and returns ``<name>.op(...)``, with the arguments of the
    kernel, which is declared after it with ``@<name>.kernel``; or, if each element is computed alike, with
    ``@<name>.formula`` (see `weft.library.formulas`).

    Parameters
    ----------
    methods, inplace : str
        Names on Tensor, separated by spaces.
    tensors : str
        Which of the kernel's arguments are tensors (or None).
    sequence : str
        Which of those is a list of tensors.
    view : bool
        The result shares the memory of the first tensor.
    out : bool or str
        There is an ``out=`` argument; the decorated function does not name it. True: the result is converted to its
        dtype, if the category stays; ``"apart"``: as well, and its memory has to be its own; ``"exact"``: and its dtype
        that of the result; ``"exact parts"``: this only where there are several results;
        ``"exact shared"``: this, and its memory may be that of the first operand;
        ``"exact elementwise"``: this, and of any operand;
        ``"dtype"``: where no dtype is given, its dtype is that of the result.
    error_type : type
        What is raised for an ``out`` of another dtype.
    result, dtypes, compute_dtype, rounds_to, promotes, gradient
        See `Declaration`.
    numbers : str, optional
        Which of the tensor arguments may be numbers; default: all of an op that promotes, else none.
    vmap : str
        How it runs on a batch: a rule of ops/_batching.py.
    linear : str
        In which arguments it is linear: together, or each group between ``|`` for itself.
    autocast : str
        What it wants inside of `weft.autocast`: ``"half"``, ``"float32"`` or ``"widest"`` of its arguments.
    fast_path : FastPath
        What runs common forms of calls; see `weft.library.fast_paths`.
    inplace_kernel : callable
        Takes the name of the in-place variant, its tensor and other arguments, and says whether it has written the
        result: the same for a variant to which the tensor's contents do not matter.
    scalars : str
        Parameters that take numbers only, beside those that are annotated as ``float``; a tensor that requires grad is
        refused there, since its gradient would be lost.
    onnx : str, optional
        The operator of ONNX that does the same with the kernel's arguments, each a tensor.
    """

    def declare(source: Any) -> Any:
        declaration = Declaration(
            full_name(source, namespace, name),
            result=result,
            dtypes=dtypes,
            promotes=promotes,
            compute_dtype=compute_dtype,
            is_view=view,
            gradient=gradient,
        )
        declaration.numbers = None if numbers is None else tuple(numbers.split())
        declaration.rounds_to = tuple(rounds_to.split())
        declaration.vmap = vmap
        declaration.onnx = onnx
        declaration.linear = tuple(tuple(group.split()) for group in linear.split("|")) if linear else ()
        inner = in_precision(source, autocast) if autocast else source
        attempt = None if fast_path is None else fast_path.bind(source, declaration.op)
        function = (
            with_out(inner, out, error_type, attempt, scalars) if out else with_error_context(inner, attempt, scalars)
        )
        set_metadata(function, source, declaration, name is None)

        def kernel(rule: Any) -> Any:
            declaration.set_kernel(rule, parameters_of(rule)[1:], tensors, sequence)
            return rule

        def formula(rule: Any) -> Any:
            choices = [name for name, kind in source.__annotations__.items() if kind in ("str", "bool", str, bool)]
            declaration.formula = Formula(declaration.name, rule, tensors.split(), choices, promotes)
            declaration.set_kernel(declaration.formula, parameters_of(rule), tensors)
            return rule

        function.kernel = kernel
        function.formula = formula
        method = inner if view and not out else function
        operators = None if fast_path is None else lambda reflected, exchanged: product_operator(function, attempt)
        attach(method, methods, inplace, declaration, operators, is_view=view, inplace_kernel=inplace_kernel)
        return function

    return declare


def product_operator(function: Any, attempt: Any) -> Any:
    """Python's operator of a function of two tensors; what is unknown may know how to combine with a tensor."""

    def operator(self: Any, other: Any) -> Any:
        found = attempt((self, other), NO_NAMES)
        if found is not None:
            return found
        if isinstance(other, TensorBase) or hasattr(type(other), "__torch_function__"):
            try:
                return function(self, other)
            except Unimplemented:
                return NotImplemented
        return NotImplemented

    return operator


def composite(
    methods: str = "",
    inplace: str = "",
    *,
    out: bool | str = False,
    error_type: type[Exception] = RuntimeError,
    view: bool = False,
    inplace_op: Any = None,
    data_dependent: bool = False,
    autocast: str = "",
    fast_path: FastPath | None = None,
    scalars: str = "",
    leaf: str = "",
) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Declare a function over other ops: it gets methods, in-place variants and ``out=`` like an op.

    ``inplace_op`` is the op that it is without its keyword arguments (`add` without ``alpha``): in place, a backend's
    function then writes directly. ``data_dependent``: the function reads values (sizes, bounds) from its tensors, so
    that `vmap` runs it for each example. ``autocast``, ``fast_path``, ``scalars``: see `op`.
    ``leaf``: the name by which interceptors see it as one op, where its result is not made by ops.
    """

    def declare(source: Any) -> Any:
        attempt = None if fast_path is None else fast_path.bind(source)
        inner = reads_values(source) if data_dependent else source
        inner = in_precision(inner, autocast) if autocast else inner
        function = (
            with_out(inner, out, error_type, attempt, scalars, leaf)
            if out
            else with_error_context(inner, attempt, scalars, leaf)
        )
        set_metadata(function, source, None, True)
        method = inner if view and not out else function
        attach(method, methods, inplace, None if inplace_op is None else inplace_op.declaration, is_view=view)
        return function

    return declare


def with_out(
    source: Any,
    rule: bool | str,
    error_type: type[Exception] = RuntimeError,
    attempt: Any = None,
    scalars: str = "",
    leaf: str = "",
) -> Any:
    """The function with an ``out=`` argument; other parameters: see `with_error_context`."""
    short = source.__name__
    scalars = f"{scalars} {annotated_numbers(source)}"
    first = first_of(source, scalars)

    @wraps(source)
    def function(*args: Any, **kwargs: Any) -> Any:
        if attempt is not None:
            found = attempt(args, kwargs)
            if found is not None:
                return found
        if operation is not None and state.intercepting and local.interceptors:
            return operation.run(args, kwargs)
        out = kwargs.pop("out", None)
        if first is not None:
            for value in (*args[first:], *kwargs.values()):
                if isinstance(value, TensorBase):
                    args, kwargs = with_numbers(source, scalars, args, kwargs)
                    break
        if out is None:
            try:
                return source(*args, **kwargs)
            except Exception as error:
                if awakened(*args, *kwargs.values()):
                    return function(*args, **kwargs)
                again = translate_numpy_kwargs(source, error, args, kwargs)
                if again is not None:
                    return function(*again[0], **again[1])
                reraise(source.__name__, source, error, args, kwargs)
        if not isinstance(out, (TensorBase, tuple, list)) and awakened(out):
            return function(*args, out=out, **kwargs)
        dtype = kwargs.get("dtype")
        if dtype is not None:
            dtype = element_type(short, dtype)
        if rule == "dtype" and isinstance(out, TensorBase) and dtype is None:
            kwargs["dtype"] = out._key.dtype
        elif dtype is not None and isinstance(out, TensorBase) and out._key.dtype is not dtype:
            raise RuntimeError(f"{short}: Expected out tensor to have dtype {dtype}, but got {out._key.dtype} instead")
        try:
            result = source(*args, **kwargs)
        except TypeError as error:
            if awakened(*args, *kwargs.values()):
                return function(*args, out=out, **kwargs)
            again = translate_numpy_kwargs(source, error, args, kwargs)
            if again is None:
                raise
            return function(*again[0], out=out, **again[1])
        exact = rule in ("exact", "exact shared", "exact elementwise")
        exact = exact or (rule == "exact parts" and isinstance(result, tuple))
        given = (*args, *kwargs.values())
        apart = given if exact or rule == "apart" else ()
        if rule in ("exact shared", "exact elementwise"):
            apart = given[1:] if rule == "exact shared" else ()
        return write_out(short, out, result, exact, error_type, apart, given)

    function.takes_out = True  # type: ignore[attr-defined]
    operation = leaf_operation(leaf, function, source) if leaf else None
    return function


def with_error_context(source: Any, attempt: Any = None, scalars: str = "", leaf: str = "") -> Any:
    """The function, with exceptions that know nothing of it put into its words.

    ``attempt`` is the call of its fast path, which is tried first; ``scalars`` are parameters that take numbers only,
    see `with_numbers`.

    Functions with ``out=`` have that in the frame that they have already. Methods that return views do without, since
    a frame is much of what they cost: their ``self`` is a tensor, and geometry is checked by name.
    """
    scalars = f"{scalars} {annotated_numbers(source)}"
    first = first_of(source, scalars)

    def function(*args: Any, **kwargs: Any) -> Any:
        if attempt is not None:
            found = attempt(args, kwargs)
            if found is not None:
                return found
        if operation is not None and state.intercepting and local.interceptors:
            return operation.run(args, kwargs)
        if first is not None:
            for value in (*args[first:], *kwargs.values()):
                if isinstance(value, TensorBase):
                    args, kwargs = with_numbers(source, scalars, args, kwargs)
                    break
        try:
            return source(*args, **kwargs)
        except Exception as error:
            if awakened(*args, *kwargs.values()):
                return function(*args, **kwargs)
            again = translate_numpy_kwargs(source, error, args, kwargs)
            if again is not None:
                return function(*again[0], **again[1])
            reraise(source.__name__, source, error, args, kwargs)

    function.__wrapped__ = source  # type: ignore[attr-defined]
    function.__annotations__ = source.__annotations__  # its own speak of the names of this module
    operation = leaf_operation(leaf, function, source) if leaf else None
    return function


def leaf_operation(name: str, function: Any, source: Any) -> Operation:
    """What interceptors see of a composite that is one op to them."""
    function.operation = operation = Operation(name, function, source)
    return operation


def onnx_of(function: Any) -> Callable[[R], R]:
    """Decorator: how a composite that is one op to interceptors (``leaf``) is written to ONNX files."""

    def keep(rule: R) -> R:
        function.operation.onnx = rule
        return rule

    return keep


def annotated_numbers(source: Any) -> str:
    """The parameters that are ``float``; those that compute with tensors as well are ``float | Tensor``."""
    kinds = source.__annotations__.items()
    return " ".join([name for name, kind in kinds if kind in ("float", "float | None") and name != "return"])


def first_of(source: Any, scalars: str) -> int | None:
    """The place of the first parameter that takes numbers only; None where there is none."""
    places = places_of(source)
    return min((places.index(name) if name in places else len(places) for name in scalars.split()), default=None)


def places_of(source: Any) -> tuple[str, ...]:
    """The parameters by position, of what decorators wrap."""
    while hasattr(source, "__wrapped__"):
        source = source.__wrapped__
    return parameters_of(source)


def with_numbers(
    source: Any, scalars: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments, with the number in each tensor that is given for one.

    Raises
    ------
    TypeError
        If that tensor requires grad, since its gradient would be lost, or has dimensions.
    """
    names = scalars.split()

    def number(parameter: str, value: Any) -> Any:
        if parameter not in names or not isinstance(value, TensorBase):
            return value
        if value._array.ndim:
            raise TypeError(
                f"{source.__name__}(): argument '{parameter}' must be Number, not a {value._array.ndim}-D Tensor"
            )
        return number_in(source.__name__, value, parameter)

    found = [number(parameter, value) for parameter, value in zip(places_of(source), args)]
    return (*found, *args[len(found) :]), {name: number(name, value) for name, value in kwargs.items()}


NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input", "x2": "other"}


def translate_numpy_kwargs(
    source: Any, error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments of a call that failed, as the function takes them; None if nothing is to change.

    NumPy's names are taken for PyTorch's, ``size=(2, 3)`` where sizes may also come one by one, and deprecated
    signatures, see ops/_deprecated.py.
    """
    if not isinstance(error, TypeError):
        return None
    if "positional argument" in str(error):
        from weft.ops._deprecated import current_form

        found: Any = current_form(source.__name__, args, kwargs)
        return found
    if not kwargs or "unexpected keyword argument" not in str(error):
        return None
    code = getattr(source, "__wrapped__", source).__code__
    count = code.co_argcount + code.co_kwonlyargcount
    parameters, rest = code.co_varnames[:count], code.co_varnames[count : count + 1]
    if code.co_flags & CO_VARARGS and rest[0] in kwargs and len(args) <= code.co_argcount:
        others = {name: value for name, value in kwargs.items() if name != rest[0]}
        return (*args, kwargs[rest[0]]), others
    renamed = {
        NUMPY_NAMES[name] if name not in parameters and NUMPY_NAMES.get(name) in parameters else name: value
        for name, value in kwargs.items()
    }
    return (args, renamed) if len(renamed) == len(kwargs) and renamed.keys() != kwargs.keys() else None


def reraise(name: str, source: Any, error: Exception, args: Any, kwargs: Any) -> NoReturn:
    """Raise what `explained` makes of an exception that a function ended with."""
    from weft.ops._explain import explained

    declared = getattr(source, "__wrapped__", source)
    found = explained(name, error, parameters_of(declared), args, kwargs)
    if found is error:
        raise error
    raise found from error


def public_functions(modules: Iterable[Any]) -> dict[str, Any]:
    """What modules of declarations offer, by the names that they give it (aliases too)."""
    return {
        name: value
        for module in modules
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "is_public", False)
    }


default_listeners.append(invalidate_kernels)  # some compute in the default dtype

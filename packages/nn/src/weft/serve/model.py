"""A model as a server needs it: loaded from a file, warmed, with declared inputs and outputs."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import weft
import weft.plugins
from weft import Tensor
from weft.nn.module import Module
from weft.serve.protocol import DATATYPES, InferenceError, TensorSpec, decode, encode, requested_outputs
from weft.utils import _pytree as pytree

if TYPE_CHECKING:
    from weft.serve.programs import Program

__all__ = ["InferenceModel"]

logger = logging.getLogger("weft.serve")
Specs = Sequence[TensorSpec | Mapping[str, Any]]
# What kernels and modules raise for values or sizes that a declaration of shapes cannot rule out.
OF_THE_REQUEST = (IndexError, ValueError, RuntimeError)


class InferenceModel:
    """A model that answers inference requests, once it is loaded and warmed.

    Parameters
    ----------
    source : path, Module or ExportedProgram
        A ``.pt2`` file is an exported program, which needs nothing else. Another file is a ``state_dict`` that
        `weft.save` or PyTorch wrote, and needs ``build`` and ``inputs``. Loading runs no code of the file.
    build : callable or str, optional
        Makes the module that a ``state_dict`` is loaded into; as a string, ``"package.module:function"``.
    inputs, outputs : list of TensorSpec or of dict, optional
        Where there is no program to read them from. Outputs that are not declared are found by warming.
    name : str, default "model"
    version : str, optional
    device : str, default "cpu"
    max_batch_size : int, default 32
        Of rows in one run of the model, where requests are batched. 1: they never are.
    examples : sequence of Tensor, optional
        Inputs to warm with. Without, they are zeros.

    Attributes
    ----------
    ready : bool
        Whether `load` has finished.

    Raises
    ------
    ValueError
        If a ``state_dict`` or a module comes without what it needs.

    Examples
    --------
    >>> from weft import nn
    >>> from weft.serve import InferenceModel
    >>> inputs = [{"name": "x", "datatype": "FP32", "shape": [-1, 3]}]
    >>> model = InferenceModel(nn.Linear(3, 2), inputs=inputs, name="line")
    >>> model.ready
    False
    >>> model.load()
    >>> model.metadata()["outputs"]
    [{'name': 'output', 'datatype': 'FP32', 'shape': [-1, 2]}]
    >>> request = {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 3], "data": [0, 0, 0]}]}
    >>> model.infer(request)["outputs"][0]["shape"]
    [1, 2]
    """

    def __init__(
        self,
        source: Any,
        *,
        build: Callable[[], Module] | str | None = None,
        inputs: Specs | None = None,
        outputs: Specs | None = None,
        name: str = "model",
        version: str | None = None,
        device: str = "cpu",
        max_batch_size: int = 32,
        examples: Sequence[Tensor] | None = None,
    ) -> None:
        if max_batch_size < 1:
            raise ValueError(f"InferenceModel: max_batch_size must be at least 1, got {max_batch_size}")
        self.source, self.build = source, build
        self.name, self.version, self.device = name, version, device
        self.max_batch_size = max_batch_size
        self.inputs = [TensorSpec.make(each) for each in inputs or ()]
        self.outputs = [TensorSpec.make(each) for each in outputs or ()]
        self.examples = examples
        self.ready = False
        self._program: Program | None = None
        self._function: Callable[..., Any] | None = None
        self._describe()

    def __getstate__(self) -> dict[str, Any]:
        """What another process needs to load the model itself."""
        return self.__dict__ | {"ready": False, "_program": None, "_function": None}

    def load(self) -> None:
        """Load the model, run it at the smallest and the largest batch, and only then be ready.

        Kernels that the backend compiles are compiled here, not when a request waits for them.

        Raises
        ------
        Exception
            Whatever hinders it: no such file, a ``state_dict`` of another model, outputs that are not as declared.
        """
        if self._program is None:
            self._describe()
        self._function = self._load_function()
        if not self.inputs:
            raise ValueError(f"InferenceModel: {self.name!r} needs inputs=[...]: names, datatypes and shapes")
        weft.plugins.backend(weft.device(self.device).type).compile_at_once()
        self._warm()
        self.ready = True

    def _describe(self) -> None:
        """Take the inputs and outputs of a program, if it is one."""
        source = self.source
        is_file = isinstance(source, str | Path)
        if isinstance(source, Module) or (is_file and Path(source).suffix != ".pt2"):
            return
        from weft.export import ExportedProgram, load
        from weft.serve.programs import Program

        source = load(source) if is_file else source
        if not isinstance(source, ExportedProgram):
            raise TypeError(f"InferenceModel: expected a file, Module or ExportedProgram, got {type(source).__name__}")
        self._program = Program(source)
        self.inputs, self.outputs = self._program.inputs, self.outputs or self._program.outputs
        low, high = self._program.limits()
        self.max_batch_size = max(low, min(self.max_batch_size, high))

    def _load_function(self) -> Callable[..., Any]:
        if self._program is not None:
            return self._program.function(self.device)
        module = self.source if isinstance(self.source, Module) else self._load_state_dict(self.source)
        return module.eval().to(self.device)

    def _load_state_dict(self, path: str | Path) -> Module:
        if self.build is None:
            raise ValueError(
                f"InferenceModel: {str(path)!r} holds weights only; give build=, which makes the module that they "
                'belong to: a function, or its name as "package.module:function"'
            )
        module = _imported(self.build)()
        module.load_state_dict(weft.load(path, map_location="cpu"))
        return module

    # Warming

    def _warm(self) -> None:
        small = self._run(self._examples(1 if self._program is None else max(1, self._program.limits()[0])))
        names = ["output"] if len(small) == 1 else [f"output_{index}" for index in range(len(small))]
        large = self._run(self._examples(self.max_batch_size)) if self.can_batch else small
        found = [_spec(name, one, two) for name, one, two in zip(names, small, large, strict=True)]
        if not self.outputs:
            self.outputs = found
        _check_declared(self.name, self.outputs, found)

    def _examples(self, batch: int) -> list[Tensor]:
        if self.examples is not None:
            if not self.can_batch:
                return list(self.examples)
            return [example[:1].expand(batch, *example.shape[1:]).contiguous() for example in self.examples]
        if self._program is not None:
            return self._program.zeros(batch)
        return [self._zeros(spec, batch) for spec in self.inputs]

    def _zeros(self, spec: TensorSpec, batch: int) -> Tensor:
        sizes = [batch if axis == 0 and size == -1 else size for axis, size in enumerate(spec.shape)]
        if -1 in sizes:
            raise ValueError(
                f"InferenceModel: input {spec.name!r} of shape {list(spec.shape)} has sizes besides the batch that may "
                "be any: give examples=, to warm with"
            )
        return weft.zeros(sizes, dtype=spec.dtype)

    @property
    def can_batch(self) -> bool:
        """Whether requests may be joined along the first axis: any size is allowed there, in all inputs and outputs."""
        if self._program is not None and self._program.batch is None:
            return False
        specs = [*self.inputs, *self.outputs]
        return self.max_batch_size > 1 and all(spec.shape[:1] == (-1,) for spec in specs)

    # Requests

    def metadata(self) -> dict[str, Any]:
        """Return the model's metadata as the protocol has them."""
        return {
            "name": self.name,
            "versions": [] if self.version is None else [self.version],
            "platform": "weft",
            "inputs": [spec.describe() for spec in self.inputs],
            "outputs": [spec.describe() for spec in self.outputs],
        }

    def decode(self, content: Any) -> list[Tensor]:
        """Return the input tensors of a request.

        Raises
        ------
        InferenceError
            If the request does not fit the model: status 400, and nothing has been run.
        """
        tensors = decode(content, self.inputs)
        requested_outputs(content, self.outputs)
        if self.can_batch and len({len(tensor) for tensor in tensors}) > 1:
            sizes = {spec.name: len(tensor) for spec, tensor in zip(self.inputs, tensors)}
            raise InferenceError(f"the inputs' first sizes, the batch, must be equal; got {sizes}")
        return tensors

    def encode(self, content: dict[str, Any], results: Sequence[Tensor]) -> dict[str, Any]:
        """Return the response to a request whose outputs are ``results``."""
        return encode(content, results, self.outputs, self.name, self.version)

    def run(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Run the model, without recording for gradients.

        Raises
        ------
        InferenceError
            With status 503 before the model is ready; with 400 if the model refuses the numbers or sizes, a word that
            is in no vocabulary or a text that is too long; with 500 if memory does not suffice or anything else fails.
        """
        if not self.ready:
            raise InferenceError(f"model {self.name!r} is not ready", status=503)
        try:
            return self._run(tensors)
        except weft.OutOfMemoryError as error:
            raise InferenceError(f"model {self.name!r} ran out of memory", status=500) from error
        except OF_THE_REQUEST as error:
            raise InferenceError(f"model {self.name!r} refused the input: {error}") from error
        except Exception as error:
            logger.exception("model %r failed", self.name)
            raise InferenceError(f"model {self.name!r} failed: {type(error).__name__}", status=500) from error

    def infer(self, content: Any) -> dict[str, Any]:
        """Answer one request, without batching.

        Parameters
        ----------
        content : dict
            The request's JSON, parsed.

        Returns
        -------
        dict

        Raises
        ------
        InferenceError
        """
        return self.encode(content, self.run(self.decode(content)))

    def _run(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        assert self._function is not None
        with weft.inference_mode():
            result = self._function(*[tensor.to(self.device) for tensor in tensors])
        return [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, Tensor)]


def _imported(build: Callable[[], Module] | str) -> Callable[[], Module]:
    if not isinstance(build, str):
        return build
    module, _, function = build.partition(":")
    if not function:
        raise ValueError(f'InferenceModel: build must be "package.module:function", got {build!r}')
    return getattr(importlib.import_module(module), function)


def _spec(name: str, small: Tensor, large: Tensor) -> TensorSpec:
    """Describe an output by what it was at two batch sizes: a size that differs may be any."""
    if small.dtype not in DATATYPES:
        raise ValueError(f"InferenceModel: {name} has dtype {small.dtype}, which the protocol cannot express")
    shape = tuple(one if one == two else -1 for one, two in zip(small.shape, large.shape, strict=True))
    return TensorSpec(name, DATATYPES[small.dtype], shape)


def _check_declared(name: str, declared: Sequence[TensorSpec], found: Sequence[TensorSpec]) -> None:
    agree = len(declared) == len(found) and all(
        one.datatype == two.datatype
        and len(one.shape) == len(two.shape)
        and all(-1 in (size, other) or size == other for size, other in zip(one.shape, two.shape))
        for one, two in zip(declared, found)
    )
    if not agree:
        described = [f"{spec.datatype}{list(spec.shape)}" for spec in found]
        raise ValueError(
            f"InferenceModel: {name!r} declares the outputs {[spec.describe() for spec in declared]}; its outputs are "
            f"{described}"
        )

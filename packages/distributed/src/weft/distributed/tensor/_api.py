"""`DTensor`: a tensor of which each process of a mesh has a part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import weft
from weft.distributed import distributed_c10d as c10d
from weft.distributed.device_mesh import DeviceMesh, current_mesh
from weft.distributed.tensor._dtensor_spec import DTensorSpec, Placements, TensorMeta, local_sizes
from weft.distributed.tensor._redistribute import place_of, redistribute_local
from weft.distributed.tensor.placement_types import Placement, Replicate, Shard, _StridedShard
from weft.library.multi_tensor import steps_on

__all__ = ["DTensor", "distribute_module", "distribute_tensor"]


class DTensor(weft.Tensor):
    """A tensor of which each process of a mesh has a part; ops work on the parts, and communicate where they must.

    Made by `distribute_tensor`, `DTensor.from_local`, the functions `zeros`, `rand`, … of this module, and by ops.

    Attributes
    ----------
    placements : tuple of Placement
        One for each dim of the mesh.
    device_mesh : DeviceMesh
    """

    _local_tensor: Any
    _spec: DTensorSpec

    @staticmethod
    def __new__(cls: type, local_tensor: Any, spec: DTensorSpec, *, requires_grad: bool = False) -> Any:
        meta = spec.tensor_meta
        assert meta is not None
        made = weft.Tensor._make_wrapper_subclass(
            cls, meta.shape, strides=meta.stride, dtype=meta.dtype, device=local_tensor.device
        )
        made._local_tensor, made._spec = local_tensor, spec
        if requires_grad:
            made.requires_grad_(True)
        return made

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an op on the parts."""
        from weft.distributed.tensor._dispatch import dispatch

        return dispatch(func, args, kwargs or {})

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        """Show this process's part, the mesh and the placements."""
        return (
            f"DTensor(local_tensor={self._local_tensor}, device_mesh={self._spec.mesh}, "
            f"placements={self._spec.placements})"
        )

    __str__ = __repr__

    @property
    def device_mesh(self) -> DeviceMesh:
        """The processes that have parts."""
        return self._spec.mesh

    @property
    def placements(self) -> Placements:
        """How each dim of the mesh divides the tensor."""
        return self._spec.placements

    @property
    def data(self) -> Any:
        """The tensor without history; setting it gives this one another's part and placements."""
        return self.detach()

    @data.setter
    def data(self, value: Any) -> None:
        if not isinstance(value, DTensor):
            raise TypeError(f"data: a DTensor's data is a DTensor, got {type(value).__name__}: use distribute_tensor")
        weft.Tensor.data.__set__(self, value)  # type: ignore[attr-defined]
        self._local_tensor, self._spec = value._local_tensor, value._spec

    @staticmethod
    def from_local(
        local_tensor: Any,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
        *,
        run_check: bool = False,
        shape: Any = None,
        stride: Sequence[int] | None = None,
        grad_placements: Sequence[Placement] | None = None,
    ) -> DTensor:
        """Make a DTensor of the parts that the processes have; gradients go to them.

        Parameters
        ----------
        local_tensor : Tensor
        device_mesh : DeviceMesh, optional
            Default: that of the ``with`` block.
        placements : sequence of Placement, optional
            Default: `Replicate` along each dim.
        run_check : bool
            Compare the shapes of all processes, and let those that have the same part have the first one's.
        shape, stride : optional
            Of the whole tensor, where parts are not of equal size.
        grad_placements : sequence of Placement, optional
            Those of the gradient that comes to ``local_tensor``.

        Raises
        ------
        RuntimeError
            If ``local_tensor`` is a DTensor.
        ValueError
            If one of ``shape`` and ``stride`` is given without the other, or there are too few placements.
        """
        if isinstance(local_tensor, DTensor):
            raise RuntimeError("the local_tensor argument only accepts torch.Tensor but got DTensor value.")
        mesh = current_mesh("DTensor.from_local") if device_mesh is None else device_mesh
        ways = normalized("DTensor.from_local", placements, mesh, local_tensor.ndim, Replicate())
        if (shape is None) != (stride is None):
            raise ValueError("DTensor.from_local: Please pass both shape and stride at the same time.")
        grad_ways = None if grad_placements is None else tuple(grad_placements)
        return FromLocal.apply(local_tensor, mesh, ways, run_check, shape, stride, grad_ways)  # type: ignore[no-any-return]

    def to_local(self, *, grad_placements: Sequence[Placement] | None = None) -> Any:
        """Return this process's part; the gradient that comes to it is a part of the whole's.

        Parameters
        ----------
        grad_placements : sequence of Placement, optional
            How the gradients of the parts make up that of the whole. Default: as the parts make up the whole, and for
            `Partial` each process has the whole gradient.
        """
        if not self.requires_grad or not weft.is_grad_enabled():
            return self._local_tensor
        return ToLocal.apply(self, None if grad_placements is None else tuple(grad_placements))

    def redistribute(
        self,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
        *,
        async_op: bool = False,
        forward_dtype: Any = None,
        backward_dtype: Any = None,
    ) -> DTensor:
        """Return the tensor with other placements: by gathering, reducing, dividing, or exchanging parts.

        Parameters
        ----------
        device_mesh : DeviceMesh, optional
            The tensor's own.
        placements : sequence of Placement
            `Partial` only where it is so already.
        async_op : bool
            Accepted; the tensor is there when the call returns.
        forward_dtype, backward_dtype : dtype, optional
            What the tensor, or its gradient, is converted to before it is communicated.

        Raises
        ------
        RuntimeError
            If there are no placements, or one would become `Partial`.
        NotImplementedError
            For another mesh.
        """
        if device_mesh is not None and device_mesh != self._spec.mesh:
            raise NotImplementedError(
                "redistribute: Cross device mesh comm not supported yet! Use full_tensor() and distribute_tensor()"
            )
        if placements is None:
            raise RuntimeError("placements is needed for redistribute!")
        ways = normalized("redistribute", placements, self._spec.mesh, self.ndim, None)
        for now, then in zip(self._spec.placements, ways):
            if then.is_partial() and now != then:
                raise RuntimeError(
                    f"Can not redistribute from {now} to {then}, redistributing to Partial is for internal use only!"
                )
        return Redistribute.apply(self, ways, forward_dtype, backward_dtype)  # type: ignore[no-any-return]

    def full_tensor(self, *, grad_placements: Sequence[Placement] | None = None) -> Any:
        """Return the whole tensor, in all processes; all call it."""
        whole = self.redistribute(placements=[Replicate()] * self._spec.mesh.ndim)
        return whole.to_local(grad_placements=grad_placements)

    def __reduce_ex__(self, protocol: Any) -> Any:
        meta = self._spec.tensor_meta
        state = {
            name: value for name, value in self.__dict__.items() if name not in ("_local_tensor", "_spec", "_hash")
        }
        parts = (type(self), self._local_tensor, self._spec.mesh, self._spec.placements, meta, self.requires_grad)
        return rebuild, (*parts, state)

    def __deepcopy__(self, memo: Any) -> Any:
        if id(self) in memo:
            return memo[id(self)]
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user support the deepcopy protocol at the moment."
            )
        made: Any = DTensor(self._local_tensor.detach().clone(), self._spec, requires_grad=self.requires_grad)
        if getattr(self, "_is_param", False):
            made = weft.nn.Parameter(made, self.requires_grad)
        memo[id(self)] = made
        if self.grad is not None:
            made.grad = self.grad.__deepcopy__(memo)
        return made

    def tolist(self) -> Any:
        """Refused: a part is not the whole."""
        raise RuntimeError(f".tolist() is not supported for tensor subclasses, got {type(self).__name__}")

    def numpy(self, *, force: bool = False) -> Any:
        """Refused: a part is not the whole."""
        raise RuntimeError(".numpy() is not supported for tensor subclasses: use full_tensor() or to_local()")

    def __create_chunk_list__(self) -> list[Any]:
        """Return where this process's part is in the whole, as checkpoints ask."""
        from weft.distributed.checkpoint.metadata import ChunkStorageMetadata

        sizes, offsets = local_sizes(self.shape, self._spec.mesh.shape, place_of(self._spec.mesh), self.placements)
        return [ChunkStorageMetadata(offsets=weft.Size(offsets), sizes=weft.Size(sizes))]


def parts_of(row: Sequence[Any]) -> list[Any]:
    """The parts of a parameter, its gradient and its state: an optimizer's formula is of elements."""
    wanted = row[0]._spec.placements
    found = []
    for each in row:
        if isinstance(each, DTensor) and each.ndim:
            local = each._local_tensor
            if each._spec.placements != wanted:
                local = redistribute_local(local, each._spec.mesh, each.shape, each._spec.placements, wanted)
            found.append(local)
        else:
            found.append(each._local_tensor if isinstance(each, DTensor) else each)
    return found


steps_on(DTensor, parts_of)


def rebuild(
    cls: type, local: Any, mesh: DeviceMesh, placements: Placements, meta: Any, requires_grad: bool, state: Any
) -> Any:
    """A DTensor from a pickle."""
    made: Any = DTensor(local.detach(), DTensorSpec(mesh, placements, TensorMeta(*meta)), requires_grad=requires_grad)
    if state.get("_is_param"):
        made = weft.nn.Parameter(made, requires_grad)
    made.__dict__.update(state)
    return made


def contiguous_stride(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of a contiguous tensor."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def whole_stride(local: Any, shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of a whole, in the order of its part's."""
    order = sorted(range(len(shape)), key=lambda dim: (local.stride(dim), -dim))
    strides, step = [0] * len(shape), 1
    for dim in order:
        strides[dim] = step
        step *= max(shape[dim], 1)
    return tuple(strides)


def made_of(local: Any, mesh: DeviceMesh, placements: Placements, shape: Any, stride: Any = None) -> Any:
    """A DTensor of a part, without history."""
    strides = (
        (contiguous_stride(shape) if local.is_contiguous() else whole_stride(local, shape))
        if stride is None
        else stride
    )
    return DTensor(local, DTensorSpec(mesh, placements, TensorMeta(weft.Size(shape), tuple(strides), local.dtype)))


def whole_shape(local: Any, mesh: DeviceMesh, placements: Placements) -> list[int]:
    """The shape of the whole whose parts are all of one size."""
    shape = list(local.shape)
    for dim, placement in enumerate(placements):
        if isinstance(placement, Shard):
            shape[placement.dim] *= mesh.size(dim)
    return shape


def normalized(
    name: str, placements: Sequence[Placement] | None, mesh: DeviceMesh, ndim: int, default: Placement | None
) -> Placements:
    """The placements of a tensor, with dimensions counted from the first.

    Raises
    ------
    ValueError
        If there are not as many as dims of the mesh.
    RuntimeError
        If one is no placement, or divides a dimension that is not there.
    """
    if placements is None:
        assert default is not None
        return (default,) * mesh.ndim
    if isinstance(placements, Placement):
        placements = [placements]
    if len(placements) != mesh.ndim:
        raise ValueError(
            "`placements` must have the same length as `device_mesh.ndim`! "
            f"Found placements length: {len(placements)}, and device_mesh.ndim: {mesh.ndim}."
        )
    found: list[Placement] = []
    for each in placements:
        if not isinstance(each, Placement):
            raise RuntimeError(f"{name}: placements must be Shard, Replicate or Partial, got {each!r}")
        if isinstance(each, Shard):
            if not -ndim <= each.dim < ndim:
                raise AssertionError(f"Sharding dim {each.dim} greater than tensor ndim {ndim}")
            if each.dim < 0:
                dim = each.dim + ndim
                each = (
                    _StridedShard(dim, split_factor=each.split_factor)
                    if isinstance(each, _StridedShard)
                    else Shard(dim)
                )
        found.append(each)
    return tuple(found)


def of_gradient(placements: Placements) -> Placements:
    """The placements of a gradient: whole where the tensor is a sum of terms."""
    return tuple(Replicate() if each.is_partial() else each for each in placements)


class FromLocal(weft.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, local: Any, mesh: DeviceMesh, placements: Placements, check: bool, shape: Any, stride: Any, grad: Any
    ) -> Any:
        ctx.mesh, ctx.placements = mesh, placements if grad is None else grad
        local = local.detach().view_as(local)
        if check and mesh.get_coordinate() is not None:
            local = checked(local, mesh, placements)
        sizes = whole_shape(local, mesh, placements) if shape is None else shape
        if mesh.get_coordinate() is None:
            local = local.new_empty(0)
        return made_of(local, mesh, placements, sizes, stride)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        now = grad._spec.placements
        local = grad._local_tensor
        if now != ctx.placements:
            local = redistribute_local(local, ctx.mesh, grad.shape, now, ctx.placements, is_backward=True)
        return local, None, None, None, None, None, None


def checked(local: Any, mesh: DeviceMesh, placements: Placements) -> Any:
    """A part whose shape is that of the others', with the first process's values where all have the same."""
    for dim, placement in enumerate(placements):
        group = mesh.get_group(dim)
        shapes: list[Any] = [None] * group.size()
        c10d.all_gather_object(shapes, tuple(local.shape), group)
        own = [[size for at, size in enumerate(shape) if not placement.is_shard(at)] for shape in shapes]
        if any(shape != own[0] for shape in own):
            raise RuntimeError(f"DTensor.from_local: the parts along dim {dim} of the mesh have shapes {shapes}")
        if placement.is_replicate():
            local = local.contiguous()
            c10d.broadcast(local, group=group, group_src=0)
    return local


class ToLocal(weft.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: Any, grad_placements: Any) -> Any:
        spec = tensor._spec
        ctx.mesh, ctx.meta = spec.mesh, spec.tensor_meta
        ctx.placements = of_gradient(spec.placements) if grad_placements is None else grad_placements
        local = tensor._local_tensor
        return local.view_as(local)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return made_of(grad, ctx.mesh, ctx.placements, ctx.meta.shape), None


class Redistribute(weft.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: Any, target: Placements, forward_dtype: Any, backward_dtype: Any) -> Any:
        spec = tensor._spec
        ctx.placements, ctx.backward_dtype, ctx.dtype = spec.placements, backward_dtype, tensor.dtype
        local = tensor._local_tensor
        if forward_dtype is not None:
            local = local.to(forward_dtype)
        moved = redistribute_local(local, spec.mesh, tensor.shape, spec.placements, target)
        stride = tensor.stride() if moved is local else None
        if moved is tensor._local_tensor:
            moved = moved.view_as(moved)
        return made_of(moved, spec.mesh, target, tensor.shape, stride)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        now = grad._spec.placements
        then = tuple(
            Replicate() if target.is_partial() and not current.is_partial() else target
            for current, target in zip(now, ctx.placements)
        )
        local = grad._local_tensor
        if ctx.backward_dtype is not None:
            local = local.to(ctx.backward_dtype)
        local = redistribute_local(local, grad._spec.mesh, grad.shape, now, then, is_backward=True).to(ctx.dtype)
        return made_of(local, grad._spec.mesh, then, grad.shape), None, None, None


def distribute_tensor(
    tensor: Any,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> DTensor:
    """Divide a tensor that each process has (a leaf) among the processes of a mesh.

    Parameters
    ----------
    tensor : Tensor
    device_mesh : DeviceMesh, optional
        Default: that of the ``with`` block.
    placements : sequence of Placement, optional
        Default: `Replicate` along each dim.
    src_data_rank : int or None
        The process, by its place along each dim, whose values are taken; None: each takes its own, and nothing is
        communicated.

    Raises
    ------
    RuntimeError
        If the tensor is no leaf.
    ValueError
        If it is a DTensor with another mesh or other placements, or the placements are not as many as the mesh's dims.
    """
    mesh = current_mesh("distribute_tensor") if device_mesh is None else device_mesh
    ways = normalized("distribute_tensor", placements, mesh, tensor.ndim, Replicate())
    if isinstance(tensor, DTensor):
        if tensor.device_mesh != mesh:
            raise ValueError(
                f"Cannot distribute a DTensor with device mesh {tensor.device_mesh} to a different device mesh {mesh}."
            )
        if tensor.placements != ways:
            raise ValueError(
                f"Cannot distribute a DTensor with placements {tensor.placements} to a different placements {ways}. "
                "do you want to call `redistribute` instead?"
            )
        return tensor
    if not tensor.is_leaf:
        raise RuntimeError("`distribute_tensor` should be used to distribute leaf tensors! but found non-leaf tensor!")
    local = tensor.detach()
    if local.device.type != mesh.device_type and local.device.type != "meta":
        local = local.to(mesh.device_type)
    if mesh.get_coordinate() is None:
        local = local.new_empty(0)
    else:
        if src_data_rank is not None and local.device.type != "meta":
            local = from_source(local, mesh, src_data_rank)
        whole: Placements = (Replicate(),) * mesh.ndim
        local = redistribute_local(local, mesh, tensor.shape, whole, ways)
    if local is tensor or local._is_view():
        local = local.view_as(local)
    made = made_of(local, mesh, ways, tensor.shape, tensor.stride() if local.device.type == "meta" else None)
    made.requires_grad_(tensor.requires_grad)
    return made  # type: ignore[no-any-return]


def from_source(local: Any, mesh: DeviceMesh, source: int) -> Any:
    """The values of the process at a place along each dim of a mesh, in all processes."""
    if mesh.size() == 1:
        return local
    values = local.clone(memory_format=weft.contiguous_format)
    for dim in range(mesh.ndim):
        if mesh.size(dim) > 1:
            c10d.broadcast(values, group=mesh.get_group(dim), group_src=source)
    return values


def distribute_module(
    module: Any,
    device_mesh: DeviceMesh | None = None,
    partition_fn: Callable[[str, Any, DeviceMesh], None] | None = None,
    input_fn: Callable[[Any, Any, DeviceMesh], Any] | None = None,
    output_fn: Callable[[Any, Any, DeviceMesh], Any] | None = None,
) -> Any:
    """Make a module's parameters and buffers DTensors, and let functions see what it is called with and returns.

    Parameters
    ----------
    module : Module
        Changed in place.
    device_mesh : DeviceMesh, optional
    partition_fn : callable, optional
        Takes each submodule's name, the submodule and the mesh, and divides its parameters. Those that it leaves are
        made `Replicate`.
    input_fn, output_fn : callable, optional
        Take the module, its positional arguments or its result, and the mesh, and return what is used in their place.

    Returns
    -------
    Module
        The same one.

    Raises
    ------
    RuntimeError
        If it was distributed before.
    """
    mesh = current_mesh("distribute_module") if device_mesh is None else device_mesh
    if getattr(module, "_distribute_module_applied", False):
        raise RuntimeError(
            "distribute_module should only be called once on a module, but it has already been called on this module!"
        )
    for name, submodule in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, submodule, mesh)
        replicate(submodule, mesh)
    if input_fn is not None:
        module.register_forward_pre_hook(lambda mod, inputs: input_fn(mod, inputs, mesh))
    if output_fn is not None:
        module.register_forward_hook(lambda mod, inputs, outputs: output_fn(mod, outputs, mesh))
    module._distribute_module_applied = True
    return module


def replicate(module: Any, mesh: DeviceMesh) -> None:
    """Make a module's own parameters and buffers DTensors, where they are not."""
    ways = [Replicate()] * mesh.ndim
    for key, param in module._parameters.items():
        if param is not None and not isinstance(param, DTensor):
            made = weft.nn.Parameter(distribute_tensor(param.detach(), mesh, ways), param.requires_grad)
            module.register_parameter(key, made)
    for key, buffer in module._buffers.items():
        if buffer is not None and not isinstance(buffer, DTensor):
            module._buffers[key] = distribute_tensor(buffer, mesh, ways)

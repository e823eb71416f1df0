"""A unit of `fully_shard`: parameters that are gathered together, and whose gradients are reduced.

At rest each process has a part of each parameter, a `DTensor` that the optimizer sees. Before use the parts are
gathered into other parameters, the whole ones, which the module has until it is used no more. These stay the same
objects, since the graph has them: only their memory comes and goes. Their gradients are reduced as soon as they are
there, and each process adds its part of the result to the gradient of its part.

Parameters of a unit are gathered in buckets, each by one collective: a large one by itself, straight into its place,
and all small ones together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import weft
from weft.distributed import distributed_c10d as c10d
from weft.distributed.device_mesh import DeviceMesh
from weft.distributed.tensor import DTensor, Replicate, Shard
from weft.distributed.tensor._api import contiguous_stride
from weft.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta
from weft.distributed.tensor.placement_types import Placement, _StridedShard

__all__ = ["Bucket", "MeshInfo", "ShardedParameter", "Unit"]

LARGE = 1 << 16  # elements of a parameter that is gathered by itself


class MeshInfo:
    """The dims of a mesh of which `fully_shard` makes use: the last shards, one before it replicates."""

    def __init__(self, mesh: DeviceMesh) -> None:
        if mesh.ndim not in (1, 2):
            raise ValueError(f"fully_shard expects a 1D or 2D DeviceMesh but got {mesh}")
        self.mesh = mesh
        self.group = mesh.get_group(mesh.ndim - 1)
        self.size = mesh.size(mesh.ndim - 1)
        self.rank = mesh.get_local_rank(mesh.ndim - 1)
        self.replicas = mesh.get_group(0) if mesh.ndim == 2 else None
        self.device = weft.device(mesh.device_type)

    @property
    def count(self) -> int:
        """The number of processes among which gradients are averaged."""
        return self.mesh.size()


class ShardedParameter:
    """A parameter, its part and its whole.

    Attributes
    ----------
    owners : list of (Module, str)
        The modules that have it, and under which name.
    part : Parameter
        A `DTensor`.
    whole : Parameter
        Where the module is used; its memory is there between `fill` and `empty`.
    dim : int
        Along which it is divided.
    """

    def __init__(self, owners: list[tuple[Any, str]], param: Any, info: MeshInfo, dim: int) -> None:
        self.owners, self.info, self.dim = owners, info, dim
        self.inner = param._spec if isinstance(param, DTensor) else None  # tensor parallel
        plain = param._local_tensor if isinstance(param, DTensor) else param.detach()
        self.shape = tuple(plain.shape)
        self.dtype = plain.dtype
        self.length = self.shape[dim] if self.shape else 1
        if not self.shape:
            raise ValueError(
                "fully_shard doesn't support scalar parameters. Change it to a 1D tensor with numel equal to 1."
            )
        if dim and self.length % info.size:
            raise NotImplementedError(
                f"FSDP does not support uneven sharding on dim {dim}: {self.shape} (world size: {info.size})"
            )
        self.chunk = -(-self.length // info.size)
        self.padded_shape = (*self.shape[:dim], self.chunk, *self.shape[dim + 1 :])
        self.numel = math.prod(self.padded_shape)
        self.own, start = Shard.local_shard_size_and_offset(self.length, info.size, info.rank)
        self.spec = self.make_spec(param)
        local = plain.narrow(dim, start, self.own).clone(memory_format=weft.contiguous_format)
        self.part = weft.nn.Parameter(self.as_part(local), requires_grad=param.requires_grad)
        self.part.__dict__.update({name: value for name, value in vars(param).items() if name[:1] != "_"})
        self.whole: Any = None
        self.local: Any = None  # the plain tensor of the whole, or its own part for tensor parallelism
        self.compute_dtype: Any = None
        self.is_whole = False
        self.install(self.part)

    def make_spec(self, param: Any) -> DTensorSpec:
        """Where the parts are: on the mesh of data parallelism, and on that of tensor parallelism."""
        mesh = self.info.mesh
        ways: list[Placement] = [Replicate()] * (mesh.ndim - 1) + [Shard(self.dim)]
        if self.inner is not None:
            tensor_mesh = self.inner.mesh
            if tensor_mesh._root is not mesh._root:
                raise ValueError(
                    "fully_shard: the mesh of FSDP and that of the parameters' DTensors have to be parts of one mesh, "
                    f"got {mesh} and {tensor_mesh}"
                )
            factor = math.prod(
                tensor_mesh.size(at) for at, each in enumerate(self.inner.placements) if each.is_shard(self.dim)
            )
            if factor > 1:
                ways[-1] = _StridedShard(self.dim, split_factor=factor)
            ways += self.inner.placements
            names = (*(mesh.mesh_dim_names or ()), *(tensor_mesh.mesh_dim_names or ()))
            mesh = DeviceMesh._part(mesh.device_type, mesh._root, [*mesh._dims, *tensor_mesh._dims], names)
        meta = TensorMeta(weft.Size(param.shape), contiguous_stride(param.shape), param.dtype)
        return DTensorSpec(mesh, tuple(ways), meta)

    def as_part(self, local: Any) -> Any:
        """A part as a DTensor."""
        spec = self.spec
        if local.dtype != self.dtype:
            assert spec.tensor_meta is not None
            spec = DTensorSpec(spec.mesh, spec.placements, spec.tensor_meta._replace(dtype=local.dtype))
        return DTensor(local, spec)

    def install(self, param: Any) -> None:
        """Let the modules have a parameter."""
        for module, name in self.owners:
            module._parameters[name] = param

    def adopt(self) -> None:
        """Take the part that the module has, where a program has given it another one."""
        module, name = self.owners[0]
        now = module._parameters[name]
        if now is not self.whole and now is not self.part:
            self.part = now
            self.install(now)

    # The whole

    def make_whole(self, dtype: Any) -> None:
        """Make the parameter for computing, without memory yet."""
        self.compute_dtype = dtype or self.dtype
        hollow = self.hollow()
        self.local = hollow
        if self.inner is None:
            self.whole = weft.nn.Parameter(hollow, requires_grad=self.part.requires_grad)
            self.local = self.whole
            return
        meta = self.inner.tensor_meta
        assert meta is not None
        spec = DTensorSpec(self.inner.mesh, self.inner.placements, meta._replace(dtype=self.compute_dtype))
        self.whole = weft.nn.Parameter(DTensor(hollow, spec), requires_grad=self.part.requires_grad)
        self.local = self.whole._local_tensor

    def hollow(self) -> Any:
        """A tensor of the whole's shape that takes no memory."""
        return weft.zeros((), dtype=self.compute_dtype, device=self.info.device).expand(self.shape)

    def flat_part(self, dtype: Any) -> Any:
        """The part of this process, filled up to the size of the largest, as a flat tensor."""
        local = self.part._local_tensor.detach()
        if dtype is not None and local.dtype != dtype:
            local = local.to(dtype)
        if local.device != self.info.device and local.device.type != self.info.device.type:
            local = local.to(self.info.device)
        if self.own != self.chunk:
            rest = list(self.padded_shape)
            rest[self.dim] -= self.own
            local = weft.cat([local, weft.zeros(rest, dtype=local.dtype, device=local.device)], self.dim)
        return local.reshape(-1)

    def fill(self, gathered: Any) -> None:
        """Give the whole its values: of shape (processes, elements of a padded part)."""
        if self.dim == 0:
            whole = gathered.reshape(-1, *self.shape[1:])[: self.length]
        else:
            parts = gathered.reshape(self.info.size, *self.padded_shape)
            whole = weft.cat(list(parts), self.dim)
        self.local.data = whole.contiguous()
        self.is_whole = True
        self.install(self.whole)

    def write_back(self) -> None:
        """Let the part have the values of the whole."""
        start = min(self.chunk * self.info.rank, self.length)
        with weft.no_grad():
            self.part._local_tensor.copy_(self.local.detach().narrow(self.dim, start, self.own))

    def empty(self) -> None:
        """Let go of the whole's memory."""
        if self.whole is not None and self.is_whole:
            self.local.data = self.hollow()
        self.is_whole = False
        self.install(self.part)

    # Gradients

    def take_gradient(self, dtype: Any) -> Any:
        """The gradient of the whole, which lets go of it, as (processes, elements of a padded part)."""
        grad = self.whole.grad
        self.whole.grad = None
        if isinstance(grad, DTensor):
            assert self.inner is not None
            if grad.placements != self.inner.placements:
                grad = grad.redistribute(placements=self.inner.placements)
            grad = grad._local_tensor
        grad = grad.detach()
        if dtype is not None and grad.dtype != dtype:
            grad = grad.to(dtype)
        size = self.info.size
        if self.dim:
            return weft.stack(grad.chunk(size, self.dim)).reshape(size, -1)
        if self.chunk * size != self.length:
            rest = (self.chunk * size - self.length, *self.shape[1:])
            grad = weft.cat([grad, weft.zeros(rest, dtype=grad.dtype, device=grad.device)])
        return grad.reshape(size, -1)

    def add_gradient(self, flat: Any) -> None:
        """Add a reduced gradient to that of the part."""
        local = flat.reshape(self.padded_shape).narrow(self.dim, 0, self.own)
        if local.dtype != self.dtype:
            local = local.to(self.dtype)
        if local.device != self.part._local_tensor.device:
            local = local.to(self.part._local_tensor.device)
        if self.part.grad is None:
            self.part.grad = self.as_part(local.contiguous())
        else:
            with weft.no_grad():
                self.part.grad._local_tensor.add_(local)


class Bucket:
    """Parameters of one dtype that are gathered by one collective, and whose gradients are reduced by one."""

    def __init__(self, unit: Unit, params: list[ShardedParameter]) -> None:
        self.unit, self.params = unit, params
        self.ready: set[int] = set()
        self.partial: Any = None  # reduced among the shards, and not yet among the replicas
        self.gathered: Any = None
        self.work: Any = None

    @property
    def wanted(self) -> list[ShardedParameter]:
        """Those with gradients."""
        return [each for each in self.params if each.part.requires_grad]

    def gather(self, dtype: Any) -> None:
        """Begin to gather."""
        info = self.unit.info
        parts = [each.flat_part(dtype) for each in self.params]
        flat = parts[0] if len(parts) == 1 else weft.cat(parts)
        if info.size == 1:
            self.gathered = flat.clone() if len(parts) == 1 else flat
            return
        self.gathered = weft.empty(info.size * flat.numel(), dtype=flat.dtype, device=flat.device)
        self.work = c10d.all_gather_into_tensor(self.gathered, flat.contiguous(), info.group, async_op=True)

    def spread(self) -> None:
        """Wait, and give the parameters their values."""
        if self.work is not None:
            self.work.wait()
        rows = self.gathered.reshape(self.unit.info.size, -1)
        self.gathered = self.work = None
        start = 0
        for each in self.params:
            each.fill(rows[:, start : start + each.numel])
            start += each.numel

    def reduce(self, params: Sequence[ShardedParameter]) -> None:
        """Reduce the gradients of some of its parameters, and add this process's part to theirs."""
        unit = self.unit
        info = unit.info
        rows = [each.take_gradient(unit.reduce_dtype) for each in params]
        flat = (rows[0] if len(rows) == 1 else weft.cat(rows, 1)).contiguous()
        del rows
        op = c10d.ReduceOp.SUM if unit.divide_factor is not None else c10d.ReduceOp.AVG
        if info.size > 1:
            own = weft.empty(flat.shape[1], dtype=flat.dtype, device=flat.device)
            c10d.reduce_scatter_tensor(own, flat.reshape(-1), op, info.group)
        else:
            own = flat.reshape(-1)
        del flat
        if info.replicas is not None:
            own = own if self.partial is None else own.add_(self.partial)
            self.partial = None
            if not unit.requires_all_reduce:
                self.partial = own
                return
            if info.replicas.size() > 1:
                c10d.all_reduce(own, op, info.replicas)
        if unit.divide_factor is not None:
            own = own / unit.divide_factor
        if unit.all_reduce_hook is not None:
            unit.all_reduce_hook(own)
        start = 0
        for each in params:
            each.add_gradient(own[start : start + each.numel].clone() if len(params) > 1 else own)
            start += each.numel


class Unit:
    """The parameters that are gathered together.

    Attributes
    ----------
    requires_sync, requires_all_reduce, reshards_after_backward : bool
    divide_factor : float or None
        In place of the number of processes.
    """

    def __init__(
        self,
        params: Sequence[tuple[list[tuple[Any, str]], Any]],
        info: MeshInfo,
        policy: Any,
        shard_dim: Callable[[Any], int],
    ) -> None:
        self.info, self.policy = info, policy
        self.params = [ShardedParameter(owners, param, info, shard_dim(param)) for owners, param in params]
        self.requires_sync = self.requires_all_reduce = self.reshards_after_backward = True
        self.divide_factor: float | None = None
        self.all_reduce_hook: Any = None
        self.buckets = self.make_buckets()
        self.is_whole = self.is_gathering = False
        self.in_backward = False

    def let_go(self, params: Sequence[ShardedParameter]) -> None:
        """Let go of the memory of some whole parameters, whose gradients are complete: no other node needs them."""
        for each in params:
            each.empty()
        self.is_whole = False

    def make_buckets(self) -> list[Bucket]:
        found: list[Bucket] = []
        small: dict[Any, list[ShardedParameter]] = {}
        for each in self.params:
            if each.numel * self.info.size >= LARGE:
                found.append(Bucket(self, [each]))
            else:
                small.setdefault((each.dtype, each.part.requires_grad), []).append(each)
        return found + [Bucket(self, params) for params in small.values()]

    @property
    def reduce_dtype(self) -> Any:
        """The dtype in which gradients are reduced, if it is not their own."""
        return self.policy.reduce_dtype

    def gather(self) -> None:
        """Begin to gather all parameters."""
        if self.is_whole or self.is_gathering or not self.params:
            return
        for each in self.params:
            each.empty()  # what is whole yet is gathered anew with what is not
            each.adopt()
        for bucket in self.buckets:
            dtype = self.policy.param_dtype if bucket.params[0].dtype.is_floating_point else None
            bucket.gather(dtype)
        self.is_gathering = True

    def unshard(self) -> None:
        """Have the whole parameters."""
        if self.is_whole or not self.params:
            return
        self.gather()
        for bucket in self.buckets:
            for each in bucket.params:
                if each.whole is None or each.compute_dtype != bucket.gathered.dtype:
                    each.make_whole(bucket.gathered.dtype)
                    self.watch(bucket, each)
                each.whole.requires_grad_(each.part.requires_grad)
            bucket.spread()
        self.is_whole, self.is_gathering = True, False

    def reshard(self) -> None:
        """Have the parts alone."""
        if self.is_gathering:
            for bucket in self.buckets:
                if bucket.work is not None:
                    bucket.work.wait()
                bucket.work = bucket.gathered = None
            self.is_gathering = False
        for each in self.params:
            each.empty()
        self.is_whole = False

    def write_back(self) -> None:
        """Let the parts have the values of the whole parameters."""
        for each in self.params:
            if each.is_whole:
                each.write_back()

    def watch(self, bucket: Bucket, param: ShardedParameter) -> None:
        """Reduce a bucket when the last of its gradients is there."""
        if not param.part.requires_grad:
            return

        def arrived(whole: Any) -> None:
            bucket.ready.add(id(param))
            if self.requires_sync and len(bucket.ready) == len(bucket.wanted):
                bucket.ready.clear()
                if self.in_backward and self.reshards_after_backward:
                    self.let_go(bucket.params)
                bucket.reduce(bucket.wanted)
                if self.in_backward and self.reshards_after_backward and self.is_done():
                    self.reshard()

        param.whole.register_post_accumulate_grad_hook(arrived)

    def is_done(self) -> bool:
        """Whether no gradient of this backward pass is to come."""
        return all(each.whole is None or each.whole.grad is None for each in self.params) and not any(
            bucket.ready for bucket in self.buckets
        )

    def finish(self) -> None:
        """End a backward pass: reduce what is left of parameters that were not all used."""
        for bucket in self.buckets:
            bucket.ready.clear()
            if self.requires_sync:
                left = [each for each in bucket.wanted if each.whole is not None and each.whole.grad is not None]
                if left:
                    bucket.reduce(left)
        if self.reshards_after_backward:
            self.reshard()
        self.in_backward = False

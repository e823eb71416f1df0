"""Selective checkpointing: modes that keep the results of some operators, and give them back the second time."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from weft._engine.tensor import TensorBase
from weft._interception.torch_dispatch import bare
from weft._ops import OpOverload
from weft.utils._python_dispatch import TorchDispatchMode
from weft.utils._pytree import tree_map_only
from weft.utils.checkpoint import CheckpointPolicy, SelectiveCheckpointContext

__all__ = ["contexts"]

KEPT = (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE, CheckpointPolicy.MUST_CPU_OFFLOAD)
NOT_ASKED = ("aten.detach.default",)  # what makes no result of its own


class Kept:
    """A result that is kept, and how often it was written to by then."""

    def __init__(self, tensor: Any, offload: bool) -> None:
        self.device = tensor.device
        self.tensor = tensor.cpu() if offload else bare(tensor)
        self.version = self.tensor._version

    def value(self, mutable: bool) -> Any:
        """The result.

        Raises
        ------
        RuntimeError
            If it was written to.
        """
        if self.tensor._version != self.version and not mutable:
            raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated")
        return self.tensor.to(self.device) if self.tensor.device != self.device else bare(self.tensor)


class Selective(TorchDispatchMode):
    """A mode that asks a policy about each operator."""

    is_recompute = False

    def __init__(self, policy: Any, results: Any, mutable: bool) -> None:
        super().__init__()
        self.policy = policy
        self.results = results
        self.mutable = mutable

    def decide(self, func: Any, args: Any, kwargs: Any) -> Any:
        """What the policy says of an operator."""
        found = self.policy(SelectiveCheckpointContext(is_recompute=self.is_recompute), func, *args, **kwargs)
        if isinstance(found, bool):
            return CheckpointPolicy.MUST_SAVE if found else CheckpointPolicy.PREFER_RECOMPUTE
        return found


class Keeping(Selective):
    """The first computation: results are kept as the policy says."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if str(func) in NOT_ASKED:
            return result
        policy = self.decide(func, args, kwargs)
        if policy in KEPT:
            offload = policy is CheckpointPolicy.MUST_CPU_OFFLOAD
            self.results[func].append(tree_map_only(TensorBase, lambda each: Kept(each, offload), result))
        return result


class Giving(Selective):
    """The second computation: what was kept is given back."""

    is_recompute = True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if str(func) in NOT_ASKED or self.decide(func, args, kwargs) not in KEPT:
            return func(*args, **kwargs)
        if func not in self.results:
            raise RuntimeError(f"{func} encountered during backward, but not found in storage")
        if not self.results[func]:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any region computed under "
                "selective activation checkpoint."
            )
        return tree_map_only(Kept, lambda each: each.value(self.mutable), self.results[func].pop(0))


def contexts(policy_fn_or_list: Any, allow_cache_entry_mutation: bool) -> tuple[Any, Any]:
    """See `weft.utils.checkpoint.create_selective_checkpoint_contexts`."""
    policy = of_list(policy_fn_or_list) if isinstance(policy_fn_or_list, list) else policy_fn_or_list
    if not callable(policy):
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    results: dict[Any, list[Any]] = defaultdict(list)
    return (
        Keeping(policy, results, allow_cache_entry_mutation),
        Giving(policy, results, allow_cache_entry_mutation),
    )


def of_list(ops: list[Any]) -> Any:
    """The policy that keeps the results of some operators."""
    for op in ops:
        if not isinstance(op, OpOverload):
            raise ValueError(
                f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}. Please update the "
                "OpOverloadPacket to a specific OpOverload. For example, if you have `torch.ops.aten.mm`, change it to "
                "`torch.ops.aten.mm.default`."
            )

    def policy(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
        return CheckpointPolicy.MUST_SAVE if op in ops else CheckpointPolicy.PREFER_RECOMPUTE

    return policy

"""The lists and dicts in a node's arguments: whoever changes one must go through the node, which counts its users."""

from __future__ import annotations

from typing import Any, NoReturn

from weft.utils._pytree import SUPPORTED_NODES, register_pytree_node

__all__ = ["immutable_dict", "immutable_list"]


def refused(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Stand for every method that writes.

    Raises
    ------
    TypeError
        Always.
    """
    raise TypeError(
        f"'{type(self).__name__}' object does not support mutation. If you are changing the arguments of a node, "
        "assign new ones: node.args = (...)"
    )


class immutable_list(list[Any]):
    """A list that cannot be changed."""

    __setitem__ = __delitem__ = __iadd__ = __imul__ = append = clear = extend = insert = pop = remove = refused  # type: ignore[assignment]
    reverse = sort = refused  # type: ignore[assignment]

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> Any:
        return immutable_list, (list(self),)


class immutable_dict(dict[str, Any]):
    """A dict that cannot be changed."""

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = refused  # type: ignore[assignment]

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> Any:
        return immutable_dict, (dict(self),)


def register(cls: Any, base: type) -> None:
    """Make a class a container as the one is that it derives from."""
    node = SUPPORTED_NODES[base]
    register_pytree_node(
        cls,
        node.flatten_fn,
        lambda values, context: cls(node.unflatten_fn(values, context)),
        serialized_type_name=f"torch.fx.immutable_collections.{cls.__name__}",
        flatten_with_keys_fn=node.flatten_with_keys_fn,
    )


register(immutable_list, list)
register(immutable_dict, dict)

"""Read-only access to LMDB files, as LSUN has them: a B+ tree in pages of a file that is mapped into memory."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator, Mapping
from os import PathLike
from typing import NamedTuple

_MAGIC = 0xBEEFC0DE
_PAGE = struct.Struct("<QHHHH")  # number, padding, flags, ends of the two parts of a page
_HEAD = _PAGE.size
_META = struct.Struct("<IIQQ48s48sQQ")  # magic, version, address, size, free pages, main tree, last page, transaction
_TREE = struct.Struct("<IHHQQQQQ")  # page size, flags, depth, pages of three kinds, entries, root
_NODE = struct.Struct("<HHHH")  # size or page in two parts, flags (or the page's third part), size of the key
_BRANCH, _LEAF = 0x01, 0x02
_BIG = 0x01  # the value is in pages of its own
_EMPTY = (1 << 64) - 1
_MOST_LEVELS = 32


class _Node(NamedTuple):
    key: bytes
    page: int  # of a branch: the page below; of a leaf: the first page of a big value, or 0
    start: int  # where the value of a leaf begins
    size: int


class Database(Mapping[bytes, bytes]):
    """The main tree of an LMDB file, in the order of its keys.

    Parameters
    ----------
    path : path
        The file, as a rule ``data.mdb``.

    Raises
    ------
    ValueError
        If the file is not one of LMDB's, or its pages do not fit together.

    References
    ----------
    https://github.com/LMDB/lmdb, mdb.c: MDB_page, MDB_meta, MDB_db and MDB_node on a little-endian machine of 64 bits.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = path
        self._map()
        metas = [meta for start in (0, self._page_size()) if (meta := self._meta(start)) is not None]
        if not metas:
            raise ValueError(f"{path} is not an LMDB file: it does not begin with LMDB's mark")
        *_, self._entries, self._root = _TREE.unpack(max(metas, key=lambda meta: int(meta[-1]))[5])  # the newest

    def _map(self) -> None:
        with open(self._path, "rb") as file:
            try:
                self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            except ValueError as error:
                raise ValueError(f"{self._path} is not an LMDB file: it is empty") from error

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if name != "_bytes"}

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state)
        self._map()

    def _meta(self, start: int) -> tuple[int, int, int, int, bytes, bytes, int, int] | None:
        """Return what one of the two meta pages has, if it is one."""
        if start + _HEAD + _META.size > len(self._bytes):
            return None
        meta = _META.unpack_from(self._bytes, start + _HEAD)
        return meta if meta[0] == _MAGIC else None

    def _page_size(self) -> int:
        meta = self._meta(0)
        self._size = 0 if meta is None else int(_TREE.unpack(meta[4])[0])  # the tree of free pages keeps it
        return self._size

    def _nodes(self, page: int) -> tuple[bool, list[_Node]]:
        """Return (whether the page is a leaf, its nodes)."""
        start = page * self._size
        try:
            _, _, flags, lower, _ = _PAGE.unpack_from(self._bytes, start)
            if not flags & (_BRANCH | _LEAF) or lower < _HEAD:
                raise ValueError(f"{self._path} is damaged: page {page} is of no tree")
            offsets = struct.unpack_from(f"<{(lower - _HEAD) // 2}H", self._bytes, start + _HEAD)
            is_leaf = bool(flags & _LEAF)
            if not (offsets or is_leaf):
                raise ValueError(f"{self._path} is damaged: page {page} leads nowhere")
            return is_leaf, [self._node(start + offset, is_leaf) for offset in offsets]
        except (struct.error, OverflowError) as error:
            raise ValueError(f"{self._path} is damaged: page {page} is beyond its end") from error

    def _node(self, start: int, is_leaf: bool) -> _Node:
        low, high, flags, key_size = _NODE.unpack_from(self._bytes, start)
        value = start + _NODE.size + key_size
        key = self._bytes[start + _NODE.size : value]
        number = low | high << 16
        if not is_leaf:
            return _Node(key, number | flags << 32, 0, 0)
        if flags & _BIG:
            (page,) = struct.unpack_from("<Q", self._bytes, value)
            return _Node(key, page, page * self._size + _HEAD, number)
        return _Node(key, 0, value, number)

    def _walk(self) -> Iterator[_Node]:
        """Return the leaves' nodes, in the order of their keys."""
        seen, ahead = set(), [] if self._root == _EMPTY else [self._root]
        while ahead:
            page = ahead.pop()
            if page in seen:
                raise ValueError(f"{self._path} is damaged: page {page} is in its tree twice")
            seen.add(page)
            is_leaf, nodes = self._nodes(page)
            if is_leaf:
                yield from nodes
            else:
                ahead += [node.page for node in reversed(nodes)]

    def _find(self, key: bytes) -> _Node | None:
        """Return the node of a key: in a branch it is below the last node whose key is not greater."""
        page = self._root
        for _ in range(_MOST_LEVELS if page != _EMPTY else 0):
            is_leaf, nodes = self._nodes(page)
            if is_leaf:
                return next((node for node in nodes if node.key == key), None)
            page = [node.page for number, node in enumerate(nodes) if number == 0 or node.key <= key][-1]
        return None

    def __getitem__(self, key: bytes) -> bytes:
        node = self._find(key)
        if node is None:
            raise KeyError(key)
        if node.start + node.size > len(self._bytes):
            raise ValueError(f"{self._path} is damaged: the value of {key!r} is beyond its end")
        return self._bytes[node.start : node.start + node.size]

    def __iter__(self) -> Iterator[bytes]:
        return (node.key for node in self._walk())

    def __len__(self) -> int:
        return int(self._entries)

"""Stores: keys and values that processes share, by which they find one another."""

from weft.distributed.stores.base import PrefixStore, Store
from weft.distributed.stores.file import FileStore
from weft.distributed.stores.hash import HashStore
from weft.distributed.stores.tcp import TCPStore

__all__ = ["FileStore", "HashStore", "PrefixStore", "Store", "TCPStore"]

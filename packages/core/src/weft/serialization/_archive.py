"""The zip archive of a ``.pt`` file: stored records that begin on multiples of 64 bytes.

Writing needs nothing of the file but ``write``. Reading trusts no number in the file: each is
compared with the file's length before memory is taken for it.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import mmap
import os
import secrets
import stat
import struct
import zlib
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

import numpy

from weft.serialization._budget import Budget

ALIGNMENT = 64  # of every record's first byte, so that a mapped file can be used in place
DOS_TIME = struct.pack("<2H", 0, 1 << 5 | 1)  # 1980-01-01 always: the same content gives the same bytes
LOCAL_HEADER = struct.Struct("<4s3H4s3L2H")
CENTRAL_HEADER = struct.Struct("<4s4H4s3L5H2L")
END_OF_DIRECTORY = struct.Struct("<4s4H2LH")
END_OF_DIRECTORY_64 = struct.Struct("<4sQ2H2L4Q")
LOCATOR_64 = struct.Struct("<4sLQL")
NO_MORE = (0, 0, 0, 0)  # comment, disk, attributes
LIMIT_16 = 0xFFFF
LIMIT_32 = 0xFFFFFFFF
WIDE_FROM = LIMIT_32  # sizes and positions from here on are written in the form of zip64
UTF8_NAMES = 0x800
STORED, DEFLATED = 0, 8  # how a record is kept
MEMORY_OF_AN_ENTRY = 300
DEFLATE_RATIO = 1032  # no deflate stream expands further, so a larger size is a lie
PICKLE_EXPANSION = 4  # and a compressed pickle so many times, since each of its bytes can make an object
PICKLE_EXPANSION_FROM = 1 << 20
INFLATED_AT_ONCE = 1 << 20
COPIED_AT_ONCE = 1 << 20
CHECKSUM_AT = 14  # in a local header


class ArchiveWriter:
    """Writes records one after the other into a file that may be a pipe.

    Parameters
    ----------
    file : object with ``write``
    name : str
        The folder that all records are in.
    compute_crc32 : bool
        False writes 0 in place of each record's checksum.
    """

    def __init__(self, file: Any, name: str, compute_crc32: bool = True) -> None:
        self._file = file
        self._name = name
        self._compute_crc32 = compute_crc32
        self._position = 0
        self._directory: list[tuple[bytes, int, int, int]] = []  # name, checksum, size, where its header is

    def write(self, record: str, data: Any) -> None:
        """Write one record; ``data`` is a bytes-like object.

        Memory that another thread may write to is read once: the checksum is of what stands in the file. Little of it
        is copied at once, if the checksum can be put in its place behind.
        """
        view = memoryview(data).cast("B") if len(data) else memoryview(b"")
        later = self._compute_crc32 and view.nbytes > COPIED_AT_ONCE and can_go_back(self._file)
        if self._compute_crc32 and not later and not isinstance(data, bytes):
            view = memoryview(bytes(view))
        name = f"{self._name}/{record}".encode()
        checksum = zlib.crc32(view) if self._compute_crc32 and not later else 0
        size = view.nbytes
        wide = struct.pack("<2H2Q", 1, 16, size, size) if size >= WIDE_FROM else b""
        header = self._position
        unpadded = header + LOCAL_HEADER.size + len(name) + len(wide) + 4
        padding = -unpadded % ALIGNMENT
        extra = wide + struct.pack("<2s1H", b"FB", padding) + b"Z" * padding
        shown = LIMIT_32 if wide else size
        self._put(
            LOCAL_HEADER.pack(
                b"PK\3\4", 45 if wide else 20, UTF8_NAMES, 0, DOS_TIME, checksum, shown, shown, len(name), len(extra)
            )
        )
        self._put(name)
        self._put(extra)
        if later:
            checksum = self._put_piecewise(view)
            self._file.seek(CHECKSUM_AT - (self._position - header), os.SEEK_CUR)
            write_all(self._file, struct.pack("<I", checksum))
            self._file.seek(0, os.SEEK_END)
        else:
            self._put(view)
        self._directory.append((name, checksum, size, header))

    def _put_piecewise(self, view: memoryview) -> int:
        """Write memory from copies of its parts; their checksum."""
        checksum = 0
        for start in range(0, view.nbytes, COPIED_AT_ONCE):
            part = bytes(view[start : start + COPIED_AT_ONCE])
            checksum = zlib.crc32(part, checksum)
            self._put(part)
        return checksum

    def _put(self, data: bytes | memoryview) -> None:
        self._position += write_all(self._file, data)

    def close(self) -> None:
        """Write the directory; the file itself stays open."""
        identity = f"{_digest(self._names()):020d}{_digest(self._checksums()):020d}"
        self.write(".data/serialization_id", identity.encode())
        start = self._position
        for name, checksum, size, header in self._directory:
            self._put_directory_entry(name, checksum, size, header)
        size, count = self._position - start, len(self._directory)
        if start >= WIDE_FROM or count >= LIMIT_16:
            end = self._position
            self._put(END_OF_DIRECTORY_64.pack(b"PK\6\6", 44, 45, 45, 0, 0, count, count, size, start))
            self._put(LOCATOR_64.pack(b"PK\6\7", 0, end, 1))
            count, size, start = LIMIT_16, LIMIT_32, LIMIT_32
        self._put(END_OF_DIRECTORY.pack(b"PK\5\6", 0, 0, count, count, size, start, 0))

    def _put_directory_entry(self, name: bytes, checksum: int, size: int, header: int) -> None:
        wide = b""
        shown_size, shown_header = size, header
        if size >= WIDE_FROM:
            wide, shown_size = struct.pack("<2Q", size, size), LIMIT_32
        if header >= WIDE_FROM:
            wide, shown_header = wide + struct.pack("<Q", header), LIMIT_32
        extra = struct.pack("<2H", 1, len(wide)) + wide if wide else b""
        version = 45 if wide else 20
        how = (version, version, UTF8_NAMES, 0)
        sizes = (checksum, shown_size, shown_size, len(name), len(extra))
        self._put(CENTRAL_HEADER.pack(b"PK\1\2", *how, DOS_TIME, *sizes, *NO_MORE, shown_header))
        self._put(name)
        self._put(extra)

    def _names(self) -> bytes:
        return b"\n".join(name for name, *_ in self._directory)

    def _checksums(self) -> bytes:
        return struct.pack(f"<{len(self._directory)}L", *(checksum for _, checksum, *_ in self._directory))


def can_go_back(file: Any) -> bool:
    """Whether a file is one of the system's, at whose end we are, and what was written can be written over."""
    if type(file) not in (io.BufferedWriter, io.BufferedRandom) or "a" in file.mode or not file.seekable():
        return False
    here = file.tell()
    return bool(file.seek(0, os.SEEK_END) == file.seek(here))


def write_all(file: Any, data: Any) -> int:
    """Write all of ``data``, a bytes-like object: a raw file may take less than it is offered. Returns how much."""
    view = memoryview(data).cast("B") if len(data) else memoryview(b"")
    size = view.nbytes
    while view.nbytes:
        written = file.write(view)
        if written is None:  # a file-like object that says nothing took everything
            written = view.nbytes
        view = view[written:]
    return size


def _digest(data: bytes) -> int:
    return int.from_bytes(hashlib.sha256(data).digest()[:8], "little")


class Entry(NamedTuple):
    """What an archive's directory says of a record."""

    filename: str
    flags: int
    method: int
    checksum: int
    compress_size: int
    file_size: int
    header_offset: int


class ArchiveReader:
    """The records of a ``.pt`` archive.

    Parameters
    ----------
    file : binary file that can seek
    source : str
        What messages call the file.
    budget : Budget
        Of the whole load.
    """

    def __init__(self, file: IO[bytes], source: str, budget: Budget) -> None:
        self._file = file
        self._source = source
        self._budget = budget
        self._length = file.seek(0, io.SEEK_END)
        try:
            entries = self._directory()
        except (ValueError, struct.error, OSError) as error:
            raise RuntimeError(
                f"load: {source} begins as a zip archive, but its directory cannot be read ({error}); the file is "
                "truncated or damaged. Copy or download it again, or load an earlier checkpoint."
            ) from error
        self._entries = self._of_one_folder(entries)
        stored = sum(entry.compress_size for entry in self._entries.values())
        if stored > self._length:
            raise RuntimeError(f"load: the records of {source} claim {stored} bytes, and the file has {self._length}")

    def _directory(self) -> list[Entry]:
        """All entries. Python's `zipfile` is not asked: it takes long over many, or over extra fields made for it."""
        tail_start = max(0, self._length - END_OF_DIRECTORY.size - LIMIT_16 - LOCATOR_64.size)
        tail = self._at(tail_start, self._length - tail_start)
        end = tail.rfind(b"PK\5\6")
        if end < 0:
            raise ValueError("it has no end")
        *_, size, start, _ = END_OF_DIRECTORY.unpack_from(tail, end)
        end += tail_start
        locator = self._at(end - LOCATOR_64.size, LOCATOR_64.size) if end >= LOCATOR_64.size else b""
        if locator.startswith(b"PK\6\7"):
            end -= LOCATOR_64.size + END_OF_DIRECTORY_64.size
            signature, *_, size, start = END_OF_DIRECTORY_64.unpack(self._at(end, END_OF_DIRECTORY_64.size))
            if signature != b"PK\6\6":
                raise ValueError("its end of zip64 is not where it should be")
        before = end - size - start  # bytes that stand before the archive
        if before < 0:
            raise ValueError("it does not lie within the file")
        return list(self._entries_of(self._at(start + before, size), before))

    def _at(self, start: int, count: int) -> bytes:
        if start < 0 or count < 0:
            raise ValueError("it does not lie within the file")
        self._file.seek(start)
        data = bytearray(count)
        if read_exactly(self._file, memoryview(data)) < count:
            raise ValueError("it ends early")
        return bytes(data)

    def _entries_of(self, directory: bytes, before: int) -> Iterator[Entry]:
        position = 0
        while position < len(directory):
            fields = CENTRAL_HEADER.unpack_from(directory, position)
            signature, _, _, flags, method, _, checksum, stored, size, *lengths = fields
            if signature != b"PK\1\2":
                raise ValueError("an entry does not begin as one")
            header = fields[-1]
            start = position + CENTRAL_HEADER.size
            extra = start + lengths[0]
            position = extra + lengths[1] + lengths[2]
            if position > len(directory):
                raise ValueError("an entry ends early")
            name = directory[start:extra].decode("utf-8" if flags & UTF8_NAMES else "cp437")
            if LIMIT_32 in (size, stored, header):
                numbers = iter(_wide_numbers(directory, extra, extra + lengths[1]))
                size, stored, header = [next(numbers, n) if n == LIMIT_32 else n for n in (size, stored, header)]
            self._budget.take(MEMORY_OF_AN_ENTRY)
            yield Entry(name.partition("\0")[0], flags, method, checksum, stored, size, header + before)

    def _of_one_folder(self, entries: list[Entry]) -> dict[str, Entry]:
        """Records by their name within the archive's folder; whatever lies elsewhere is ignored."""
        folders = [entry.filename.removesuffix("data.pkl") for entry in entries if entry.filename.count("/") == 1]
        folder = next((name for name in folders if name.endswith("/")), None)
        if folder is None:
            raise RuntimeError(
                f"load: {self._source} is a zip archive without <name>/data.pkl, so it is no .pt file; it holds "
                f"{[entry.filename[:100] for entry in entries[:5]]}"
            )
        return {e.filename.removeprefix(folder): e for e in entries if e.filename.startswith(folder)}

    def __contains__(self, record: str) -> bool:
        return record in self._entries

    def records(self) -> list[str]:
        """The names of all records."""
        return list(self._entries)

    def size(self, record: str) -> int:
        """Bytes of a record when unpacked."""
        return self._entries[record].file_size

    def read(self, record: str) -> numpy.ndarray[Any, Any]:
        """Return a record's bytes as a new array that may be written to."""
        entry = self._entries[record]
        start = self._start(entry)
        if entry.method == STORED:
            data = self._read_stored(entry, start)
        elif entry.method == DEFLATED:
            data = self._read_deflated(entry, start)
        else:
            raise self._damaged(entry, f"has compression method {entry.method}, which .pt files do not use")
        # A writer that was told not to compute checksums leaves 0.
        if entry.checksum and zlib.crc32(data.data) != entry.checksum:
            raise self._damaged(entry, "does not have the checksum that was saved with it")
        return data

    def mapped(self, record: str, mapping: mmap.mmap) -> numpy.ndarray[Any, Any] | None:
        """Return a record's bytes in a mapping of the file, or None if they are compressed."""
        entry = self._entries[record]
        if entry.method != STORED:
            return None
        start = self._start(entry)
        self._check_stored(entry, start)
        if entry.file_size == 0:
            return numpy.empty(0, numpy.uint8)
        return numpy.frombuffer(mapping, numpy.uint8, entry.file_size, start)

    def _start(self, entry: Entry) -> int:
        if entry.flags & 1:
            raise self._damaged(entry, "is encrypted")
        header = b""
        if 0 <= entry.header_offset < self._length:
            self._file.seek(entry.header_offset)
            header = self._file.read(LOCAL_HEADER.size)
        if len(header) < LOCAL_HEADER.size or not header.startswith(b"PK\3\4"):
            raise self._damaged(entry, "is not where the directory says")
        *_, name, extra = LOCAL_HEADER.unpack(header)
        return int(entry.header_offset + LOCAL_HEADER.size + name + extra)

    def _check_stored(self, entry: Entry, start: int) -> None:
        if entry.compress_size != entry.file_size:
            raise self._damaged(entry, f"is stored in {entry.compress_size} bytes and claims {entry.file_size}")
        if start + entry.file_size > self._length:
            raise self._damaged(
                entry, f"claims bytes {start} to {start + entry.file_size} of a file that has {self._length}"
            )

    def _read_stored(self, entry: Entry, start: int) -> numpy.ndarray[Any, Any]:
        self._check_stored(entry, start)
        self._budget.take(entry.file_size)
        data = numpy.empty(entry.file_size, numpy.uint8)
        self._file.seek(start)
        done = read_exactly(self._file, data.data)
        if done < data.nbytes:
            raise self._damaged(entry, f"ends after {done} of {data.nbytes} bytes")
        return data

    def _read_deflated(self, entry: Entry, start: int) -> numpy.ndarray[Any, Any]:
        if start + entry.compress_size > self._length or entry.file_size > DEFLATE_RATIO * (entry.compress_size + 1):
            raise self._damaged(entry, f"cannot have {entry.file_size} bytes in {entry.compress_size} compressed ones")
        most = PICKLE_EXPANSION * self._length + PICKLE_EXPANSION_FROM
        if entry.file_size > self._budget.memory or (entry.filename.endswith("data.pkl") and entry.file_size > most):
            raise self._damaged(entry, f"has {entry.file_size} bytes, more than the file's {self._length} explain")
        self._budget.take(entry.file_size)
        data = numpy.empty(entry.file_size, numpy.uint8)
        self._file.seek(start)
        rest, done = self._file.read(entry.compress_size), 0
        inflate = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            while part := inflate.decompress(rest, INFLATED_AT_ONCE):
                if len(part) > data.nbytes - done:
                    raise zlib.error("there is more")
                data[done : done + len(part)] = numpy.frombuffer(part, numpy.uint8)
                rest, done = inflate.unconsumed_tail, done + len(part)
        except zlib.error as error:
            raise self._damaged(entry, f"cannot be decompressed ({error})") from error
        if done != data.nbytes:
            raise self._damaged(entry, f"claims {data.nbytes} bytes and decompresses to {done}")
        return data

    def _damaged(self, entry: Entry, what: str) -> RuntimeError:
        return RuntimeError(
            f"load: record {entry.filename[:200]!r} of {self._source} {what}; the file is truncated or damaged. "
            "Copy or download it again, or load an earlier checkpoint."
        )


def _wide_numbers(directory: bytes, start: int, end: int) -> list[int]:
    """The 64-bit numbers of an entry's extra field of zip64."""
    while start + 4 <= end:
        kind, length = struct.unpack_from("<2H", directory, start)
        if kind == 1:
            count = min(length, end - start - 4) // 8
            return list(struct.unpack_from(f"<{count}Q", directory, start + 4))
        start += 4 + length
    return []


def read_exactly(file: Any, view: memoryview) -> int:
    """Read until ``view`` is full or the file ends; return how much was read."""
    done = 0
    while done < view.nbytes:
        got = _read_into(file, view[done:])
        if not got:
            break
        done += got
    return done


def _read_into(file: Any, view: memoryview) -> int:
    if hasattr(file, "readinto"):
        return int(file.readinto(view))
    data = file.read(view.nbytes)
    view[: len(data)] = data
    return len(data)


@contextlib.contextmanager
def replacing(path: str) -> Iterator[IO[bytes]]:
    """Open a file that takes the place of ``path`` when all went well, and is gone when not.

    The new file stands in the same folder, is written to disk, and is then renamed: whoever opens
    ``path`` at any time, also after a crash, sees the old content or the new, whole. Where the system
    has files without a name, it has none before it is whole: of a process that is killed nothing stays. A symbolic
    link keeps pointing where it points; an existing file's permissions are kept. What is no regular
    file (a pipe, ``/dev/null``) is written to directly.
    """
    target = os.path.realpath(path)
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        with open(target, "wb") as file:  # a folder raises IsADirectoryError here
            yield file
        return
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{name[:100]}.{secrets.token_hex(6)}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:  # an interrupt may come as soon as the file is there
        descriptor = _unnamed(folder)
        has_name = descriptor is None
        if descriptor is None:
            try:
                descriptor = os.open(temporary, flags, 0o666)  # less the umask, as open() would
            except FileNotFoundError:
                raise RuntimeError(f"save: the folder {folder!r} does not exist; make it with os.makedirs") from None
        with open(descriptor, "wb") as file:
            if mode is not None:
                os.chmod(temporary if has_name else descriptor, stat.S_IMODE(mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
            if not has_name:
                # With a descriptor, which an absolute path does not need, Python follows the link there.
                os.link(f"{DESCRIPTORS}/{file.fileno()}", temporary, src_dir_fd=file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(folder)


DESCRIPTORS = "/proc/self/fd"


def _unnamed(folder: str) -> int | None:
    """Open a file without a name in a folder, which `os.link` names; None where there is no such thing."""
    flag = getattr(os, "O_TMPFILE", 0)
    if not flag or not os.path.isdir(DESCRIPTORS):
        return None
    try:
        return os.open(folder, os.O_WRONLY | flag, 0o666)
    except OSError:
        return None  # the folder's file system has none, or the error of a file with a name is to be raised


def _sync_folder(folder: str) -> None:
    """Make the rename itself durable, where the system lets a folder be opened."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

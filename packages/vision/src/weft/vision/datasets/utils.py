"""Fetching, checking and unpacking the files of data sets, and the formats that several of them share."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import os
import re
import shutil
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlparse

from weft.hub import download_url_to_file

StrPath = str | os.PathLike[str]

_CHUNK = 1 << 20
_GOOGLE_DRIVE = "https://drive.usercontent.google.com/download?id={}&export=download&confirm=t"
_COMPRESSED_FILE_OPENERS: dict[str, Callable[..., IO[bytes]]] = {
    ".bz2": bz2.open,  # type: ignore[dict-item]
    ".gz": gzip.open,  # type: ignore[dict-item]
    ".xz": lzma.open,
}
_TAR_ENDINGS = (".tar", ".tgz", ".tbz", ".tbz2", *(f".tar{ending}" for ending in _COMPRESSED_FILE_OPENERS))


# Checksums -----------------------------------------------------------------------------------------------


def calculate_md5(fpath: StrPath, chunk_size: int = _CHUNK) -> str:
    """Return the MD5 checksum of a file, in hexadecimal digits.

    MD5 tells a damaged download from a whole one, which is its use here; it is no proof against forgery.
    """
    digest = hashlib.md5(usedforsecurity=False)
    with open(fpath, "rb") as file:
        while chunk := file.read(chunk_size):
            digest.update(chunk)
    return digest.hexdigest()


def check_md5(fpath: StrPath, md5: str, **kwargs: Any) -> bool:
    """Return whether the file has that checksum; ``kwargs`` as of `calculate_md5`."""
    return calculate_md5(fpath, **kwargs) == md5


def check_integrity(fpath: StrPath, md5: str | None = None) -> bool:
    """Return whether the file exists and, where ``md5`` is given, has that checksum."""
    return os.path.isfile(fpath) and (md5 is None or check_md5(fpath, md5))


# Downloads -----------------------------------------------------------------------------------------------


def download_url(
    url: str | Sequence[str],
    root: StrPath,
    filename: StrPath | None = None,
    md5: str | None = None,
    max_redirect_hops: int = 3,
) -> None:
    """Fetch a file into a folder, from the first of several addresses that has it whole.

    A file that is there and has the checksum is kept. The download is `weft.hub.download_url_to_file`: if it breaks
    off, it goes on from there, in this call or the next one; the file gets its name only when it is complete.

    Parameters
    ----------
    url : str or sequence of str
        Addresses of the same file.
    root : path
        The folder; it is made if it is missing.
    filename : str, optional
        The file's name, by default the last part of the address.
    md5 : str, optional
        The checksum that it must have.
    max_redirect_hops : int
        Accepted; redirections are followed as `urllib` does.

    Raises
    ------
    RuntimeError
        If no address gave the file; the message has what each answered.
    """
    urls = [url] if isinstance(url, str) else list(url)
    path = Path(root).expanduser() / (filename or os.path.basename(urlparse(urls[0]).path))
    if check_integrity(path, md5):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    failures = []
    for each in urls:
        try:
            download_url_to_file(_address_of_drive_file(each), path, None if md5 is None else f"md5:{md5}")
        except (OSError, RuntimeError, ValueError) as error:
            failures.append(f"{each}: {error}")
        else:
            return
    raise RuntimeError(
        f"download: could not get {path.name}\n  "
        + "\n  ".join(failures)
        + f"\nFetch it by another way and put it at {path}"
    )


def download_file_from_google_drive(
    file_id: str, root: StrPath, filename: StrPath | None = None, md5: str | None = None
) -> None:
    """Fetch a public file of Google Drive by its id; the rest as of `download_url`."""
    download_url(_GOOGLE_DRIVE.format(file_id), root, filename or file_id, md5)


def _address_of_drive_file(url: str) -> str:
    """Return the address of a file's content where ``url`` is that of its page on Google Drive, else ``url``."""
    parts = urlparse(url)
    found = re.match(r"/file/d/([^/]+)", parts.path)
    return _GOOGLE_DRIVE.format(found[1]) if found and re.match(r"(drive|docs)\.google\.com$", parts.netloc) else url


# Archives ------------------------------------------------------------------------------------------------


def extract_archive(from_path: StrPath, to_path: StrPath | None = None, remove_finished: bool = False) -> StrPath:
    """Unpack an archive, or a single compressed file, by the ending of its name.

    Archives may be hostile: a member that would be written outside of ``to_path`` raises, and so do links that lead
    outside and devices.

    Parameters
    ----------
    from_path : path
        Ends in .zip, .tar, .tgz, .tbz, .tbz2, .tar.gz, .tar.bz2 or .tar.xz, or in .gz, .bz2 or .xz for a single file.
    to_path : path, optional
        The folder to write into, by default that of the archive.
    remove_finished : bool, default False
        Delete the archive afterwards.

    Returns
    -------
    str or Path, as ``from_path`` is
        The folder, or the single file.

    Raises
    ------
    RuntimeError
        If the ending is another.
    ValueError
        If a member would be written outside of the folder.
    """
    source = Path(from_path)
    target = source.parent if to_path is None else Path(to_path).expanduser()
    target.mkdir(parents=True, exist_ok=True)
    name = source.name.lower()
    if name.endswith(_TAR_ENDINGS):
        _extract_tar(source, target)
    elif name.endswith(".zip"):
        _extract_zip(source, target)
    elif source.suffix in _COMPRESSED_FILE_OPENERS:
        target /= source.stem
        with _COMPRESSED_FILE_OPENERS[source.suffix](source, "rb") as packed, open(target, "wb") as file:
            shutil.copyfileobj(packed, file, _CHUNK)
    else:
        raise RuntimeError(
            f"extract_archive: the name of {source} must end in one of "
            f"{', '.join([*_TAR_ENDINGS, '.zip', *_COMPRESSED_FILE_OPENERS])}"
        )
    if remove_finished:
        source.unlink()
    return os.fspath(target) if isinstance(from_path, str) else target


def _extract_tar(source: Path, target: Path) -> None:
    try:
        with tarfile.open(source) as tar:
            tar.extractall(target, filter="data")
    except tarfile.FilterError as error:
        raise ValueError(f"extract_archive: {source} is refused: {error}") from error


def _extract_zip(source: Path, target: Path) -> None:
    inside = target.resolve()
    with zipfile.ZipFile(source) as archive:
        for name in archive.namelist():
            if not (inside / name).resolve().is_relative_to(inside):
                raise ValueError(f"extract_archive: {source} is refused: {name!r} would be written outside of {target}")
        archive.extractall(target)


def download_and_extract_archive(
    url: str,
    download_root: StrPath,
    extract_root: StrPath | None = None,
    filename: StrPath | None = None,
    md5: str | None = None,
    remove_finished: bool = False,
) -> None:
    """Fetch an archive and unpack it: see `download_url` and `extract_archive`.

    Parameters
    ----------
    url : str
    download_root : path
        The folder for the archive.
    extract_root : path, optional
        The folder for its content, by default the same.
    filename : str, optional
        The archive's name, by default the last part of the address.
    md5 : str, optional
        The checksum that the archive must have.
    remove_finished : bool, default False
        Delete the archive afterwards.
    """
    folder = Path(download_root).expanduser()
    name = filename or os.path.basename(urlparse(url).path)
    download_url(url, folder, name, md5)
    extract_archive(folder / name, folder if extract_root is None else extract_root, remove_finished)


# Folders and arguments -----------------------------------------------------------------------------------


def list_dir(root: StrPath, prefix: bool = False) -> list[str]:
    """Return the sorted names of the folders in a folder; with ``prefix`` their paths."""
    return _names(root, prefix, os.path.isdir)


def list_files(root: StrPath, suffix: str, prefix: bool = False) -> list[str]:
    """Return the sorted names of the files in a folder that end in ``suffix``; with ``prefix`` their paths."""
    return _names(root, prefix, lambda path: os.path.isfile(path) and path.endswith(suffix))


def _names(root: StrPath, prefix: bool, keep: Callable[[str], bool]) -> list[str]:
    root = os.path.expanduser(root)
    kept = [name for name in sorted(os.listdir(root)) if keep(os.path.join(root, name))]
    return [os.path.join(root, name) for name in kept] if prefix else kept


def iterable_to_str(iterable: Iterable[Any]) -> str:
    """Return the items between single quotes: ``'a', 'b'``."""
    return ", ".join(f"'{item}'" for item in iterable)


def verify_str_arg(
    value: Any, arg: str | None = None, valid_values: Iterable[Any] | None = None, custom_msg: str | None = None
) -> Any:
    """Return ``value`` if it is a string, and one of ``valid_values`` where they are given.

    Parameters
    ----------
    value : str
    arg : str, optional
        The argument's name, for the message.
    valid_values : iterable of str, optional
    custom_msg : str, optional
        The message in place of the usual one if the value is none of them.

    Raises
    ------
    ValueError
        If it is not.
    """
    name = arg or "the value"
    if not isinstance(value, str):
        raise ValueError(f"{name} must be a str, got {type(value).__name__}: {value!r}")
    if valid_values is not None and value not in (valid := list(valid_values)):
        raise ValueError(custom_msg or f"{name} must be one of {iterable_to_str(valid)}; got {value!r}")
    return value

"""Fetching, checking and unpacking files, with the names of ``torchtext.utils``."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

StrPath = str | os.PathLike[str]

_CHUNK = 1 << 20


def cache_folder() -> str:
    """Return the folder for the files of data sets: ``text`` beside `weft.hub.get_dir`'s."""
    from weft.hub import get_dir  # only now: it brings http and the reader of checkpoints, which few need

    return os.path.join(os.path.dirname(get_dir()), "text")


def reporthook(t: Any) -> Callable[..., None]:
    """Return a hook for `urllib.request.urlretrieve` that moves a bar of tqdm's.

    Parameters
    ----------
    t : tqdm.tqdm
    """
    last_block = 0

    def show(b: int = 1, bsize: int = 1, tsize: int | None = None) -> None:
        nonlocal last_block
        if tsize is not None:
            t.total = tsize
        t.update((b - last_block) * bsize)
        last_block = b

    return show


def validate_file(file_obj: IO[bytes], hash_value: str, hash_type: str = "sha256") -> bool:
    """Return whether what is left of an open file has that hash.

    Parameters
    ----------
    file_obj : file opened in binary mode
    hash_value : str
        In hexadecimal digits.
    hash_type : {"sha256", "md5"}

    Raises
    ------
    ValueError
        If the type is another.
    """
    if hash_type not in ("sha256", "md5"):
        raise ValueError(f"validate_file: hash_type must be 'sha256' or 'md5', got {hash_type!r}")
    digest = hashlib.new(hash_type, usedforsecurity=False)
    while chunk := file_obj.read(_CHUNK):
        digest.update(chunk)
    return digest.hexdigest() == hash_value


def download_from_url(
    url: str,
    path: StrPath | None = None,
    root: StrPath = ".data",
    overwrite: bool = False,
    hash_value: str | None = None,
    hash_type: str = "sha256",
) -> str:
    """Fetch a file, unless it is there, and return its path.

    Parameters
    ----------
    url : str
    path : path, optional
        Where to put it; by default in ``root``, by the last part of the address.
    root : path, default ".data"
    overwrite : bool, default False
        Fetch it again if it is there.
    hash_value : str, optional
        What the file must have.
    hash_type : {"sha256", "md5"}

    Raises
    ------
    RuntimeError
        If the hash is another.
    """
    from weft.hub import download_url_to_file

    target = os.path.abspath(os.path.join(root, os.path.basename(url)) if path is None else path)
    if overwrite or not os.path.exists(target):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        prefix = None if hash_value is None else ("md5:" if hash_type == "md5" else "") + hash_value
        download_url_to_file(url, target, hash_prefix=prefix)
    elif hash_value is not None:
        with open(target, "rb") as file:
            if not validate_file(file, hash_value, hash_type):
                raise RuntimeError(f"The hash of {target} does not match. Delete the file manually and retry.")
    return target


def extract_archive(from_path: StrPath, to_path: StrPath | None = None, overwrite: bool = False) -> list[str]:
    """Unpack an archive and return the paths of the files in it.

    Archives may be hostile: a member that would be written outside of ``to_path`` raises, and so do links that lead
    outside and devices.

    Parameters
    ----------
    from_path : path
        Ends in .zip, .tar.gz or .tgz, or in .gz for a single file.
    to_path : path, optional
        The folder to write into, by default that of the archive.
    overwrite : bool, default False
        Write files that are there again; without it they stay.

    Raises
    ------
    NotImplementedError
        If the name ends in something else.
    ValueError
        If a member would be written outside.
    """
    source = os.fspath(from_path)
    folder = Path(os.path.dirname(source) if to_path is None else to_path)
    if source.endswith((".tar.gz", ".tgz")):
        return _extract_tar(source, folder, overwrite)
    if source.endswith(".zip"):
        return _extract_zip(source, folder, overwrite)
    if source.endswith(".gz"):
        with gzip.open(source) as packed, open(source.removesuffix(".gz"), "wb") as unpacked:
            shutil.copyfileobj(packed, unpacked)
        return [source.removesuffix(".gz")]
    raise NotImplementedError(
        f"extract_archive: We currently only support .tar.gz, .tgz, .gz and .zip achives, got {source}"
    )


def _extract_tar(source: str, folder: Path, overwrite: bool) -> list[str]:
    files = []
    with tarfile.open(source) as archive:
        for member in archive:
            path = folder / member.name
            if member.isfile():
                files.append(str(path))
                if path.exists() and not overwrite:
                    continue
            try:
                archive.extract(member, folder, filter="data")
            except tarfile.FilterError as error:
                raise ValueError(f"extract_archive: {source} is refused: {error}") from error
    return files


def _extract_zip(source: str, folder: Path, overwrite: bool) -> list[str]:
    inside = folder.resolve()
    with zipfile.ZipFile(source) as archive:
        names = archive.namelist()
        for name in names:
            if not (inside / name).resolve().is_relative_to(inside):
                raise ValueError(f"extract_archive: {source} is refused: {name!r} would be written outside of {folder}")
        for name in names:
            if overwrite or not (folder / name).exists():
                archive.extract(name, folder)
    return [str(folder / name) for name in names if (folder / name).is_file()]


def get_asset_local_path(asset_path: StrPath, overwrite: bool = False) -> str:
    """Return the path of a file that is on disk, or that an address leads to.

    Parameters
    ----------
    asset_path : path or str
        A file; or an address, from which it is fetched into the folder of weft's other files.
    overwrite : bool, default False
        Fetch it again if it was fetched before.

    Raises
    ------
    FileNotFoundError
        If there is no such file, and it is no address.
    """
    path = os.fspath(asset_path)
    if os.path.exists(path):
        return path
    if "://" not in path:
        raise FileNotFoundError(f"there is no file {path!r}, and it is no address to fetch one from")
    return download_from_url(path, root=cache_folder(), overwrite=overwrite)

"""Fetching and checking the files of data sets."""

from __future__ import annotations

import hashlib
import os
import tempfile
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

_CHUNK = 1 << 20


def calculate_md5(fpath: str | Path) -> str:
    """Return the MD5 checksum of a file, in hexadecimal digits.

    MD5 tells a damaged download from a whole one, which is its use here; it is no proof against forgery.
    """
    digest = hashlib.md5(usedforsecurity=False)
    with open(fpath, "rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def check_integrity(fpath: str | Path, md5: str | None = None) -> bool:
    """Return whether the file exists and, where ``md5`` is given, has that checksum."""
    return os.path.isfile(fpath) and (md5 is None or calculate_md5(fpath) == md5)


def download_url(urls: str | Sequence[str], path: Path, md5: str | None = None, timeout: float = 30.0) -> None:
    """Fetch a file from the first of several addresses that has it whole.

    Parameters
    ----------
    urls : str or sequence of str
        Addresses of the same file.
    path : Path
        Where to put it. A file that is there and has the checksum is kept; it appears only when it is complete.
    md5 : str, optional
        The checksum that it must have.
    timeout : float, default 30
        Seconds to wait for an answer.

    Raises
    ------
    RuntimeError
        If no address gave the file; the message has what each answered.
    """
    if check_integrity(path, md5):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    failures = []
    for url in [urls] if isinstance(urls, str) else urls:
        try:
            _fetch(url, path, md5, timeout)
        except (urllib.error.URLError, OSError, ValueError) as error:
            failures.append(f"{url}: {error}")
        else:
            return
    raise RuntimeError(
        f"download: could not get {path.name}\n  "
        + "\n  ".join(failures)
        + f"\nFetch it by another way and put it at {path}"
    )


def _fetch(url: str, path: Path, md5: str | None, timeout: float) -> None:
    """Write what ``url`` answers to a new file beside ``path``, check it, and give it its name."""
    request = urllib.request.Request(url, headers={"User-Agent": "weft-vision"})
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file, urllib.request.urlopen(request, timeout=timeout) as answer:
            while chunk := answer.read(_CHUNK):
                file.write(chunk)
        if md5 is not None and (found := calculate_md5(name)) != md5:
            raise ValueError(f"the file has MD5 {found}, expected {md5}: damaged, or changed by its publisher")
        os.replace(name, path)
    finally:
        Path(name).unlink(missing_ok=True)

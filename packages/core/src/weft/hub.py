"""Models that a folder of code offers by its ``hubconf.py``, and files of parameters by their address.

A repository is a folder on this machine: nothing is fetched from a host of code. An *entry point* is a function in its
``hubconf.py`` whose name does not begin with an underscore.
"""

from __future__ import annotations

import builtins
import errno
import hashlib
import http.client
import importlib.util
import os
import re
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlparse

from weft import serialization

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

_chosen: str | None = None
_chunk_bytes = 1 << 17
_ATTEMPTS = 3
_PARTIAL_CONTENT, _RANGE_NOT_SATISFIABLE = 206, 416  # of RFC 9110
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")  # model-1a2b3c4d.pt


def _get_torch_home() -> str:
    """The folder around `get_dir`'s, by the name under which libraries ask for it."""
    return os.path.dirname(get_dir())


def get_dir() -> str:
    """The folder for files that are fetched: `set_dir`'s, or ``hub`` in ``$WEFT_HOME``.

    ``$WEFT_HOME`` is by default ``weft`` in ``$XDG_CACHE_HOME``, and that is ``~/.cache``.
    """
    if _chosen is not None:
        return _chosen
    home = os.environ.get("WEFT_HOME") or os.path.join(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "weft")
    return os.path.join(os.path.expanduser(home), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Set the folder for files that are fetched, for this process."""
    global _chosen
    _chosen = os.path.expanduser(os.fspath(d))


# Entry points --------------------------------------------------------------------------------------------


def list(
    github: str | os.PathLike[str],
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: Any = "check",
    verbose: bool = True,
) -> builtins.list[str]:
    """The names of a repository's entry points.

    Parameters
    ----------
    github : str or path
        The repository's folder.
    force_reload, skip_validation, trust_repo, verbose
        Accepted; they speak of repositories that are fetched.
    """
    with _hubconf("list", github) as module:
        return [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]


def help(
    github: str | os.PathLike[str],
    model: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: Any = "check",
) -> str | None:
    """The docstring of an entry point."""
    with _hubconf("help", github) as module:
        return _entry_point("help", module, model).__doc__


def load(
    repo_or_dir: str | os.PathLike[str],
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: Any = "check",
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """Call an entry point of a repository.

    Parameters
    ----------
    repo_or_dir : str or path
        The repository's folder.
    model : str
        The entry point's name.
    *args, **kwargs
        For the entry point.
    source : str
        ``"local"``. ``"github"`` is PyTorch's default, and taken for the same where there is such a folder.
    trust_repo, force_reload, verbose, skip_validation
        Accepted; they speak of repositories that are fetched.

    Returns
    -------
    What the entry point returns: a model, as a rule.

    Raises
    ------
    ValueError
        If ``source`` is neither.
    FileNotFoundError
        If there is no such folder, or no ``hubconf.py`` in it.
    RuntimeError
        If there is no such entry point, or a package is missing that ``hubconf.dependencies`` names.
    """
    if source.lower() not in ("github", "local"):
        raise ValueError(f'load: Unknown source: "{source}". Allowed values: "github" | "local".')
    with _hubconf("load", repo_or_dir) as module:
        return _entry_point("load", module, model)(*args, **kwargs)


@contextmanager
def _hubconf(name: str, repository: str | os.PathLike[str]) -> Iterator[ModuleType]:
    """A repository's hubconf.py, run; while it is in use its neighbours can be imported."""
    folder = os.path.expanduser(os.fspath(repository))
    path = os.path.join(folder, "hubconf.py")
    if not os.path.isfile(path):
        raise FileNotFoundError(
            errno.ENOENT,
            f"{name}: there is no such file. weft.hub reads repositories that are folders on this machine: clone it, "
            "and give the folder",
            path,
        )
    sys.path.insert(0, folder)
    try:
        spec = importlib.util.spec_from_file_location("hubconf", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module
    finally:
        with suppress(ValueError):
            sys.path.remove(folder)


def _entry_point(name: str, module: ModuleType, model: str) -> Callable[..., Any]:
    if not isinstance(model, str):
        raise ValueError(f"{name}: Invalid input: model should be a string of function name, got {model!r}")
    missing = [each for each in getattr(module, "dependencies", ()) if importlib.util.find_spec(each) is None]
    if missing:
        raise RuntimeError(f"{name}: Missing dependencies: {', '.join(missing)}; install them first")
    function: Any = getattr(module, model, None)
    if not callable(function):
        raise RuntimeError(f"{name}: Cannot find callable {model} in hubconf; weft.hub.list tells what there is")
    found: Callable[..., Any] = function
    return found


# Files ---------------------------------------------------------------------------------------------------


def download_url_to_file(
    url: str, dst: str | os.PathLike[str], hash_prefix: str | None = None, progress: bool = True
) -> None:
    """Copy what is at an address to a file, which appears when it is whole.

    A connection that breaks is taken up where it broke, if the server can. What an interrupted call has received is
    kept beside the file (``<dst>.partial``) if there is a hash, and the next call with one goes on from there.

    Parameters
    ----------
    url : str
        ``https://``, ``file://``, ...
    dst : str or path
    hash_prefix : str, optional
        What the SHA-256 of the content begins with, in hexadecimal digits; with ``"md5:"`` before them its MD5.
    progress : bool
        Show a bar, where the package tqdm is installed and errors go to a terminal.

    Raises
    ------
    RuntimeError
        If the hash is another: ``dst`` is left as it was.
    ConnectionError
        If the connection broke, and broke again.
    """
    target = os.path.expanduser(os.fspath(dst))
    kept, partial = f"{target}.partial", f"{target}.{os.urandom(4).hex()}.partial"
    if hash_prefix is not None:
        with suppress(FileNotFoundError):
            os.rename(kept, partial)  # so that no two processes go on with the same
    try:
        _receive(url, partial, progress)
        if hash_prefix is not None:
            _check_hash(partial, hash_prefix)
        os.replace(partial, target)
    except BaseException as error:
        with suppress(OSError):
            broken = isinstance(error, (OSError, KeyboardInterrupt)) and os.path.getsize(partial) > 0
            if broken and hash_prefix is not None:
                os.replace(partial, kept)
            else:
                os.unlink(partial)
        raise


def _receive(url: str, path: str, progress: bool) -> None:
    """Append to a file what it lacks of the content at an address."""
    size = 0
    with open(path, "ab") as file:
        for _ in range(_ATTEMPTS):
            begin = file.seek(0, os.SEEK_END)
            headers = {"User-Agent": "weft.hub", **({"Range": f"bytes={begin}-"} if begin else {})}
            try:
                with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as answer:
                    if begin and getattr(answer, "status", None) != _PARTIAL_CONTENT:
                        begin = file.truncate(0)
                    size = begin + int(answer.headers.get("Content-Length") or 0)
                    with _bar(size, progress) as advance:
                        advance(begin)
                        while chunk := answer.read(_chunk_bytes):
                            file.write(chunk)
                            advance(len(chunk))
            except urllib.error.HTTPError as error:
                if error.code != _RANGE_NOT_SATISFIABLE:
                    raise
                file.truncate(0)  # what was kept is no beginning of what is there now
                continue
            except (ConnectionError, TimeoutError, http.client.IncompleteRead):
                continue
            if size == begin or file.seek(0, os.SEEK_END) >= size:  # the server may not say how long it is
                return
    got = os.path.getsize(path)
    raise ConnectionError(f"download_url_to_file: the connection to {url} broke again, after {got} of {size} bytes")


def _check_hash(path: str, prefix: str) -> None:
    algorithm, _, digits = prefix.rpartition(":")
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, lambda: hashlib.new(algorithm or "sha256", usedforsecurity=False))
    if not digest.hexdigest().startswith(digits):
        raise RuntimeError(
            f'download_url_to_file: invalid hash value (expected "{digits}", got "{digest.hexdigest()}")'
        )


def load_state_dict_from_url(
    url: str,
    model_dir: str | os.PathLike[str] | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = True,
) -> dict[str, Any]:
    """Load what `weft.save`, PyTorch or safetensors wrote from an address; fetched once, from then on from `get_dir`.

    Parameters
    ----------
    url : str
    model_dir : str or path, optional
        Where the file is kept; by default ``checkpoints`` in `get_dir`.
    map_location : device, str, dict or callable, optional
        As in `weft.load`; a device for ``.safetensors``.
    progress : bool
        As in `download_url_to_file`.
    check_hash : bool
        Compare with the digits in the name: ``name-<first digits of the SHA-256>.ext``. A connection that broke is
        then taken up where it broke, as in `download_url_to_file`.
    file_name : str, optional
        The kept file's name, in place of the address's last part.
    weights_only : bool
        As in `weft.load`. Unlike PyTorch's it is True by default: a file that was fetched runs no code.

    Raises
    ------
    RuntimeError
        If the hash is another.
    """
    folder = Path(model_dir if model_dir is not None else os.path.join(get_dir(), "checkpoints")).expanduser()
    folder.mkdir(parents=True, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    path = folder / name
    if not path.exists():
        print(f'Downloading: "{url}" to {path}', file=sys.stderr)
        digits = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, digits.group(1) if digits else None, progress=progress)
    if path.suffix == ".safetensors":
        device = "cpu" if map_location is None else map_location
        reader = importlib.import_module("weft.serialization.safetensors")
        state: dict[str, Any] = reader.load_file(path, device)
    else:
        state = serialization.load(path, map_location=map_location, weights_only=weights_only)
    return state


class SilentBar:
    """What stands for the bar of tqdm's where that is not installed: counts, and shows nothing.

    Parameters
    ----------
    total : int, optional
    *args, **kwargs
        Those of tqdm's.
    """

    def __init__(self, total: int | None = None, *args: Any, **kwargs: Any) -> None:
        self.total = total
        self.n = 0

    def update(self, n: int = 1) -> None:
        """Count so many more."""
        self.n += n

    def close(self) -> None:
        """Do nothing."""

    def __enter__(self) -> SilentBar:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


def __getattr__(name: str) -> Any:
    """The bar that downloads show, which torchio and torchvision import from here."""
    if name == "tqdm":
        installed = importlib.util.find_spec("tqdm") is not None
        return importlib.import_module("tqdm").tqdm if installed else SilentBar
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@contextmanager
def _bar(size: int, wanted: bool) -> Iterator[Callable[[int], Any]]:
    """Takes how many bytes have come; shows it where it can."""
    kind = __getattr__("tqdm") if wanted else SilentBar
    with kind(total=size or None, unit="B", unit_scale=True, unit_divisor=1024, disable=None) as bar:
        yield bar.update

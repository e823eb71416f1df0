"""Word vectors that were trained elsewhere, read from their published text files."""

from __future__ import annotations

import gzip
import io
import logging
import os
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import IO, Any, ClassVar

import numpy as np

import weft
from weft import Tensor

logger = logging.getLogger(__name__)


class Vectors:
    """A vector for each token of a text file with lines "token number number ...".

    The file is read once: what it has is kept beside it in a ``.pt`` file, which is read from then on, while it is
    younger than the text. Both are of torchtext's form.

    Parameters
    ----------
    name : str
        The path of the file, or its name in the folder ``cache``. One that ends in ".gz" is unpacked.
    cache : path, default ".vector_cache"
        The folder of the ``.pt`` file, and of ``name`` unless that is a path.
    url : str, optional
        Where the file, or an archive with it, is published. Nothing is fetched: an archive of that name in ``cache``
        is read, and the error for a missing file says what to put there.
    unk_init : callable, optional
        From a tensor of shape (dim,) to the vector of a token that is not in the file; by default zeros.
    max_vectors : int, optional
        Read so many lines only; the published files begin with the most frequent tokens.

    Attributes
    ----------
    itos : list of str
    stoi : dict of str to int
    vectors : Tensor, shape (len(itos), dim), float32
    dim : int

    Raises
    ------
    RuntimeError
        If there is no such file, or its lines have different numbers of entries.
    """

    def __init__(
        self,
        name: str | os.PathLike[str],
        cache: str | os.PathLike[str] | None = None,
        url: str | None = None,
        unk_init: Callable[[Tensor], Tensor] | None = None,
        max_vectors: int | None = None,
    ) -> None:
        self.itos: list[str]
        self.stoi: dict[str, int]
        self.vectors: Tensor
        self.dim: int
        self.unk_init = weft.Tensor.zero_ if unk_init is None else unk_init
        self.cache(os.fspath(name), ".vector_cache" if cache is None else os.fspath(cache), url, max_vectors)

    def cache(self, name: str, cache: str, url: str | None = None, max_vectors: int | None = None) -> None:
        """Read the vectors, from the ``.pt`` file if it is up to date; arguments as of the class."""
        path = name if os.path.isfile(name) else os.path.join(cache, name)
        kept = os.path.join(cache, os.path.basename(name)) + (f"_{max_vectors}.pt" if max_vectors else ".pt")
        source = _source_of(path, cache, url)
        if os.path.isfile(kept) and (source is None or os.path.getmtime(kept) >= os.path.getmtime(source)):
            logger.info("Loading vectors from %s", kept)
            self.itos, self.stoi, self.vectors, self.dim = weft.load(kept)
            return
        if source is None:
            raise RuntimeError(_missing(path, url))
        with _opened(source, os.path.basename(path)) as file:
            self.itos, rows = _read(file, max_vectors)
        self.stoi = {token: index for index, token in enumerate(self.itos)}
        self.vectors = weft.from_numpy(rows)
        self.dim = rows.shape[1]
        os.makedirs(cache, exist_ok=True)
        weft.save((self.itos, self.stoi, self.vectors, self.dim), kept)

    def __getitem__(self, token: str) -> Tensor:
        """Return the vector of a token, or what ``unk_init`` makes."""
        if token in self.stoi:
            return self.vectors[self.stoi[token]]
        return self.unk_init(weft.empty(self.dim))

    def __contains__(self, token: str) -> bool:
        """Return whether the file has the token."""
        return token in self.stoi

    def __len__(self) -> int:
        """Return the number of vectors."""
        return len(self.vectors)

    def get_vecs_by_tokens(self, tokens: str | list[str], lower_case_backup: bool = False) -> Tensor:
        """Return the vectors of tokens.

        Parameters
        ----------
        tokens : str or list of str
        lower_case_backup : bool, default False
            Look for a token that is missing in small letters.

        Returns
        -------
        Tensor, shape (dim,) for a str and (len(tokens), dim) for a list
        """
        several = tokens if isinstance(tokens, list) else [tokens]
        found = [self[token if token in self.stoi or not lower_case_backup else token.lower()] for token in several]
        stacked = weft.stack(found)
        return stacked if isinstance(tokens, list) else stacked[0]


class GloVe(Vectors):
    """GloVe's vectors: ``glove.<name>.<dim>d.txt``, or the published ``.zip`` with it, in ``cache``.

    Parameters
    ----------
    name : {"6B", "42B", "840B", "twitter.27B"}
    dim : int or str
        300; of "6B" also 50, 100 and 200; of "twitter.27B" 25, 50, 100 and 200.
    **kwargs
        As of `Vectors`.

    References
    ----------
    J. Pennington, R. Socher, C. Manning: GloVe: Global Vectors for Word Representation, EMNLP 2014.
    """

    url: ClassVar = {
        "42B": "http://nlp.stanford.edu/data/glove.42B.300d.zip",
        "840B": "http://nlp.stanford.edu/data/glove.840B.300d.zip",
        "twitter.27B": "http://nlp.stanford.edu/data/glove.twitter.27B.zip",
        "6B": "http://nlp.stanford.edu/data/glove.6B.zip",
    }

    def __init__(self, name: str = "840B", dim: int | str = 300, **kwargs: Any) -> None:
        if name not in self.url:
            raise KeyError(f"GloVe: there are no vectors {name!r}; expected one of {sorted(self.url)}")
        super().__init__(f"glove.{name}.{dim}d.txt", url=self.url[name], **kwargs)


class FastText(Vectors):
    """fastText's vectors of a language's Wikipedia: ``wiki.<language>.vec`` in ``cache``.

    Parameters
    ----------
    language : str
        A code such as "en" or "simple".
    **kwargs
        As of `Vectors`.

    References
    ----------
    P. Bojanowski et al.: Enriching Word Vectors with Subword Information, arXiv:1607.04606.
    """

    url_base = "https://dl.fbaipublicfiles.com/fasttext/vectors-wiki/wiki.{}.vec"

    def __init__(self, language: str = "en", **kwargs: Any) -> None:
        url = self.url_base.format(language)
        super().__init__(os.path.basename(url), url=url, **kwargs)


class CharNGram(Vectors):
    """Vectors of runs of 2, 3 and 4 characters; that of a token, of shape (1, dim), is the mean over its runs.

    They are in ``charNgram.txt``, or the published ``.tar.gz`` with it, in ``cache``.

    References
    ----------
    K. Hashimoto et al.: A Joint Many-Task Model, arXiv:1611.01587.
    """

    name = "charNgram.txt"
    url = "http://www.logos.t.u-tokyo.ac.jp/~hassy/publications/arxiv2016jmt/jmt_pre-trained_embeddings.tar.gz"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(self.name, url=self.url, **kwargs)

    def __getitem__(self, token: str) -> Tensor:
        """Return the mean vector of a token's runs of characters; of "<unk>" what ``unk_init`` makes."""
        rows = [] if token == "<unk>" else [self.stoi[run] for run in _character_runs(token) if run in self.stoi]
        if not rows:
            return self.unk_init(weft.zeros(1, self.dim))
        return self.vectors[rows].mean(dim=0, keepdim=True)


def _character_runs(token: str) -> Iterator[str]:
    characters = ["#BEGIN#", *token, "#END#"]
    for length in (2, 3, 4):
        for start in range(len(characters) - length + 1):
            yield f"{length}gram-{''.join(characters[start : start + length])}"


pretrained_aliases: dict[str, Callable[..., Vectors]] = {
    "charngram.100d": CharNGram,
    **{f"fasttext.{language}.300d": partial(FastText, language=language) for language in ("en", "simple")},
    **{f"glove.{name}.300d": partial(GloVe, name=name, dim="300") for name in ("42B", "840B")},
    **{f"glove.twitter.27B.{dim}d": partial(GloVe, name="twitter.27B", dim=str(dim)) for dim in (25, 50, 100, 200)},
    **{f"glove.6B.{dim}d": partial(GloVe, name="6B", dim=str(dim)) for dim in (50, 100, 200, 300)},
}


# Files ---------------------------------------------------------------------------------------------------


def _source_of(path: str, cache: str, url: str | None) -> str | None:
    """Return the file to read: the text, or the published archive around it; None if both are missing."""
    archive = os.path.join(cache, os.path.basename(url)) if url else path
    return next((file for file in (path, archive) if os.path.isfile(file)), None)


def _missing(path: str, url: str | None) -> str:
    message = f"no vectors found at {path}"
    if url is None:
        return message
    folder, archive = os.path.dirname(path), os.path.basename(url)
    other = "" if archive == os.path.basename(path) else f", or {archive} itself into {folder}"
    return f"{message}: they are published at {url}; put the file there{other}"


@contextmanager
def _opened(source: str, member: str) -> Iterator[IO[bytes]]:
    """Open a text file for its bytes: as it is, unpacked, or as the member of an archive."""
    if source.endswith(".zip"):
        with zipfile.ZipFile(source) as archive, archive.open(_named(archive.namelist(), member, source)) as file:
            yield file
    elif source.endswith((".tar.gz", ".tgz")):
        with tarfile.open(source) as tar:
            inner = tar.extractfile(_named(tar.getnames(), member, source))
            if inner is None:
                raise RuntimeError(f"no vectors found: {member} in {source} is not a file")
            yield inner
    else:
        with gzip.open(source) if source.endswith(".gz") else open(source, "rb") as file:
            yield io.BufferedReader(file) if isinstance(file, gzip.GzipFile) else file  # lines of GzipFile are slow


def _named(names: list[str], member: str, source: str) -> str:
    found = next((name for name in names if os.path.basename(name) == member), None)
    if found is None:
        raise RuntimeError(f"no vectors found: there is no {member} in {source}, which has {sorted(names)[:10]}")
    return found


def _read(file: IO[bytes], max_vectors: int | None) -> tuple[list[str], np.ndarray]:
    """Return tokens and vectors, an array of shape (tokens, dim); headers and tokens that are not UTF-8 are skipped."""
    tokens: list[str] = []
    rows: list[np.ndarray] = []
    for line in file:
        if max_vectors and len(tokens) == max_vectors:
            break
        word, _, numbers = line.rstrip().partition(b" ")  # not split(): tokens may have other white space in them
        entries = numbers.count(b" ") + 1
        if entries == 1:
            logger.warning("Skipping token %r with 1-dimensional vector %r; likely a header", word, numbers)
            continue
        try:
            row = np.array(numbers.split(b" "), dtype=np.float32)
        except ValueError as error:
            raise RuntimeError(f"Vector for token {word!r} has entries that are not numbers: {error}") from error
        if rows and len(row) != len(rows[0]):
            raise RuntimeError(
                f"Vector for token {word!r} has {len(row)} dimensions, but previously read vectors have "
                f"{len(rows[0])} dimensions. All vectors must have the same number of dimensions."
            )
        try:
            tokens.append(word.decode("utf-8"))
        except UnicodeDecodeError:
            logger.info("Skipping non-UTF8 token %r", word)
            continue
        rows.append(row)
    return tokens, np.stack(rows) if rows else np.zeros((0, 0), np.float32)

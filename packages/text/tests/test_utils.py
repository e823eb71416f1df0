"""Files: fetching from local addresses, hashes, archives that may be hostile."""

import gzip
import hashlib
import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from weft.text import utils


def test_a_file_is_fetched_once_and_checked(tmp_path):
    source = tmp_path / "source.txt"
    source.write_text("text")
    digest = hashlib.sha256(b"text").hexdigest()
    path = utils.download_from_url(source.as_uri(), root=tmp_path / "data", hash_value=digest)
    assert path == str(tmp_path / "data" / "source.txt")
    source.write_text("changed")
    assert utils.download_from_url(source.as_uri(), path=path, hash_value=digest) == path
    with pytest.raises(RuntimeError, match=r"does not match\. Delete the file manually"):
        utils.download_from_url(source.as_uri(), path=path, hash_value="0" * 64)
    utils.download_from_url(source.as_uri(), path=path, overwrite=True)
    assert Path(path).read_text() == "changed"
    md5 = hashlib.md5(b"changed").hexdigest()
    assert utils.validate_file(io.BytesIO(b"changed"), md5, "md5")
    assert not utils.validate_file(io.BytesIO(b"x"), digest)
    with pytest.raises(ValueError, match="'sha256' or 'md5'"):
        utils.validate_file(io.BytesIO(b"x"), digest, "crc")


def test_an_asset_is_a_file_or_what_an_address_leads_to(tmp_path, monkeypatch):
    monkeypatch.setenv("WEFT_HOME", str(tmp_path / "home"))
    (tmp_path / "vocab.txt").write_text("a")
    assert utils.get_asset_local_path(tmp_path / "vocab.txt") == str(tmp_path / "vocab.txt")
    assert utils.get_asset_local_path((tmp_path / "vocab.txt").as_uri()) == str(
        tmp_path / "home" / "text" / "vocab.txt"
    )
    with pytest.raises(FileNotFoundError, match="no address"):
        utils.get_asset_local_path("missing.txt")


def test_archives_are_unpacked_and_existing_files_kept(tmp_path):
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        archive.addfile(entry := tarfile.TarInfo("in/one.txt"), io.BytesIO(b""))
        entry = tarfile.TarInfo("in/two.txt")
        entry.size = 3
        archive.addfile(entry, io.BytesIO(b"two"))
    files = [str(tmp_path / "in" / "one.txt"), str(tmp_path / "in" / "two.txt")]
    assert utils.extract_archive(tmp_path / "a.tar.gz") == files
    (tmp_path / "in" / "two.txt").write_text("mine")
    assert utils.extract_archive(tmp_path / "a.tar.gz") == files
    assert (tmp_path / "in" / "two.txt").read_text() == "mine"
    utils.extract_archive(tmp_path / "a.tar.gz", overwrite=True)
    assert (tmp_path / "in" / "two.txt").read_text() == "two"

    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.writestr("in/three.txt", "three")
    assert utils.extract_archive(tmp_path / "b.zip", tmp_path / "out") == [str(tmp_path / "out" / "in" / "three.txt")]
    (tmp_path / "c.txt.gz").write_bytes(gzip.compress(b"c"))
    assert utils.extract_archive(str(tmp_path / "c.txt.gz")) == [str(tmp_path / "c.txt")]
    with pytest.raises(NotImplementedError, match="currently only support"):
        utils.extract_archive("d.rar")


def test_members_outside_are_refused(tmp_path):
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        archive.addfile(tarfile.TarInfo("../evil"), io.BytesIO(b""))
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.writestr("../evil", "")
    for name in ("a.tar.gz", "b.zip"):
        with pytest.raises(ValueError, match="is refused"):
            utils.extract_archive(tmp_path / name, tmp_path / "out")
    assert not (tmp_path / "evil").exists()


def test_the_hook_moves_a_bar():
    class Bar:
        total, moved = None, 0

        def update(self, by):
            self.moved += by

    hook = utils.reporthook(bar := Bar())
    hook(1, 10, 100)
    hook(3, 10)
    assert (bar.total, bar.moved) == (100, 30)

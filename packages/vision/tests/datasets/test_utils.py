"""Downloads and archives: resumed, checked, and refused where they are hostile."""

import bz2
import gzip
import http.server
import io
import lzma
import os
import tarfile
import threading
import zipfile

import pytest

from weft.vision.datasets import utils
from weft.vision.datasets.utils import calculate_md5, download_and_extract_archive, download_url, extract_archive

CONTENT = bytes(range(256)) * 400


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves CONTENT, in parts where they are asked for; at /cut it breaks off after a quarter."""

    def do_GET(self):
        start = int(self.headers.get("Range", "bytes=0-")[6:-1])
        self.server.starts.append(start)
        self.send_response(206 if start else 200)
        rest = CONTENT[start:]
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest[: len(CONTENT) // 4] if self.path == "/cut" else rest)

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.starts = []
        server.address = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def md5(tmp_path):
    (tmp_path / "content").write_bytes(CONTENT)
    return calculate_md5(tmp_path / "content")


def test_a_download_that_broke_off_goes_on_in_the_next_call(server, tmp_path, md5):
    with pytest.raises(RuntimeError, match=r"the connection to .* broke"):
        download_url(f"{server.address}/cut", tmp_path, md5=md5)
    assert not (tmp_path / "cut").exists()
    received = len(server.starts)
    download_url(f"{server.address}/cut", tmp_path, md5=md5)
    assert (tmp_path / "cut").read_bytes() == CONTENT
    assert server.starts == [quarter * len(CONTENT) // 4 for quarter in range(4)]
    assert 0 < received < 4


def test_a_download_of_another_content_is_thrown_away(server, tmp_path, md5):
    (tmp_path / "file.partial").write_bytes(b"other" * 100)
    with pytest.raises(RuntimeError, match=f'invalid hash value .expected "{md5}"'):
        download_url(f"{server.address}/file", tmp_path, md5=md5)
    download_url(f"{server.address}/file", tmp_path, md5=md5)
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert server.starts == [500, 0]


def test_a_whole_file_is_not_fetched_again(server, tmp_path, md5):
    (tmp_path / "file").write_bytes(CONTENT)
    download_url(f"{server.address}/file", tmp_path, md5=md5)
    assert server.starts == []


def test_pages_of_google_drive_stand_for_their_files():
    address = utils._address_of_drive_file("https://drive.google.com/file/d/abc_123/view?usp=sharing")
    assert address == "https://drive.usercontent.google.com/download?id=abc_123&export=download&confirm=t"
    assert utils._address_of_drive_file("https://example.com/file/d/abc/view") == "https://example.com/file/d/abc/view"


# Archives --------------------------------------------------------------------------------------------------


def pack(path):
    """Write an archive with the file folder/a.txt, of the kind that its name says."""
    if path.name.endswith(".zip"):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("folder/a.txt", "text")
        return
    mode = {"gz": "w:gz", "tgz": "w:gz", "bz2": "w:bz2", "tbz": "w:bz2", "tbz2": "w:bz2", "xz": "w:xz", "tar": "w"}
    with tarfile.open(path, mode[path.name.rpartition(".")[2]]) as tar:
        member = tarfile.TarInfo("folder/a.txt")
        member.size = 4
        tar.addfile(member, io.BytesIO(b"text"))


@pytest.mark.parametrize("ending", ["tar", "tar.gz", "tgz", "tar.bz2", "tbz", "tbz2", "tar.xz", "zip"])
def test_archives_are_unpacked_by_their_ending(ending, tmp_path):
    archive = tmp_path / f"archive.{ending}"
    pack(archive)
    assert extract_archive(str(archive), str(tmp_path / "to"), remove_finished=True) == str(tmp_path / "to")
    assert (tmp_path / "to" / "folder" / "a.txt").read_text() == "text"
    assert not archive.exists()


@pytest.mark.parametrize(("ending", "compress"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)])
def test_single_files_are_unpacked(ending, compress, tmp_path):
    (tmp_path / f"a.txt.{ending}").write_bytes(compress(b"text"))
    assert extract_archive(tmp_path / f"a.txt.{ending}") == tmp_path / "a.txt"
    assert (tmp_path / "a.txt").read_bytes() == b"text"


def test_another_ending_is_refused(tmp_path):
    (tmp_path / "a.rar").touch()
    with pytest.raises(RuntimeError, match=r"a\.rar must end in"):
        extract_archive(tmp_path / "a.rar")


@pytest.mark.parametrize("name", ["../out.txt", "/tmp/weft-out.txt", "folder/../../out.txt"])
def test_members_that_lead_outside_are_refused(name, tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(name, "text")
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        tar.addfile(tarfile.TarInfo(name))
    with pytest.raises(ValueError, match="outside"):
        extract_archive(tmp_path / "a.zip", tmp_path / "to")
    if not name.startswith("/"):  # tarfile writes that one inside
        with pytest.raises(ValueError, match="refused"):
            extract_archive(tmp_path / "a.tar", tmp_path / "to")
    assert not os.path.exists(tmp_path / "out.txt")


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE])
def test_links_that_lead_outside_and_devices_are_refused(kind, tmp_path):
    member = tarfile.TarInfo("member")
    member.type, member.linkname = kind, "../../etc/passwd"
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        tar.addfile(member)
    with pytest.raises(ValueError, match="refused"):
        extract_archive(tmp_path / "a.tar", tmp_path / "to")


def test_an_archive_is_fetched_and_unpacked(tmp_path):
    (tmp_path / "from").mkdir()
    pack(tmp_path / "from" / "archive.tgz")
    md5 = calculate_md5(tmp_path / "from" / "archive.tgz")
    address = (tmp_path / "from" / "archive.tgz").as_uri()
    download_and_extract_archive(address, tmp_path / "downloads", tmp_path / "data", md5=md5)
    assert (tmp_path / "data" / "folder" / "a.txt").read_text() == "text"
    assert (tmp_path / "downloads" / "archive.tgz").exists()


def test_folders_are_listed_in_order(tmp_path):
    for name in ("b", "a"):
        (tmp_path / name).mkdir()
        (tmp_path / f"{name}.png").touch()
    assert utils.list_dir(tmp_path) == ["a", "b"]
    assert utils.list_files(tmp_path, ".png", prefix=True) == [str(tmp_path / "a.png"), str(tmp_path / "b.png")]
    assert utils.iterable_to_str(["a", 1]) == "'a', '1'"

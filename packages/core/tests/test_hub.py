"""Entry points of folders, and files by their address."""

import hashlib
import http.server
import sys
import threading
from contextlib import suppress

import pytest

import weft
from weft import hub


@pytest.fixture
def repository(tmp_path):
    (tmp_path / "parts_of_hub_test.py").write_text("SCALE = 3\n")
    (tmp_path / "hubconf.py").write_text(
        "dependencies = ['numpy']\n"
        "from parts_of_hub_test import SCALE\n"
        "import weft\n"
        "def scaled(size, offset=0):\n"
        "    '''Ones, scaled.'''\n"
        "    return weft.ones(size) * SCALE + offset\n"
        "def _private(): pass\n"
    )
    yield tmp_path
    sys.modules.pop("parts_of_hub_test", None)


@pytest.fixture
def weights(tmp_path):
    """A file of parameters with the beginning of its hash in its name."""
    path = tmp_path / "weights.pt"
    weft.save({"weight": weft.arange(3)}, path)
    digits = hashlib.sha256(path.read_bytes()).hexdigest()[:8]
    return path.rename(tmp_path / f"weights-{digits}.pt")


def test_an_entry_point_is_called_with_its_arguments(repository):
    before = list(sys.path)
    assert hub.load(str(repository), "scaled", 2, offset=1, source="local").tolist() == [4, 4]
    assert hub.load(repository, "scaled", 1).tolist() == [3]
    assert sys.path == before


def test_entry_points_are_listed_and_explained(repository):
    assert hub.list(repository) == ["scaled"]
    assert hub.help(repository, "scaled") == "Ones, scaled."


def test_what_is_not_there_is_told(repository, tmp_path):
    with pytest.raises(RuntimeError, match="Cannot find callable scale in hubconf"):
        hub.load(repository, "scale")
    with pytest.raises(ValueError, match='Unknown source: "gitlab"'):
        hub.load(repository, "scaled", source="gitlab")
    with pytest.raises(FileNotFoundError, match="folders on this machine"):
        hub.load("owner/repository", "scaled")
    (tmp_path / "hubconf.py").write_text("dependencies = ['no_such_package_of_hub']\ndef model(): pass\n")
    with pytest.raises(RuntimeError, match="Missing dependencies: no_such_package_of_hub"):
        hub.load(repository, "model")


def test_the_folder_is_chosen_by_the_program_or_the_environment(monkeypatch, tmp_path):
    monkeypatch.setattr(hub, "_chosen", None)
    monkeypatch.delenv("WEFT_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert hub.get_dir() == "/cache/weft/hub"
    monkeypatch.setenv("WEFT_HOME", "/home/weft")
    assert hub.get_dir() == "/home/weft/hub"
    hub.set_dir(tmp_path)
    assert hub.get_dir() == str(tmp_path)


def test_a_state_dict_is_fetched_once(monkeypatch, tmp_path, weights, capsys):
    monkeypatch.setattr(hub, "_chosen", str(tmp_path / "hub"))
    found = hub.load_state_dict_from_url(weights.as_uri(), check_hash=True, progress=False)
    assert found["weight"].tolist() == [0, 1, 2]
    assert "Downloading" in capsys.readouterr().err
    address = weights.as_uri()
    weights.unlink()
    assert hub.load_state_dict_from_url(address)["weight"].tolist() == [0, 1, 2]
    assert capsys.readouterr().err == ""
    assert (tmp_path / "hub" / "checkpoints" / weights.name).exists()


def test_another_hash_is_refused_and_leaves_nothing(tmp_path, weights):
    folder = tmp_path / "kept"
    wrong = weights.rename(tmp_path / "weights-00000000.pt")
    with pytest.raises(RuntimeError, match=r'invalid hash value \(expected "00000000"'):
        hub.load_state_dict_from_url(wrong.as_uri(), folder, check_hash=True, progress=False)
    assert list(folder.iterdir()) == []
    assert hub.load_state_dict_from_url(wrong.as_uri(), folder, file_name="other.pt")["weight"].tolist() == [0, 1, 2]
    assert [path.name for path in folder.iterdir()] == ["other.pt"]


class Server:
    """Sends a file, but breaks off after so many bytes of each answer."""

    def __init__(self, content, bytes_each, ranges=True):
        served, self.asked = self, []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                wanted = self.headers.get("Range")
                served.asked.append(wanted)
                begin = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and ranges else 0
                if begin >= len(content):
                    self.send_error(416)
                    return
                self.send_response(206 if begin else 200)
                self.send_header("Content-Length", str(len(content) - begin))
                self.end_headers()
                self.wfile.write(content[begin : begin + served.bytes_each])

            def log_message(self, *args):
                pass

        self.bytes_each = bytes_each
        self.http = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/file"
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *raised):
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()


CONTENT = bytes(range(256)) * 40
DIGEST = hashlib.sha256(CONTENT).hexdigest()


def test_a_connection_that_breaks_is_taken_up_where_it_broke(tmp_path):
    with Server(CONTENT, bytes_each=6000) as server:
        hub.download_url_to_file(server.url, tmp_path / "file", progress=False)
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert server.asked == [None, "bytes=6000-"]


def test_an_interrupted_call_with_a_hash_is_taken_up_by_the_next(tmp_path):
    target = tmp_path / "file"
    with Server(CONTENT, bytes_each=2000) as server:
        with pytest.raises(ConnectionError, match="broke again, after 6000 of 10240 bytes"):
            hub.download_url_to_file(server.url, target, DIGEST[:8], progress=False)
        assert [path.name for path in tmp_path.iterdir()] == ["file.partial"]
        server.bytes_each = len(CONTENT)
        hub.download_url_to_file(server.url, target, DIGEST[:8], progress=False)
    assert target.read_bytes() == CONTENT
    assert server.asked[-1] == "bytes=6000-"
    assert list(tmp_path.iterdir()) == [target]


def test_an_interrupted_call_without_a_hash_leaves_nothing(tmp_path):
    with Server(CONTENT, bytes_each=2000) as server, pytest.raises(ConnectionError):
        hub.download_url_to_file(server.url, tmp_path / "file", progress=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kept", [b"other" * 10, CONTENT + b"more"], ids=["another beginning", "longer"])
def test_what_was_kept_of_another_content_is_not_taken(tmp_path, kept):
    (tmp_path / "file.partial").write_bytes(kept)
    with Server(CONTENT, bytes_each=len(CONTENT)) as server:
        with suppress(RuntimeError):  # the hash tells, and the next call begins anew
            hub.download_url_to_file(server.url, tmp_path / "file", DIGEST[:8], progress=False)
        hub.download_url_to_file(server.url, tmp_path / "file", DIGEST[:8], progress=False)
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_a_server_without_ranges_sends_all_again(tmp_path):
    (tmp_path / "file.partial").write_bytes(CONTENT[:100])
    with Server(CONTENT, bytes_each=len(CONTENT), ranges=False) as server:
        hub.download_url_to_file(server.url, tmp_path / "file", DIGEST[:8], progress=False)
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_a_safetensors_file_is_fetched_and_read(tmp_path):
    weft.serialization.safetensors.save_file({"weight": weft.arange(3)}, tmp_path / "weights.safetensors")
    address = (tmp_path / "weights.safetensors").as_uri()
    assert hub.load_state_dict_from_url(address, tmp_path / "kept", progress=False)["weight"].tolist() == [0, 1, 2]


def test_a_file_is_fetched_with_or_without_a_bar(monkeypatch, tmp_path, weights):
    for tqdm in (sys.modules.get("tqdm"), None):
        if tqdm is None:
            monkeypatch.setitem(sys.modules, "tqdm", None)
        hub.download_url_to_file(weights.as_uri(), tmp_path / "copy", progress=True)
        assert (tmp_path / "copy").read_bytes() == weights.read_bytes()


def test_without_tqdm_a_bar_counts_and_shows_nothing(monkeypatch, capsys):
    """torchvision imports the bar with its data sets."""
    monkeypatch.setattr(weft.hub.importlib.util, "find_spec", lambda name: None)
    from weft.utils.model_zoo import tqdm

    with tqdm(total=3, unit="B") as bar:
        bar.update(2)
        bar.update()
    assert (bar.n, bar.total) == (3, 3)
    assert capsys.readouterr() == ("", "")

"""Entry points of folders, and files by their address."""

import hashlib
import sys

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

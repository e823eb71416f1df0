"""What the data sets read is what torchtext 0.18 reads from the same files, packed and unpacked."""

import importlib.util
import json
import pickle
from pathlib import Path

import pytest

from weft.text import datasets
from weft.utils.data import DataLoader

HERE = Path(__file__).parent
RESULTS = json.loads((HERE / "torchtext_results.json").read_text(encoding="utf-8"))  # recorded from torchtext 0.18

spec = importlib.util.spec_from_file_location("published", HERE / "published.py")
published = importlib.util.module_from_spec(spec)
spec.loader.exec_module(published)


def as_json(samples):
    return json.loads(json.dumps(samples))


@pytest.mark.parametrize("form", ["published", "unpacked"])
@pytest.mark.parametrize(
    "case", RESULTS, ids=lambda case: "-".join([case["name"], *map(str, case["options"].values())])
)
def test_samples_are_those_of_torchtext(case, form, tmp_path):
    folder = tmp_path / "datasets" / case["name"]
    folder.mkdir(parents=True)
    (published.publish if form == "published" else published.unpack)(folder, case["name"])
    options = {key: tuple(value) if isinstance(value, list) else value for key, value in case["options"].items()}
    found = getattr(datasets, case["name"])(root=tmp_path, **options)
    found = found if isinstance(found, tuple) else (found,)
    for _ in range(2):  # a second pass reads the same
        assert [as_json(list(each)) for each in found] == case["splits"]


@pytest.mark.parametrize("name", published.PUBLISHED)
def test_missing_files_are_named_with_where_to_put_them(name, tmp_path):
    with pytest.raises(FileNotFoundError, match=f"{name}: there is no .*datasets.{name}.*; fetch http.* put it there"):
        getattr(datasets, name)(root=tmp_path)


def test_every_data_set_is_in_the_tables():
    assert set(datasets.DATASETS) == set(published.PUBLISHED)
    assert set(datasets.URLS) == set(datasets.NUM_LINES) == set(datasets.MD5) == set(datasets.DATASETS)
    assert datasets.NUM_LINES["AG_NEWS"] == {"train": 120_000, "test": 7_600}
    assert datasets.multi30k.URL["train"].endswith("training.tar.gz")


def test_files_may_lie_in_the_root_itself(tmp_path):
    published.publish(tmp_path, "WikiText2")
    assert len(list(datasets.WikiText2(root=tmp_path, split="valid"))) == 3


def test_a_split_by_itself_is_no_tuple_and_unknown_ones_are_errors(tmp_path):
    published.publish(tmp_path, "AG_NEWS")
    train, test = datasets.AG_NEWS(root=str(tmp_path), split=("train", "test"))
    assert list(train) == list(test) == list(datasets.AG_NEWS(root=tmp_path, split="test"))
    with pytest.raises(TypeError, match=r"\('dev',\) of splits is not supported for dataset AG_NEWS"):
        datasets.AG_NEWS(root=tmp_path, split="dev")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda root: datasets.CC100(root, "xx"), ValueError, "Invalid language code xx"),
        (lambda root: datasets.Multi30k(root, language_pair=("fr", "en")), AssertionError, "language_pair must be"),
        (lambda root: datasets.IWSLT2016(root, language_pair=("xx", "en")), ValueError, "src_language 'xx'"),
        (lambda root: datasets.IWSLT2016(root, language_pair=("de", "fr")), ValueError, "tgt_language 'fr'"),
        (lambda root: datasets.IWSLT2016(root, language_pair="de"), ValueError, "must be list or tuple"),
        (lambda root: datasets.IWSLT2016(root, valid_set="tst1"), ValueError, "valid_set 'tst1'"),
        (lambda root: datasets.IWSLT2016(root, language_pair=("cs", "en")), ValueError, "test_set 'tst2014'"),
        (lambda root: datasets.IWSLT2017(root, language_pair=("de",)), AssertionError, "only 2 elements"),
    ],
)
def test_wrong_languages_and_sets_are_errors(call, error, message, tmp_path):
    with pytest.raises(error, match=message):
        call(tmp_path)


def test_an_archive_without_the_file_says_so(tmp_path):
    (tmp_path / "WNLI.zip").write_bytes(published.packed("WNLI.zip", {"other.tsv": "a"}))
    with pytest.raises(FileNotFoundError, match=r"no WNLI.train.tsv in .*WNLI.zip: is it the published file"):
        list(datasets.WNLI(root=tmp_path, split="train"))


def test_samples_go_through_a_loader_and_its_workers(tmp_path):
    published.publish(tmp_path, "DBpedia")
    train = datasets.DBpedia(root=tmp_path, split="train")
    pickle.loads(pickle.dumps(train))
    assert [len(labels) for labels, _ in DataLoader(train, batch_size=2)] == [2, 1]
    shared = [label for batch, _ in DataLoader(train, batch_size=2, num_workers=2) for label in batch.tolist()]
    assert sorted(shared) == [1, 2, 3]


def test_a_loader_shuffles_where_it_is_asked_to():
    numbers = datasets.TextDataset(range, 100)
    assert list(DataLoader(numbers, batch_size=None, shuffle=False)) == list(range(100))
    mixed = list(DataLoader(numbers, batch_size=None, shuffle=True))
    assert sorted(mixed) == list(range(100)) != mixed


def test_steps_stand_in_a_row():
    squares = datasets.TextDataset(range, 7).map(lambda x: (x, x * x)).filter(lambda row: row[0] % 2 == 0)
    assert list(squares.batch(3)) == [[(0, 0), (2, 4), (4, 16)], [(6, 36)]]
    assert list(squares.batch(3, drop_last=True).rows2columnar(["n", "square"])) == [
        {"n": [0, 2, 4], "square": [0, 4, 16]}
    ]
    assert list(squares.sharding_filter().batch(2).rows2columnar())[1] == [[4, 6], [16, 36]]
    with pytest.raises(ValueError, match="batch_size must be positive"):
        squares.batch(0)


def test_shuffling_keeps_every_sample_and_follows_the_seed():
    import weft

    mixed = datasets.TextDataset(range, 50).shuffle(buffer_size=10)
    weft.manual_seed(3)
    first = list(mixed)
    assert sorted(first) == list(range(50)) != first
    assert max(place - number for place, number in enumerate(first)) < 50
    weft.manual_seed(3)
    assert list(mixed) == first
    assert list(mixed.set_shuffle(False)) == list(range(50))

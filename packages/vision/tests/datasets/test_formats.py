"""Formats of flow, disparity, outlines and databases, against their definitions and in hostile files."""

import numpy as np
import pytest
from dataset_trees.arrays import lmdb
from dataset_trees.motion import flo, pfm, png16
from PIL import Image

from weft.vision.datasets._coco_masks import decode_segmentation
from weft.vision.datasets._flow_formats import read_flo, read_flow_png, read_pfm, read_png16
from weft.vision.datasets._lmdb import Database


def test_a_flow_has_its_two_numbers_first(tmp_path):
    content = b"PIEH" + np.array([2, 1], "<i4").tobytes() + np.array([1, 2, 3, 4], "<f4").tobytes()
    (tmp_path / "a.flo").write_bytes(content)
    np.testing.assert_array_equal(read_flo(tmp_path / "a.flo"), [[[1, 3]], [[2, 4]]])


def test_a_float_map_begins_with_its_last_row_in_either_order_of_bytes(tmp_path):
    for name, order in (("-1.0", "<f4"), ("1", ">f4")):
        content = f"Pf\n2 2\n{name}\n".encode() + np.array([3, 4, 1, 2], order).tobytes()
        (tmp_path / "a.pfm").write_bytes(content)
        np.testing.assert_array_equal(read_pfm(tmp_path / "a.pfm"), [[[1, 2], [3, 4]]])


@pytest.mark.parametrize("size", [(1, 1), (7, 5), (3, 40)])
def test_pngs_of_16_bits_keep_all_bits_whatever_their_filters(size, tmp_path):
    pixels = np.random.default_rng(0).integers(0, 2**16, (*size, 3))
    png16(tmp_path / "a.png", pixels)
    np.testing.assert_array_equal(read_png16(tmp_path / "a.png"), pixels)


def test_a_flow_in_a_png_is_in_64ths_around_the_middle(tmp_path):
    png16(tmp_path / "a.png", np.array([[[2**15 + 64, 2**15 - 32, 1], [0, 0, 0]]]))
    flow, valid = read_flow_png(tmp_path / "a.png")
    np.testing.assert_array_equal(flow, [[[1, -512]], [[-0.5, -512]]])
    np.testing.assert_array_equal(valid, [[True, False]])


@pytest.mark.parametrize("read", [read_flo, read_pfm])
def test_cut_and_foreign_files_are_refused(read, tmp_path):
    path = tmp_path / "file"
    flo(path) if read is read_flo else pfm(path, 1)
    whole = path.read_bytes()
    for content in (b"", b"PNG", whole[:9], whole[:-1], whole.replace(b"8", b"\xff")[:12]):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="file"):
            read(path)


def test_a_huge_flow_is_refused_without_memory(tmp_path):
    (tmp_path / "a.flo").write_bytes(b"PIEH" + np.array([2**31 - 1, 2**31 - 1], "<i4").tobytes())
    with pytest.raises(ValueError, match="too few"):
        read_flo(tmp_path / "a.flo")


def test_a_png_of_8_bits_is_no_flow(tmp_path):
    Image.new("RGB", (2, 2)).save(tmp_path / "a.png")
    with pytest.raises(ValueError, match="16 bits"):
        read_png16(tmp_path / "a.png")


# Outlines --------------------------------------------------------------------------------------------------


def test_run_lengths_go_down_the_columns():
    mask = decode_segmentation({"counts": [1, 2, 3], "size": [2, 3]}, 0, 0)
    np.testing.assert_array_equal(mask, [[0, 1, 0], [1, 0, 0]])


def test_packed_run_lengths_are_unpacked():
    # "0" to "?" are 0 to 15; from the fourth on counts are differences: 3 is 2 + 1; the fifth stands in two parts.
    mask = decode_segmentation({"counts": "1231U1", "size": [7, 7]}, 0, 0)
    np.testing.assert_array_equal(mask.T.ravel(), [0] + [1] * 2 + [0] * 3 + [1] * 3 + [0] * 40)


def test_rectangles_along_the_pixels_cover_them():
    mask = decode_segmentation([[1, 1, 4, 1, 4, 3, 1, 3], [0, 0, 1, 0, 1, 1, 0, 1]], 4, 6)
    expected = np.zeros((4, 6), np.uint8)
    expected[1:3, 1:4] = 1
    expected[0, 0] = 1
    np.testing.assert_array_equal(mask, expected)


@pytest.mark.parametrize("counts", [[1, 2], [-1, 7], [10**12]])
def test_run_lengths_that_do_not_fill_the_mask_are_refused(counts):
    with pytest.raises(ValueError, match="add up"):
        decode_segmentation({"counts": counts, "size": [2, 3]}, 2, 3)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # pycocotools' own
def test_outlines_are_those_of_pycocotools():
    mask = pytest.importorskip("pycocotools.mask")
    random = np.random.default_rng(0)
    for _ in range(200):
        height, width = (int(each) for each in random.integers(5, 40, 2))
        corners = int(random.integers(3, 9))
        polygons = [(random.random((corners, 2)) * [width + 2, height + 2] - 1).ravel().tolist() for _ in range(2)]
        packed = mask.merge(mask.frPyObjects(polygons, height, width))
        expected = mask.decode(packed)
        np.testing.assert_array_equal(decode_segmentation(polygons, height, width), expected)
        np.testing.assert_array_equal(decode_segmentation(packed, height, width), expected)
        text = {**packed, "counts": packed["counts"].decode()}
        np.testing.assert_array_equal(decode_segmentation(text, height, width), expected)


# LMDB ------------------------------------------------------------------------------------------------------


def test_a_database_is_a_mapping_in_the_order_of_its_keys(tmp_path):
    content = {f"key{number:02d}".encode(): bytes([number]) * 5000 for number in range(9)}
    lmdb(tmp_path, content)
    database = Database(tmp_path / "data.mdb")
    assert dict(database) == content
    assert (list(database), len(database), database.get(b"other")) == (sorted(content), 9, None)


def test_databases_of_liblmdb_are_read(tmp_path):
    package = pytest.importorskip("lmdb")
    random = np.random.default_rng(0)
    content = {b"%d" % number: random.bytes(int(size)) for number, size in enumerate(random.integers(0, 9000, 800))}
    with package.open(str(tmp_path), map_size=1 << 24) as environment:
        for part in range(4):  # several transactions, so that the tree is rebuilt
            with environment.begin(write=True) as transaction:
                for key in [key for key in content if int(key) % 4 == part]:
                    transaction.put(key, content[key])
    database = Database(tmp_path / "data.mdb")
    assert list(database) == sorted(content)
    assert {key: database[key] for key in content} == content


def test_a_damaged_database_is_refused(tmp_path):
    lmdb(tmp_path, {b"key": b"value" * 1000})
    path = tmp_path / "data.mdb"
    whole = path.read_bytes()
    random = np.random.default_rng(0)
    for content in (b"", b"x" * 9000, whole[:5000], whole[:8192], whole[:-4096]):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=str(path)):
            dict(Database(path))
    for _ in range(100):
        bytes_ = bytearray(whole)
        for at in random.integers(0, 8192 + 100, 20):
            bytes_[at] = random.integers(256)
        path.write_bytes(bytes_)
        try:
            dict(Database(path))
        except (ValueError, KeyError):
            continue

"""`weft.PyTorchFileReader`, by which Lightning reads a checkpoint's tensors when they are needed."""

import pytest

import weft


def test_records_are_read_one_by_one(tmp_path):
    weft.save({"a": weft.arange(3)}, tmp_path / "state.pt")
    reader = weft.PyTorchFileReader(str(tmp_path / "state.pt"))
    assert {"data.pkl", "version", "data/0"} <= set(reader.get_all_records())
    assert reader.get_record("version") == b"3\n"
    found = reader.get_storage_from_record("data/0", 3, weft.int64)
    assert found.shape == (0,)
    assert found.untyped_storage().nbytes() == reader.get_record_size("data/0") == 24
    assert found.as_strided((3,), (1,)).tolist() == [0, 1, 2]
    assert reader.get_storage_from_record("data/0", 24, weft.UntypedStorage).dtype is weft.uint8


def test_what_a_file_has_not_is_refused(tmp_path):
    weft.save(weft.arange(3), tmp_path / "state.pt")
    reader = weft.PyTorchFileReader(tmp_path / "state.pt")
    assert not reader.has_record("data/9")
    with pytest.raises(RuntimeError, match="no record 'data/9'"):
        reader.get_record("data/9")
    with pytest.raises(RuntimeError, match="data/0 has 24 bytes, not 4 elements"):
        reader.get_storage_from_record("data/0", 4, weft.int64)

"""Streams of tokens as input and target."""

import pytest

import weft
from weft.text import LanguageModelDataset, batchify, get_batch
from weft.utils.data import DataLoader


def test_the_target_is_the_input_one_token_further_on():
    data = LanguageModelDataset(weft.arange(11), block_size=4)
    assert [(x.tolist(), y.tolist()) for x, y in data] == [
        ([0, 1, 2, 3], [1, 2, 3, 4]),
        ([4, 5, 6, 7], [5, 6, 7, 8]),
    ]


@pytest.mark.parametrize(("length", "blocks"), [(5, 1), (8, 1), (9, 2), (12, 2), (13, 3)])
def test_a_block_needs_the_token_after_it(length, blocks):
    assert len(LanguageModelDataset(range(length), block_size=4)) == blocks


def test_stride_1_gives_every_block_and_negative_indices_count_from_the_end():
    data = LanguageModelDataset(list(range(6)), block_size=3, stride=1)
    assert [x.tolist() for x, _ in data] == [[0, 1, 2], [1, 2, 3], [2, 3, 4]]
    assert data[-1][1].tolist() == [3, 4, 5]
    with pytest.raises(IndexError, match="index 3 is out of range; there are 3 blocks"):
        data[3]


def test_a_loader_stacks_blocks():
    x, y = next(iter(DataLoader(LanguageModelDataset(range(9), block_size=4), batch_size=2)))
    assert tuple(x.shape) == tuple(y.shape) == (2, 4)
    assert x.dtype is weft.int64


def test_too_short_a_stream_is_explained():
    with pytest.raises(ValueError, match=r"need a row of at least 5, got shape \(4,\)"):
        LanguageModelDataset(range(4), block_size=4)
    with pytest.raises(ValueError, match="must be positive"):
        LanguageModelDataset(range(9), block_size=4, stride=0)


def test_batchify_puts_pieces_side_by_side_and_get_batch_takes_rows():
    columns = batchify(weft.arange(11), 2)
    assert columns.t().tolist() == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
    x, y = get_batch(columns, 2, block_size=4)
    assert (x.tolist(), y.tolist()) == ([[2, 7], [3, 8]], [[3, 8], [4, 9]])
    with pytest.raises(IndexError, match="5 rows have a next one up to the last"):
        get_batch(columns, 4, block_size=4)
    with pytest.raises(ValueError, match="at least batch_size"):
        batchify(weft.arange(3), 4)

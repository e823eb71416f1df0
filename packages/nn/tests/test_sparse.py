"""Embedding and EmbeddingBag."""

import pytest

import weft
from weft import nn

TABLE = [[0.0, 0.0], [1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]


def test_embedding_looks_rows_up():
    layer = nn.Embedding.from_pretrained(weft.tensor(TABLE))
    assert layer(weft.tensor([[1, 3]])).tolist() == [[[1.0, 2.0], [5.0, 6.0]]]
    assert not layer.weight.requires_grad


def test_the_padding_row_is_zero_and_gets_no_gradient():
    layer = nn.Embedding(4, 2, padding_idx=-1)
    assert layer.padding_idx == 3
    assert layer.weight[3].tolist() == [0.0, 0.0]
    layer(weft.tensor([1, 1, 3])).sum().backward()
    assert layer.weight.grad.tolist() == [[0.0, 0.0], [2.0, 2.0], [0.0, 0.0], [0.0, 0.0]]


def test_scale_grad_by_freq_divides_by_the_count():
    layer = nn.Embedding(3, 1, scale_grad_by_freq=True)
    layer(weft.tensor([1, 1, 2])).sum().backward()
    assert layer.weight.grad.tolist() == [[0.0], [1.0], [1.0]]


def test_max_norm_shortens_rows_in_the_table():
    layer = nn.Embedding.from_pretrained(weft.tensor(TABLE), freeze=False, max_norm=1.0)
    layer(weft.tensor([2]))
    assert layer.weight[2].norm().item() == pytest.approx(1.0, abs=1e-4)
    assert layer.weight[3].tolist() == [5.0, 6.0]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("sum", [[4.0, 6.0], [5.0, 6.0]]), ("mean", [[2.0, 3.0], [5.0, 6.0]]), ("max", [[3.0, 4.0], [5.0, 6.0]])],
)
def test_embedding_bag_reduces_each_bag(mode, expected):
    layer = nn.EmbeddingBag.from_pretrained(weft.tensor(TABLE), mode=mode)
    assert layer(weft.tensor([1, 2, 3]), weft.tensor([0, 2])).tolist() == expected


def test_embedding_bag_takes_bags_of_one_size_as_a_matrix():
    layer = nn.EmbeddingBag.from_pretrained(weft.tensor(TABLE), mode="sum")
    assert layer(weft.tensor([[1, 2], [2, 3]])).tolist() == [[4.0, 6.0], [8.0, 10.0]]


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.Embedding(3, 2, padding_idx=3),
        lambda: nn.Embedding(3, 2, padding_idx=-4),
        lambda: nn.Embedding(3, 2, _weight=weft.ones(2, 2)),
        lambda: nn.Embedding.from_pretrained(weft.ones(3)),
        lambda: nn.EmbeddingBag(3, 2, padding_idx=5),
    ],
)
def test_wrong_tables_are_refused(make):
    with pytest.raises(AssertionError):
        make()


def test_repr():
    assert repr(nn.Embedding(5, 3, padding_idx=1, max_norm=2.0)) == "Embedding(5, 3, padding_idx=1, max_norm=2.0)"
    assert repr(nn.EmbeddingBag(5, 3)) == "EmbeddingBag(5, 3, mode='mean')"


@pytest.mark.parametrize("kind", [nn.Embedding, nn.EmbeddingBag])
def test_a_sparse_gradient_is_the_dense_one_with_the_rows_that_were_looked_up(kind):
    options = {} if kind is nn.Embedding else {"mode": "sum"}
    sparse, dense = kind(10, 2, sparse=True, **options), kind(10, 2, **options)
    indices = weft.tensor([[1, 3], [3, 7]])
    for table in (sparse, dense):
        table(indices).sum().backward()
        (2 * table(indices)).sum().backward()
    assert sparse.weight.grad.is_sparse and sparse.weight.grad.coalesce().indices().tolist() == [[1, 3, 7]]
    assert sparse.weight.grad.to_dense().tolist() == dense.weight.grad.tolist()


def test_a_sparse_gradient_leaves_out_the_padding():
    table = nn.Embedding(5, 2, padding_idx=0, sparse=True)
    table(weft.tensor([0, 4, 0])).sum().backward()
    assert table.weight.grad._indices().tolist() == [[4]]


def test_sparse_gradients_are_not_scaled_by_frequency():
    table = nn.Embedding(5, 2, sparse=True, scale_grad_by_freq=True)
    with pytest.raises(RuntimeError, match="scale_grad_by_freq"):
        table(weft.tensor([0, 4])).sum().backward()

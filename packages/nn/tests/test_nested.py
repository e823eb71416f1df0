"""Modules and functions of nn on nested tensors: what runs on padded batches runs without padding."""

import pytest

import weft
from weft import nn
from weft.autograd import gradcheck

LENGTHS = (3, 5, 1)


class Block(nn.Module):
    """A transformer's block, as recommenders and text models write it for nested tensors."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(10, 8)
        self.norm = nn.LayerNorm(8)
        self.projection = nn.Linear(8, 24)
        self.output = nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.Dropout(0.0))

    def forward(self, ids):
        x = self.embedding(ids)
        parts = self.projection(self.norm(x)).chunk(3, -1)
        q, k, v = (part.unflatten(-1, (2, 4)).transpose(1, 2) for part in parts)
        attended = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.output(attended.transpose(1, 2).flatten(-2)) + x


def test_a_block_of_a_transformer_and_its_gradients_are_those_of_each_sequence():
    weft.manual_seed(0)
    block = Block()
    sequences = [weft.randint(0, 10, (length,)) for length in LENGTHS]
    found = block(weft.nested.nested_tensor(sequences, layout=weft.jagged))
    found.sin().sum().backward()
    gradients = [each.grad for each in block.parameters()]
    block.zero_grad()
    expected = [block(each[None])[0] for each in sequences]
    sum(each.sin().sum() for each in expected).backward()
    for got, wanted in zip(found.unbind(), expected):
        weft.testing.assert_close(got, wanted)
    for got, each in zip(gradients, block.parameters()):
        weft.testing.assert_close(got, each.grad)


@pytest.mark.parametrize("layout", [weft.jagged, weft.strided], ids=str)
@pytest.mark.parametrize(
    "module",
    [nn.Linear(4, 3), nn.LayerNorm(4), nn.ReLU(), nn.GELU(), nn.SiLU(), nn.Tanh(), nn.Softmax(-1), nn.Dropout(0.0)],
    ids=str,
)
def test_modules_run_on_each_component(module, layout):
    parts = [weft.randn(length, 4) for length in LENGTHS]
    found = module(weft.nested.nested_tensor(parts, layout=layout))
    for got, part in zip(found.unbind(), parts):
        weft.testing.assert_close(got, module(part))


@pytest.mark.parametrize("layout", [weft.jagged, weft.strided], ids=str)
def test_gradients_of_attention_agree_with_differences(layout):
    parts = [weft.randn(length, 2, 3, dtype=weft.float64, requires_grad=True) for length in LENGTHS]

    def attention(*parts):
        x = weft.nested.as_nested_tensor(list(parts), layout=layout).transpose(1, 2)
        return nn.functional.scaled_dot_product_attention(x, x * 2, x).values()

    assert gradcheck(attention, parts)
    x = weft.nested.nested_tensor(parts, layout=layout).transpose(1, 2)
    with pytest.raises(ValueError, match="attn_mask"):
        nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=weft.ones(1))


def test_lookups_of_nested_indices():
    table = nn.Embedding(5, 2)
    ids = weft.nested.nested_tensor([weft.tensor([1, 0]), weft.tensor([4])], layout=weft.jagged)
    assert table(ids).values().equal(table.weight[[1, 0, 4]])
    assert nn.functional.rms_norm(table(ids), (2,)).is_nested

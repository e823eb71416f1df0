"""Tokenizers, scores, masks and attention give what torchtext 0.18 gives; its results are recorded beside this file."""

import importlib.util
import json
from pathlib import Path

import pytest

import weft
from weft.text import data, nn, transforms

HERE = Path(__file__).parent
RESULTS = json.loads((HERE / "torchtext_results.json").read_text(encoding="utf-8"))

spec = importlib.util.spec_from_file_location("torchtext_cases", HERE / "torchtext_cases.py")
cases = importlib.util.module_from_spec(spec)
spec.loader.exec_module(cases)


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    return dict(cases.calls(transforms, data, cases.write_assets(tmp_path_factory.mktemp("assets"))))


@pytest.mark.parametrize("name", RESULTS["lines"])
def test_lines_become_what_torchtext_makes_of_them(name, calls):
    assert [calls[name](line) for line in cases.LINES] == RESULTS["lines"][name]


@pytest.mark.parametrize("name", [name for name in RESULTS["lines"] if name.split()[0] in ("gpt2", "clip", "bert")])
def test_tokenizers_take_lists_of_lines(name, calls):
    if "decoded" not in name:
        assert calls[name](cases.LINES) == RESULTS["lines"][name]
        with pytest.raises(TypeError, match="Input type not supported"):
            calls[name](tuple(cases.LINES))


@pytest.mark.parametrize("place", range(len(cases.CORPORA)))
def test_bleu_is_that_of_torchtext(place):
    scores = [data.bleu_score(*cases.CORPORA[place], max_n=len(weights), weights=weights) for weights in cases.WEIGHTS]
    assert scores == pytest.approx(RESULTS["bleu"][place], rel=1e-6)


def test_masks_are_those_of_one_seed():
    weft.manual_seed(7)
    tokens = weft.arange(60).reshape(3, 20) % 11
    some = transforms.MaskTransform(11, mask_idx=10, bos_idx=0, pad_idx=1, mask_prob=0.3)
    one = transforms.MaskTransform(11, mask_idx=10, bos_idx=0, pad_idx=1, mask_bos=True, mask_prob=0.01)
    assert [[part.tolist() for part in mask(tokens)] for mask in (some, one, some)] == RESULTS["masks"]


def test_attention_is_that_of_one_seed():
    weft.manual_seed(3)
    query, key = (weft.arange(length * 2 * 6).reshape(length, 2, 6) / 7 - 1 for length in (4, 5))
    mask = weft.zeros(6, 4, 5, dtype=weft.bool)
    mask[:, :, 1] = True
    projections = nn.InProjContainer(*(weft.nn.Linear(6, 6) for _ in range(3)))
    attention = nn.MultiheadAttentionContainer(3, projections, nn.ScaledDotProduct(), weft.nn.Linear(6, 6))
    masked = attention(query, key, key, attn_mask=mask)
    bias = weft.ones(1, 6, 2)
    biased = attention(query, key, key, bias_k=bias, bias_v=-bias)
    rows = weft.arange(24.0).reshape(2, 3, 4) / 5
    plain = nn.ScaledDotProduct(batch_first=True)(rows, rows.flip(1), rows)
    for ours, theirs in zip((*masked, *biased, *plain), RESULTS["attention"]):
        weft.testing.assert_close(ours, weft.tensor(theirs), rtol=1e-5, atol=1e-6)


def test_keys_interleave_bits():
    pairs = ((0, 0), (3, 1), (65535, 0), (12345, 54321))
    assert [data.interleave_keys(*pair) for pair in pairs] == RESULTS["keys"]

"""The decoder: its cache, padding and windows change nothing, and its folders are read back."""

import json
import math

import pytest

import weft
from weft.serialization import safetensors
from weft.text import generate
from weft.text.models import Decoder, DecoderConfig
from weft.text.models.rotary import rotate

SIZES = {
    "vocab_size": 40,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
}
FAMILIES = {
    "gpt2": {"model_type": "gpt2", "vocab_size": 40, "n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 64},
    "llama": {"model_type": "llama", **SIZES},
    "mistral": {"model_type": "mistral", **SIZES, "sliding_window": 3},
    "qwen2": {"model_type": "qwen2", **SIZES, "tie_word_embeddings": True},
    "qwen3": {"model_type": "qwen3", **SIZES, "head_dim": 6},
}
every_family = pytest.mark.parametrize("family", FAMILIES)


def made(family, **changes):
    """A model of a family, with weights large enough that tokens differ."""
    weft.manual_seed(0)
    model = Decoder(DecoderConfig.from_dict({**FAMILIES[family], **changes}))
    with weft.no_grad():
        for parameter in model.parameters():
            parameter.normal_(1.0 if parameter.dim() == 1 else 0.0, 0.3)
    return model


def tokens_of(*shape):
    return weft.randint(0, 40, shape, generator=weft.Generator().manual_seed(1))


def assert_close(found, expected):
    assert found.shape == expected.shape
    assert weft.allclose(found, expected, atol=1e-4), (found - expected).abs().max()


@every_family
def test_a_token_depends_on_those_before_it_alone(family):
    model, tokens = made(family), tokens_of(2, 8)
    changed = tokens.clone()
    changed[:, 5] = (changed[:, 5] + 1) % 40
    before, after = model(tokens), model(changed)
    assert_close(after[:, :5], before[:, :5])
    assert not weft.allclose(after[:, 5:], before[:, 5:], atol=1e-3)


@every_family
def test_a_cache_changes_nothing(family):
    model, tokens = made(family), tokens_of(2, 9)
    with weft.no_grad():
        cache = model.make_cache(2, 9)
        parts = [model(part, cache=cache) for part in tokens.split([4, 1, 3, 1], dim=1)]
        assert cache.length == 9
        assert_close(weft.cat(parts, 1), model(tokens))


@every_family
def test_padding_on_either_side_changes_nothing(family):
    model, tokens = made(family), tokens_of(1, 6)
    expected = model(tokens)
    noise = tokens_of(1, 3)
    for padded, first in ((weft.cat((noise, tokens), 1), 3), (weft.cat((tokens, noise), 1), 0)):
        mask = weft.zeros(1, 9)
        mask[:, first : first + 6] = 1
        assert_close(model(padded, mask)[:, first : first + 6], expected)


@every_family
def test_shorter_prompts_of_a_batch_are_continued_as_alone(family):
    model, tokens = made(family), tokens_of(2, 6)
    mask = weft.ones(2, 6)
    mask[1, :4] = 0
    together = generate(model, tokens, 10, temperature=0, attention_mask=mask, repetition_penalty=1.2)
    for row, start in ((0, 0), (1, 4)):
        alone = generate(model, tokens[row, start:], 10, temperature=0, repetition_penalty=1.2)
        assert together[row, start:].tolist() == alone.tolist()


@every_family
def test_generation_with_a_cache_is_that_without(family):
    model, prompt = made(family), tokens_of(2, 5)
    expected = generate(lambda tokens: model(tokens), prompt, 12, temperature=0)
    assert generate(model, prompt, 12, temperature=0).tolist() == expected.tolist()


def test_a_window_hides_what_is_further_back():
    model, tokens = made("mistral", num_hidden_layers=1), tokens_of(1, 8)
    changed = tokens.clone()
    changed[:, 0] = (changed[:, 0] + 1) % 40
    same = [weft.allclose(a, b) for a, b in zip(model(tokens)[0], model(changed)[0])]
    assert same == [False] * 3 + [True] * 5  # the first token and the two after it see it


def test_rotated_products_depend_on_the_distance_alone():
    query, key = weft.randn(2, 1, 8)
    cos, sin = made("llama", head_dim=8)._rotation(weft.arange(20), weft.float32)
    products = rotate(query, cos, sin) @ rotate(key, cos, sin).T
    for distance in (0, 3, 11):
        row = products.diagonal(distance)
        assert_close(row, row[:1].expand(len(row)))


def test_logits_to_keep_are_the_last():
    model, tokens = made("llama"), tokens_of(2, 5)
    assert_close(model(tokens, logits_to_keep=2), model(tokens)[:, -2:])


@every_family
def test_saved_folders_are_read_back(family, tmp_path):
    model, tokens = made(family), tokens_of(1, 7)
    model.save_pretrained(tmp_path / "saved")
    again = Decoder.from_pretrained(tmp_path / "saved")
    assert not again.training
    assert all(weft.equal(a, b) for a, b in zip(again.parameters(), model.parameters(), strict=True))
    assert_close(again(tokens), model(tokens))
    half = Decoder.from_pretrained(tmp_path / "saved", dtype=weft.bfloat16)
    assert half(tokens).dtype is weft.bfloat16


def test_shards_are_read_and_stay_in_their_folder(tmp_path):
    model = made("llama")
    model.save_pretrained(tmp_path)
    state = safetensors.load_file(tmp_path / "model.safetensors", backend="pread")
    (tmp_path / "model.safetensors").unlink()
    names = sorted(state)
    files = {"a.safetensors": names[::2], "b.safetensors": names[1::2]}
    for file, part in files.items():
        safetensors.save_file({name: state[name] for name in part}, tmp_path / file)
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {name: file for file, part in files.items() for name in part}}))
    again = Decoder.from_pretrained(tmp_path)
    assert all(weft.equal(a, b) for a, b in zip(again.parameters(), model.parameters(), strict=True))
    index.write_text(json.dumps({"weight_map": {"x": "../a.safetensors"}}))
    with pytest.raises(ValueError, match=r"'../a.safetensors', which is no file of its folder"):
        Decoder.from_pretrained(tmp_path)
    index.write_text("[]")
    with pytest.raises(ValueError, match="must hold a dict, got list"):
        Decoder.from_pretrained(tmp_path)


def test_what_a_folder_lacks_is_said(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"config.json is missing.*download the folder first"):
        Decoder.from_pretrained(tmp_path / "llama-hub-name")
    (tmp_path / "config.json").write_text(json.dumps(FAMILIES["llama"]))
    with pytest.raises(FileNotFoundError, match=r"neither model\.safetensors nor"):
        Decoder.from_pretrained(tmp_path)
    safetensors.save_file({"model.norm.weight": weft.ones(16)}, tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match=r"weights are missing, first '.*'; there are norm.weight"):
        Decoder.from_pretrained(tmp_path)
    made("llama", hidden_size=8).save_pretrained(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(FAMILIES["llama"]))
    with pytest.raises(ValueError, match=r"config\.json asks for"):
        Decoder.from_pretrained(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ValueError, match="is not JSON"):
        Decoder.from_pretrained(tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model_type": "gpt_neox"}, "model_type 'gpt_neox' is not implemented here; there are gpt2, llama"),
        ({"rope_scaling": {"rope_type": "longrope"}}, "rope_type 'longrope'"),
        ({"partial_rotary_factor": 0.5}, "partial_rotary_factor=0.5 is not implemented"),
        ({"hidden_act": "xielu"}, "hidden_act 'xielu'"),
        ({"num_key_value_heads": 3}, "num_attention_heads .4. must be a multiple of num_key_value_heads .3."),
    ],
)
def test_settings_that_would_change_the_numbers_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        DecoderConfig.from_dict({**FAMILIES["llama"], **changes})


def test_quantized_weights_are_refused(tmp_path):
    made("llama").save_pretrained(tmp_path)
    settings = {"quantization_config": {"quant_method": "fp8"}}
    (tmp_path / "config.json").write_text(json.dumps({**FAMILIES["llama"], **settings}))
    with pytest.raises(ValueError, match=r"has a quantization_config.*take a folder with weights in float32"):
        Decoder.from_pretrained(tmp_path)


def test_both_forms_of_the_rotation_s_settings_are_read():
    old = {**FAMILIES["llama"], "rope_theta": 5e5, "rope_scaling": {"type": "linear", "factor": 2.0}}
    new = {**FAMILIES["llama"], "rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 5e5}}
    frequencies = [Decoder(DecoderConfig.from_dict(each))._frequencies[0] for each in (old, new)]
    assert weft.equal(*frequencies)
    assert frequencies[0].tolist() == pytest.approx([0.5, 0.5 / math.sqrt(5e5)])


def test_wrong_shapes_and_too_many_tokens_are_explained():
    model = made("gpt2")
    with pytest.raises(ValueError, match=r"must be \(B, T\) with at least one token, got \(3,\)"):
        model(tokens_of(3))
    with pytest.raises(ValueError, match=r"attention_mask must be \(2, 4\)"):
        model(tokens_of(2, 4), weft.ones(2, 3))
    with pytest.raises(ValueError, match="65 tokens are more than its 64 learned positions"):
        model(tokens_of(1, 65))
    with pytest.raises(ValueError, match="3 tokens are more than the cache has room for"):
        model(tokens_of(1, 3), cache=model.make_cache(1, 2))
    with pytest.raises(ValueError, match=r"give generate a block_size of at most 64"):
        generate(model, tokens_of(1, 3), 70)


def test_a_cache_records_no_history():
    model = made("llama")
    cache = model.make_cache(1, 4)
    model(tokens_of(1, 4), cache=cache)
    assert not any(tensor.requires_grad for layer in cache._layers for tensor in layer)


@every_family
def test_all_parameters_get_gradients(family):
    model, tokens = made(family), tokens_of(2, 6)
    logits = model(tokens)
    weft.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten()).backward()
    assert all(parameter.grad is not None for parameter in model.parameters())

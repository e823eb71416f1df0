"""weft.text's decoder and encoder agree with transformers' models on PyTorch.

Each model of transformers is made from a configuration with random weights, written to a folder, and read by path:
logits to 1e-4, greedy continuations token by token, and what weft.text writes read back by transformers.
"""

import json
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="PyTorch, the oracle, is installed in the conformance environment only")
pytest.importorskip("transformers", reason="transformers, the oracle, is installed in the conformance environment only")
sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1] / "vision"))

import oracle  # noqa: F401  # torchvision, which transformers imports, as it loads beside PyTorch for the CPU
import selection
import torch
import transformers

import weft
from weft.text import generate
from weft.text.models import Decoder, Encoder

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
pytestmark = pytest.mark.filterwarnings("ignore")  # of the oracle

SETTING = os.environ.get("WEFT_CONFORMANCE", "changed")
TOLERANCE = 1e-4
TOKENS = 64

SIZES = {
    "vocab_size": 99,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 40,
    "max_position_embeddings": 160,
    "initializer_range": 0.3,
}
GPT2 = {"vocab_size": 99, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 160, "initializer_range": 0.3}
GROUPED = {**SIZES, "num_key_value_heads": 2}
BIASES = {"attention_bias": True, "mlp_bias": True}
SLIDING = {"use_sliding_window": True, "sliding_window": 6, "max_window_layers": 1}


def rope(rope_type: str, **settings: Any) -> dict[str, Any]:
    """Return the rotation's settings, in the form that transformers 5 writes."""
    common = {"rope_type": rope_type, "rope_theta": 500000.0, "factor": 4.0}
    return {"rope_parameters": {**common, **settings}}


LLAMA3 = rope("llama3", low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=32)
YARN = rope("yarn", original_max_position_embeddings=32)
MSCALE = rope("yarn", original_max_position_embeddings=32, mscale=0.7, mscale_all_dim=0.5, beta_fast=16.0)

# Of a decoder: transformers' model type, and its configuration.
DECODERS: dict[str, tuple[str, dict[str, Any]]] = {
    "gpt2": ("gpt2", GPT2),
    "gpt2 of another shape": ("gpt2", {**GPT2, "n_inner": 48, "activation_function": "relu", "n_head": 2}),
    "gpt2 scaled by layer": ("gpt2", {**GPT2, "scale_attn_by_inverse_layer_idx": True}),
    "gpt2 unscaled, untied": ("gpt2", {**GPT2, "scale_attn_weights": False, "tie_word_embeddings": False}),
    "llama": ("llama", {**SIZES}),
    "llama of grouped queries": ("llama", GROUPED),
    "llama of one shared head": ("llama", {**SIZES, "num_key_value_heads": 1, "head_dim": 6}),
    "llama 3, biased, tied": ("llama", {**GROUPED, **BIASES, **LLAMA3, "tie_word_embeddings": True}),
    "llama of linear scaling": ("llama", {**GROUPED, **rope("linear"), "rms_norm_eps": 1e-3}),
    "mistral": ("mistral", {**GROUPED, "sliding_window": 5, "head_dim": 10}),
    "mistral without window": ("mistral", {**GROUPED, "sliding_window": None}),
    "qwen2": ("qwen2", {**GROUPED, "tie_word_embeddings": True}),
    "qwen2 of two kinds of layers": ("qwen2", {**GROUPED, **SLIDING}),
    "qwen2 with yarn": ("qwen2", {**GROUPED, **YARN}),
    "qwen2 with yarn of another scale": ("qwen2", {**GROUPED, **MSCALE}),
    "qwen3": ("qwen3", {**GROUPED, "head_dim": 16}),
    "qwen3, biased, with a window": ("qwen3", {**GROUPED, "attention_bias": True, **SLIDING}),
}

# The shapes of published models, with fewer layers and tokens, so that a run takes seconds.
LESS = {"num_hidden_layers": 2, "vocab_size": 2000}
PUBLISHED: dict[str, tuple[str, dict[str, Any]]] = {
    "GPT-2 small": ("gpt2", {"n_layer": 2, "vocab_size": 2000}),
    "Llama 3.2 1B": (
        "llama",
        {
            **LESS,
            "hidden_size": 2048,
            "intermediate_size": 8192,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "head_dim": 64,
            "max_position_embeddings": 131072,
            "rms_norm_eps": 1e-5,
            "tie_word_embeddings": True,
            "rope_scaling": {
                "factor": 32.0,
                "high_freq_factor": 4.0,
                "low_freq_factor": 1.0,
                "original_max_position_embeddings": 8192,
                "rope_type": "llama3",
            },
            "rope_theta": 500000.0,
        },
    ),
    "Mistral 7B, a quarter as wide": (
        "mistral",
        {
            **LESS,
            "hidden_size": 1024,
            "intermediate_size": 3584,
            "num_attention_heads": 8,
            "num_key_value_heads": 2,
            "head_dim": 128,
            "rms_norm_eps": 1e-5,
            "rope_theta": 10000.0,
            "sliding_window": 32,
        },
    ),
    "Qwen 2.5 0.5B": (
        "qwen2",
        {
            **LESS,
            "hidden_size": 896,
            "intermediate_size": 4864,
            "num_attention_heads": 14,
            "num_key_value_heads": 2,
            "rope_theta": 1000000.0,
            "tie_word_embeddings": True,
            "use_sliding_window": False,
        },
    ),
    "Qwen 3 0.6B": (
        "qwen3",
        {
            **LESS,
            "hidden_size": 1024,
            "intermediate_size": 3072,
            "num_attention_heads": 16,
            "num_key_value_heads": 8,
            "head_dim": 128,
            "rope_theta": 1000000.0,
            "tie_word_embeddings": True,
        },
    ),
}

# Of an encoder: transformers' class, and its configuration.
BERT_BASE = {"num_hidden_layers": 2, "vocab_size": 2000}
MINILM = {**BERT_BASE, "hidden_size": 384, "intermediate_size": 1536}
ENCODERS: dict[str, tuple[str, dict[str, Any]]] = {
    "bert": ("BertModel", SIZES),
    "bert for masked tokens": ("BertForMaskedLM", {**SIZES, "hidden_act": "relu"}),
    "bert for training": ("BertForPreTraining", {**SIZES, "pad_token_id": 3}),
    "bert for classes": ("BertForSequenceClassification", SIZES),
    "roberta": ("RobertaModel", SIZES),
    "roberta for masked tokens": ("RobertaForMaskedLM", {**SIZES, "hidden_act": "gelu_new"}),
    "xlm-roberta": ("XLMRobertaForMaskedLM", SIZES),
    "camembert": ("CamembertModel", SIZES),
    "BERT base": ("BertModel", BERT_BASE),
    "RoBERTa base": ("RobertaModel", {**BERT_BASE, "max_position_embeddings": 514, "type_vocab_size": 1}),
    "MiniLM": ("BertModel", MINILM),
}


def modules_of(name: str) -> set[str]:
    """Return the modules that a case is about."""
    return {"weft.text.models.encoder" if name in ENCODERS else "weft.text.models.decoder"}


def part(table: dict[str, Any]) -> list[str]:
    """Return the names that a run takes: always the first, and what `selection` chooses."""
    return [*dict.fromkeys([next(iter(table)), *selection.chosen(table, SETTING, modules_of)])]


def initialized(model: Any) -> Any:
    """Give norms and biases, which begin with ones and zeros, random numbers as well."""
    for name, parameter in model.named_parameters():
        if parameter.dim() == 1:
            torch.nn.init.normal_(parameter, 1.0 if "norm" in name.lower() or "ln_" in name else 0.0, 0.2)
    return model.eval()


@cache
def decoders(name: str, folder: Path) -> tuple[Any, Decoder]:
    """Return transformers' model and weft.text's, read from the folder."""
    model_type, sizes = {**DECODERS, **PUBLISHED}[name]
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(model_type, **json.loads(json.dumps(sizes)))
    theirs = initialized(transformers.AutoModelForCausalLM.from_config(config))
    theirs.generation_config.eos_token_id = None
    theirs.save_pretrained(folder / "theirs")
    return theirs, Decoder.from_pretrained(folder / "theirs")


@pytest.fixture(scope="module")
def folder(tmp_path_factory, request):
    return tmp_path_factory.mktemp("models")


@pytest.fixture
def pair(name, folder):
    return decoders(name, folder / name)


def ours_of(tensor: Any) -> Any:
    return weft.tensor(tensor.tolist())


def tokens_of(model: Any, batch: int = 2, length: int = 40) -> Any:
    return torch.randint(4, model.config.vocab_size, (batch, length), generator=torch.Generator().manual_seed(1))


def assert_close(found: Any, expected: Any) -> None:
    found, expected = found.detach().numpy(), expected.detach().numpy()
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE * max(1, np.abs(expected).max() / 10))


every_decoder = pytest.mark.parametrize("name", [*part(DECODERS), *(PUBLISHED if SETTING == "all" else ())])


@every_decoder
def test_logits_of_a_decoder(name, pair):
    theirs, ours = pair
    tokens = tokens_of(theirs)
    with torch.no_grad(), weft.no_grad():
        assert_close(ours(ours_of(tokens)), theirs(tokens).logits)


@every_decoder
def test_greedy_tokens_of_a_decoder(name, pair):
    theirs, ours = pair
    tokens = tokens_of(theirs, length=9)
    options = {"max_new_tokens": TOKENS, "do_sample": False, "pad_token_id": 0}
    expected = theirs.generate(input_ids=tokens, attention_mask=torch.ones_like(tokens), **options)
    assert generate(ours, ours_of(tokens), TOKENS, temperature=0).tolist() == expected.tolist()


@pytest.mark.parametrize("name", part(DECODERS))
def test_padded_and_penalized_tokens_of_a_decoder(name, pair):
    theirs, ours = pair
    tokens = tokens_of(theirs, 3, 9)
    mask = torch.ones_like(tokens)
    mask[1, :4], mask[2, :8] = 0, 0
    tokens = tokens.where(mask == 1, tokens[:, -1:])  # transformers penalizes padding as a token like others
    options = {"max_new_tokens": TOKENS, "do_sample": False, "pad_token_id": 0, "repetition_penalty": 1.3}
    expected = theirs.generate(input_ids=tokens, attention_mask=mask, **options)
    found = generate(ours, ours_of(tokens), TOKENS, temperature=0, repetition_penalty=1.3, attention_mask=ours_of(mask))
    assert found.tolist() == expected.tolist()


SAMPLINGS: list[dict[str, Any]] = [
    {"temperature": 0.7},
    {"temperature": 1.5, "top_k": 7},
    {"top_p": 0.8},
    {"min_p": 0.05},
    {"no_repeat_ngram_size": 2, "temperature": 0.5},
    {
        "temperature": 0.9,
        "top_k": 30,
        "top_p": 0.9,
        "min_p": 0.01,
        "repetition_penalty": 1.2,
        "no_repeat_ngram_size": 3,
    },
]


@pytest.mark.parametrize("options", SAMPLINGS, ids=lambda options: " ".join(options))
def test_drawn_tokens_are_those_of_one_seed(options, folder):
    theirs, ours = decoders("llama", folder / "llama")
    tokens = tokens_of(theirs, length=9)
    torch.manual_seed(3)
    mask = torch.ones_like(tokens)
    whole = {"top_k": 0, **options}  # where nothing is said, transformers draws from the 50 most probable
    sampled = {"attention_mask": mask, "max_new_tokens": TOKENS, "do_sample": True, "pad_token_id": 0, **whole}
    expected = theirs.generate(input_ids=tokens, **sampled)
    weft.manual_seed(3)
    assert generate(ours, ours_of(tokens), TOKENS, **options).tolist() == expected.tolist()


@pytest.mark.parametrize("size", [1, 2, 3])
def test_greedy_tokens_without_repeated_runs(size, folder):
    theirs, ours = decoders("gpt2", folder / "gpt2")
    tokens = tokens_of(theirs, length=9)
    options = {"max_new_tokens": TOKENS, "do_sample": False, "pad_token_id": 0, "no_repeat_ngram_size": size}
    expected = theirs.generate(input_ids=tokens, attention_mask=torch.ones_like(tokens), **options)
    found = generate(ours, ours_of(tokens), TOKENS, temperature=0, no_repeat_ngram_size=size)
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("name", part(DECODERS))
def test_gradients_of_a_decoder(name, pair):
    theirs, ours = pair
    tokens = tokens_of(theirs, length=12)
    theirs.zero_grad()
    theirs(tokens, labels=tokens).loss.backward()
    mine = ours_of(tokens)
    logits = ours(mine)[:, :-1]
    weft.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), mine[:, 1:].reshape(-1)).backward()
    assert_close(ours.tokens.weight.grad, theirs.get_input_embeddings().weight.grad)
    ours.zero_grad()


@pytest.mark.parametrize("name", part(DECODERS))
def test_transformers_reads_a_written_decoder(name, pair, folder):
    theirs, ours = pair
    ours.save_pretrained(folder / name / "ours")
    again, info = type(theirs).from_pretrained(folder / name / "ours", output_loading_info=True)
    assert not any(info.values())
    expected = theirs.state_dict()
    assert all(torch.equal(tensor, expected[key]) for key, tensor in again.state_dict().items())


@pytest.mark.parametrize("name", part(ENCODERS))
def test_vectors_and_logits_of_an_encoder(name, folder):
    kind, sizes = ENCODERS[name]
    torch.manual_seed(0)
    made = getattr(transformers, kind)
    theirs = initialized(made(made.config_class(**sizes)))
    theirs.save_pretrained(folder / name)
    ours = Encoder.from_pretrained(folder / name)
    tokens = tokens_of(theirs)
    tokens[1, 25:] = theirs.config.pad_token_id
    mask = (tokens != theirs.config.pad_token_id).long()
    mask[0] = 1
    given = {"attention_mask": mask}
    if theirs.config.type_vocab_size > 1 and "roberta" not in ours.config.source["model_type"]:
        given["token_type_ids"] = (tokens > 50).long()
    with torch.no_grad(), weft.no_grad():
        expected = theirs(tokens, **given, output_hidden_states=True)
        found = ours(ours_of(tokens), **{key: ours_of(value) for key, value in given.items()})
        assert_close(found, expected.hidden_states[-1])
        if ours.config.has_pooler and "pooler_output" in expected:
            assert_close(ours.pooled(found), expected.pooler_output)
        if ours.config.has_logits:
            assert_close(ours.logits(found), expected[0 if "logits" in expected else "prediction_logits"])
        ours.save_pretrained(folder / name / "ours")
        again, info = made.from_pretrained(folder / name / "ours", output_loading_info=True)
        assert not info["unexpected_keys"]
        assert not {key for key in info["missing_keys"] if not key.startswith(("cls.seq", "classifier"))}
        assert_close(found, again.eval()(tokens, **given, output_hidden_states=True).hidden_states[-1])

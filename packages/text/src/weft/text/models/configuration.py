"""What ``config.json`` says of a decoder, and the names that its file has for the weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from weft.text.models.pretrained import ACTIVATIONS, Stored, chosen, require
from weft.text.models.rotary import ROPE_TYPES


@dataclass(frozen=True)
class DecoderConfig:
    """The sizes and settings of a `Decoder`, with the names that ``config.json`` has for them.

    Parameters
    ----------
    vocab_size, hidden_size, intermediate_size : int
        Tokens, the width of a token's vector, and the width inside the MLP.
    num_hidden_layers, num_attention_heads, num_key_value_heads : int
        Blocks, heads of queries, and heads of keys and values, each shared by as many heads of queries.
    head_dim : int
        The width of one head.
    max_position_embeddings : int
        The most tokens that it was made for: a limit with learned positions alone.
    hidden_act : str
        The MLP's activation.
    norm_eps : float
        What the norms add to the variance.
    is_gpt2 : bool
        Learned positions, layer norm and an MLP without gate.
    rope : mapping, optional
        The settings of the rotation: "rope_theta", "rope_type" and what the type needs; None is no rotation.
    windows : tuple of int or None
        For each block how many tokens back a query sees, its own among them; None is all.
    attention_bias, output_bias, mlp_bias : bool
        Whether the projections to queries, keys and values, that after the attention, and the MLP have a bias.
    query_key_norm : bool
        Whether each head's query and key are normalized (Qwen 3).
    tie_word_embeddings : bool
        Whether the embedding is the matrix of the logits, too.
    scales : tuple of float
        What each block multiplies the scores with.
    source : mapping
        The ``config.json`` that it was read from; `Decoder.save_pretrained` writes it.
    """

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    max_position_embeddings: int
    hidden_act: str
    norm_eps: float
    is_gpt2: bool
    rope: Mapping[str, Any] | None
    windows: tuple[int | None, ...]
    attention_bias: bool
    output_bias: bool
    mlp_bias: bool
    query_key_norm: bool
    tie_word_embeddings: bool
    scales: tuple[float, ...]
    source: Mapping[str, Any] = field(repr=False)

    @classmethod
    def from_dict(cls, config: Mapping[str, Any]) -> DecoderConfig:
        """Read the contents of a ``config.json``: of model_type "gpt2", "llama", "mistral", "qwen2" or "qwen3".

        Raises
        ------
        ValueError
            If it is of another type, or has a setting that is not implemented.
        """
        families = {"gpt2": _gpt2, "llama": _llama, "mistral": _llama, "qwen2": _llama, "qwen3": _llama}
        return cls(**chosen(config, "model_type", families, "")(config), source=dict(config))


def _gpt2(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a GPT-2."""
    require(config, {"add_cross_attention": False})
    chosen(config, "activation_function", ACTIVATIONS, "gelu_new")
    width, heads, layers = config.get("n_embd", 768), config.get("n_head", 12), config.get("n_layer", 12)
    scale = (width // heads) ** -0.5 if config.get("scale_attn_weights", True) else 1.0
    by_layer = config.get("scale_attn_by_inverse_layer_idx", False)
    return {
        "vocab_size": config.get("vocab_size", 50257),
        "hidden_size": width,
        "intermediate_size": config.get("n_inner") or 4 * width,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": heads,
        "head_dim": width // heads,
        "max_position_embeddings": config.get("n_positions", 1024),
        "hidden_act": config.get("activation_function", "gelu_new"),
        "norm_eps": config.get("layer_norm_epsilon", 1e-5),
        "is_gpt2": True,
        "rope": None,
        "windows": (None,) * layers,
        "attention_bias": True,
        "output_bias": True,
        "mlp_bias": True,
        "query_key_norm": False,
        "tie_word_embeddings": config.get("tie_word_embeddings", True),
        "scales": tuple(scale / (layer + 1 if by_layer else 1) for layer in range(layers)),
    }


def _llama(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a Llama, Mistral or Qwen."""
    family = config["model_type"]
    require(config, {"pretraining_tp": 1, "partial_rotary_factor": 1.0})
    heads, layers = config.get("num_attention_heads", 32), config.get("num_hidden_layers", 32)
    shared = config.get("num_key_value_heads") or {"mistral": 8}.get(family, heads)
    head_dim = config.get("head_dim") or (128 if family == "qwen3" else config["hidden_size"] // heads)
    if heads % shared:
        raise ValueError(
            f"from_pretrained: num_attention_heads ({heads}) must be a multiple of num_key_value_heads ({shared})"
        )
    chosen(config, "hidden_act", ACTIVATIONS, "silu")
    bias = family == "qwen2" or config.get("attention_bias", False)
    return {
        "vocab_size": config["vocab_size"],
        "hidden_size": config["hidden_size"],
        "intermediate_size": config["intermediate_size"],
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": shared,
        "head_dim": head_dim,
        "max_position_embeddings": config.get("max_position_embeddings", 2048),
        "hidden_act": config.get("hidden_act", "silu"),
        "norm_eps": config.get("rms_norm_eps", 1e-6),
        "is_gpt2": False,
        "rope": _rope_settings(config),
        "windows": _windows(config, layers),
        "attention_bias": bias,
        "output_bias": bias and family != "qwen2",
        "mlp_bias": config.get("mlp_bias", False),
        "query_key_norm": family == "qwen3",
        "tie_word_embeddings": config.get("tie_word_embeddings", False),
        "scales": (head_dim**-0.5,) * layers,
    }


def _rope_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rotation's settings, which transformers wrote in two ways: before its version 5, and since."""
    found = dict(config.get("rope_parameters") or config.get("rope_scaling") or {})
    require(found, {"partial_rotary_factor": 1.0})
    found["rope_type"] = found.get("rope_type") or found.get("type") or "default"
    found["rope_theta"] = found.get("rope_theta") or config.get("rope_theta") or 10000.0
    found.setdefault("original_max_position_embeddings", config.get("max_position_embeddings", 2048))
    chosen(found, "rope_type", ROPE_TYPES, "default")
    return found


def _windows(config: Mapping[str, Any], layers: int) -> tuple[int | None, ...]:
    """Return for each block how many tokens back a query sees."""
    window = config.get("sliding_window", 4096 if config["model_type"] != "llama" else None)
    if config["model_type"] == "mistral":
        return (window,) * layers
    if config["model_type"] == "llama" or not config.get("use_sliding_window", False):
        return (None,) * layers
    kinds = config.get("layer_types") or [
        "sliding_attention" if layer >= config.get("max_window_layers", 28) else "full_attention"
        for layer in range(layers)
    ]
    return tuple(window if kind == "sliding_attention" else None for kind in kinds)


GPT2_NAMES = {
    "tokens": "wte",
    "positions": "wpe",
    "blocks.{}.attention_norm": "h.{}.ln_1",
    "blocks.{}.attention.query_key_value": "h.{}.attn.c_attn",
    "blocks.{}.attention.output": "h.{}.attn.c_proj",
    "blocks.{}.mlp_norm": "h.{}.ln_2",
    "blocks.{}.mlp.up": "h.{}.mlp.c_fc",
    "blocks.{}.mlp.down": "h.{}.mlp.c_proj",
    "norm": "ln_f",
    "head": "lm_head",
}
LLAMA_NAMES = {
    "tokens": "embed_tokens",
    "blocks.{}.attention_norm": "layers.{}.input_layernorm",
    "blocks.{}.attention.query_key_value": (
        "layers.{}.self_attn.q_proj layers.{}.self_attn.k_proj layers.{}.self_attn.v_proj"
    ),
    "blocks.{}.attention.query_norm": "layers.{}.self_attn.q_norm",
    "blocks.{}.attention.key_norm": "layers.{}.self_attn.k_norm",
    "blocks.{}.attention.output": "layers.{}.self_attn.o_proj",
    "blocks.{}.mlp_norm": "layers.{}.post_attention_layernorm",
    "blocks.{}.mlp.up": "layers.{}.mlp.gate_proj layers.{}.mlp.up_proj",
    "blocks.{}.mlp.down": "layers.{}.mlp.down_proj",
    "norm": "norm",
    "head": "lm_head",
}


def stored_decoder(config: DecoderConfig, parameters: Iterable[str]) -> dict[str, Stored]:
    """Return how files have each parameter: matrices of GPT-2's blocks are (in, out); the others have more parts."""
    table = GPT2_NAMES if config.is_gpt2 else LLAMA_NAMES
    queries, shared = config.num_attention_heads * config.head_dim, config.num_key_value_heads * config.head_dim
    rows = {"query_key_value": (queries, shared, shared), "up": (config.intermediate_size,) * 2}
    found = {}
    for parameter in parameters:
        module, layer, kind = in_table(parameter)
        names = table[module].replace("{}", layer).split()
        sizes = rows[module.rpartition(".")[2]] if len(names) > 1 else ()
        found[parameter] = Stored(tuple(f"{name}.{kind}" for name in names), sizes, config.is_gpt2 and layer != "")
    return found


def in_table(parameter: str) -> tuple[str, str, str]:
    """Return ``("blocks.{}.mlp.up", "3", "weight")`` for ``"blocks.3.mlp.up.weight"``."""
    module, _, kind = parameter.rpartition(".")
    if not module.startswith("blocks."):
        return module, "", kind
    _, layer, rest = module.split(".", 2)
    return f"blocks.{{}}.{rest}", layer, kind

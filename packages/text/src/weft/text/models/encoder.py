"""An encoder of text that can be read: BERT, RoBERTa, and embeddings of sentences such as MiniLM's.

    tokens -> sum of embeddings, norm -> blocks: x = norm(x + attention(x)), then x = norm(x + mlp(x)) -> vectors

Each token sees all others. RoBERTa differs in how positions are counted, and in the names of its weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import weft
from weft import Tensor, nn
from weft.nn import functional
from weft.text.models.configuration import in_table
from weft.text.models.pretrained import (
    ACTIVATIONS,
    Folder,
    Stored,
    chosen,
    load_weights,
    read_config,
    read_json,
    read_weights,
    require,
    save_weights,
)


@dataclass(frozen=True)
class EncoderConfig:
    """The sizes and settings of an `Encoder`, with the names that ``config.json`` has for them.

    Parameters
    ----------
    vocab_size, hidden_size, intermediate_size : int
        Tokens, the width of a token's vector, and the width inside the MLP.
    num_hidden_layers, num_attention_heads : int
        Blocks, and heads of each.
    max_position_embeddings, type_vocab_size : int
        Learned positions, and types of tokens: the first and the second text of a pair.
    hidden_act : str
        The MLP's activation.
    layer_norm_eps : float
        What the norms add to the variance.
    pad_token_id : int
        The padding.
    is_roberta : bool
        Positions are counted from the padding's number on, and padding is not counted.
    has_pooler, has_logits : bool
        Whether there are the layers of `Encoder.pooled` and of `Encoder.logits`; of the latter only those whose matrix
        is the embedding.
    pooling : "mean", "cls" or "max"
        How `Encoder.embed` makes one vector of a text's.
    is_normalized : bool
        Whether it has length 1.
    source : mapping
        The ``config.json`` that it was read from; `Encoder.save_pretrained` writes it.
    """

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    max_position_embeddings: int
    type_vocab_size: int
    hidden_act: str
    layer_norm_eps: float
    pad_token_id: int
    is_roberta: bool
    has_pooler: bool = True
    has_logits: bool = True
    pooling: str = "mean"
    is_normalized: bool = True
    source: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def from_dict(cls, config: Mapping[str, Any], **settings: Any) -> EncoderConfig:
        """Read the contents of a ``config.json``: of model_type "bert", "roberta", "xlm-roberta" or "camembert".

        Raises
        ------
        ValueError
            If it is of another type, or has a setting that is not implemented.
        """
        families = {"bert": False, "roberta": True, "xlm-roberta": True, "camembert": True}
        is_roberta = chosen(config, "model_type", families, "")
        require(config, {"position_embedding_type": "absolute", "is_decoder": False, "add_cross_attention": False})
        chosen(config, "hidden_act", ACTIVATIONS, "gelu")
        if not config.get("tie_word_embeddings", True):
            settings["has_logits"] = False  # those of another matrix than the embedding's
        return cls(
            vocab_size=config.get("vocab_size", 50265 if is_roberta else 30522),
            hidden_size=config.get("hidden_size", 768),
            intermediate_size=config.get("intermediate_size", 3072),
            num_hidden_layers=config.get("num_hidden_layers", 12),
            num_attention_heads=config.get("num_attention_heads", 12),
            max_position_embeddings=config.get("max_position_embeddings", 512),
            type_vocab_size=config.get("type_vocab_size", 2),
            hidden_act=config.get("hidden_act", "gelu"),
            layer_norm_eps=config.get("layer_norm_eps", 1e-12),
            pad_token_id=config.get("pad_token_id", int(is_roberta)),
            is_roberta=is_roberta,
            source=dict(config),
            **settings,
        )


class Attention(nn.Module):
    """Each token's mean of the values at all tokens, weighted by how well their keys fit its query."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.heads = config.num_attention_heads
        self.query_key_value = nn.Linear(config.hidden_size, 3 * config.hidden_size)
        self.output = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        batch, length, width = x.shape
        split = self.query_key_value(x).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = split.permute(2, 0, 3, 1, 4).unbind(0)  # each (B, H, T, D)
        mixed = functional.scaled_dot_product_attention(query, key, value, mask)
        return self.output(mixed.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """Attention and an MLP, each added to what came in and normalized."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.attention = Attention(config)
        self.attention_norm = nn.LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.up = nn.Linear(config.hidden_size, config.intermediate_size)
        self.down = nn.Linear(config.intermediate_size, config.hidden_size)
        self.mlp_norm = nn.LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.activation = ACTIVATIONS[config.hidden_act]

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        x = self.attention_norm(x + self.attention(x, mask))
        return self.mlp_norm(x + self.down(self.activation(self.up(x))))


class Encoder(nn.Module):
    """Tokens to a vector of each that tells of all: BERT, RoBERTa, and models of sentences made of these.

    There is no dropout: what transformers computes in eval mode, this computes in both.

    Parameters
    ----------
    config : EncoderConfig

    Examples
    --------
    >>> sizes = {"vocab_size": 50, "hidden_size": 16, "intermediate_size": 32, "num_attention_heads": 2}
    >>> encoder = Encoder(EncoderConfig.from_dict({"model_type": "bert", "num_hidden_layers": 1, **sizes}))
    >>> encoder(weft.tensor([[3, 1, 4]])).shape, encoder.embed(weft.tensor([[3, 1, 4]])).shape
    (weft.Size([1, 3, 16]), weft.Size([1, 16]))
    """

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.config = config
        width = config.hidden_size
        self.tokens = nn.Embedding(config.vocab_size, width)
        self.positions = nn.Embedding(config.max_position_embeddings, width)
        self.types = nn.Embedding(config.type_vocab_size, width)
        self.norm = nn.LayerNorm(width, config.layer_norm_eps)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.num_hidden_layers))
        if config.has_pooler:
            self.pooler = nn.Linear(width, width)
        if config.has_logits:
            self.logits_dense = nn.Linear(width, width)
            self.logits_norm = nn.LayerNorm(width, config.layer_norm_eps)
            self.logits_bias = nn.Parameter(weft.zeros(config.vocab_size))
        for parameter in self.parameters():
            if parameter.dim() == 2:
                nn.init.normal_(parameter, std=0.02)

    @classmethod
    def from_pretrained(cls, path: Folder, *, dtype: weft.dtype | None = None) -> Encoder:
        """Read a folder with ``config.json`` and ``model.safetensors``, or its shards.

        A folder of sentence-transformers also says how `embed` pools; without one the mean is taken, and normalized.

        Parameters
        ----------
        path : str or path
        dtype : weft.dtype, optional
            Of the weights; by default as they are in the file.

        Returns
        -------
        Encoder, in eval mode

        Raises
        ------
        FileNotFoundError
            If one of the files is missing.
        ValueError
            If the model is of another family, has a setting that is not implemented, or the weights do not fit.
        """
        source, found = read_config(path), read_weights(path)
        head = (
            "lm_head.dense.weight" if source.get("model_type") != "bert" else "cls.predictions.transform.dense.weight"
        )
        config = EncoderConfig.from_dict(
            source, has_pooler="pooler.dense.weight" in found, has_logits=head in found, **_pooling(Path(path))
        )
        with weft.device("meta"):  # no numbers are drawn for weights that are read
            model = cls(config)
        load_weights(model, found, stored_encoder(config, model.state_dict()), dtype)
        return model.eval()

    def save_pretrained(self, path: Folder) -> None:
        """Write the folder that `from_pretrained` reads, and transformers' ``AutoModel`` as well."""
        prefix = "" if not self.config.has_logits else "roberta." if self.config.is_roberta else "bert."
        save_weights(self, path, stored_encoder(self.config, self.state_dict()), self.config.source, prefix)

    def forward(
        self, tokens: Tensor, attention_mask: Tensor | None = None, token_type_ids: Tensor | None = None
    ) -> Tensor:
        """Compute each token's vector.

        Parameters
        ----------
        tokens : Tensor, int64, shape (B, T)
        attention_mask : Tensor, shape (B, T), optional
            1 or True for tokens, 0 for padding.
        token_type_ids : Tensor, int64, shape (B, T), optional
            0 for the first text of a pair, 1 for the second; by default all 0.

        Returns
        -------
        Tensor, shape (B, T, hidden_size)

        Raises
        ------
        ValueError
            If the arguments have another shape, or there are more tokens than positions.
        """
        self._check(tokens, attention_mask=attention_mask, token_type_ids=token_type_ids)
        types = self.types.weight[0] if token_type_ids is None else self.types(token_type_ids)
        x = self.norm(self.tokens(tokens) + types + self.positions(self._places(tokens)))
        mask = None if attention_mask is None else attention_mask.bool()[:, None, None]  # (B, 1, 1, T): of the keys
        for block in self.blocks:
            x = block(x, mask)
        return x

    def embed(self, tokens: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Compute one vector of each text, (B, hidden_size), as ``config.pooling`` and ``config.is_normalized`` say.

        The product of two that are normalized is their cosine similarity.
        """
        x = self(tokens, attention_mask)
        kept = weft.ones_like(tokens) if attention_mask is None else attention_mask
        pooled = POOLINGS[self.config.pooling](x, kept[..., None].bool())
        return functional.normalize(pooled, dim=-1) if self.config.is_normalized else pooled

    def pooled(self, x: Tensor) -> Tensor:
        """Compute BERT's vector of the whole text, (B, hidden_size), from the vectors of all tokens."""
        self._require("has_pooler", "pooler")
        return self.pooler(x[:, 0]).tanh()

    def logits(self, x: Tensor) -> Tensor:
        """Compute the logits of the token that stood at each place, (B, T, vocab_size): for masked ones."""
        self._require("has_logits", "head of a masked language model that shares the embedding's matrix")
        activation = functional.gelu if self.config.is_roberta else ACTIVATIONS[self.config.hidden_act]
        hidden = self.logits_norm(activation(self.logits_dense(x)))
        return functional.linear(hidden, self.tokens.weight, self.logits_bias)

    def _places(self, tokens: Tensor) -> Tensor:
        if not self.config.is_roberta:
            return weft.arange(tokens.shape[1], device=tokens.device)
        kept = (tokens != self.config.pad_token_id).long()
        return kept.cumsum(-1) * kept + self.config.pad_token_id

    def _require(self, setting: str, layer: str) -> None:
        if not getattr(self.config, setting):
            raise ValueError(f"Encoder: there is no {layer}: the folder that it was read from has no weights of one")

    def _check(self, tokens: Tensor, **others: Tensor | None) -> None:
        room = self.config.max_position_embeddings - (self.config.pad_token_id + 1 if self.config.is_roberta else 0)
        if tokens.dim() != 2 or not 0 < tokens.shape[1] <= room:
            raise ValueError(
                f"Encoder: tokens must be (B, T) with T from 1 to its {room} positions, got {tuple(tokens.shape)}"
            )
        for name, other in others.items():
            if other is not None and other.shape != tokens.shape:
                raise ValueError(
                    f"Encoder: {name} must have the shape of tokens {tuple(tokens.shape)}, got {tuple(other.shape)}"
                )


# One vector of a text's ------------------------------------------------------------------------------------------


def _mean(x: Tensor, kept: Tensor) -> Tensor:
    return (x * kept).sum(1) / kept.sum(1).clamp(min=1)


POOLINGS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "mean": _mean,
    "cls": lambda x, kept: x[:, 0],
    "max": lambda x, kept: x.masked_fill(~kept, float("-inf")).amax(1),
}


def _pooling(folder: Path) -> dict[str, Any]:
    """Return how a folder of sentence-transformers pools; nothing for another folder."""
    if not (folder / "modules.json").is_file():
        return {}
    found: dict[str, Any] = {"is_normalized": False}
    for module in read_json(folder / "modules.json", list):
        kind = str(module.get("type")).rpartition(".")[2]
        if kind == "Normalize":
            found["is_normalized"] = True
        elif kind == "Pooling":
            found["pooling"] = _pooling_mode(read_json(folder / str(module["path"]) / "config.json"))
        elif kind != "Transformer" or module.get("path"):
            raise ValueError(
                f"from_pretrained: {folder / 'modules.json'} has a module {kind!r} in {module.get('path')!r}; here "
                "are a Transformer in the folder itself, Pooling and Normalize. sentence-transformers runs on weft"
            )
    return found


def _pooling_mode(config: Mapping[str, Any]) -> str:
    names = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls", "pooling_mode_max_tokens": "max"}
    modes = [config["pooling_mode"]] if "pooling_mode" in config else []
    modes += [names.get(key, key) for key, value in config.items() if key.startswith("pooling_mode_") and value is True]
    if len(modes) != 1 or modes[0] not in POOLINGS:
        raise ValueError(f"from_pretrained: pooling by {modes} is not implemented; there are {', '.join(POOLINGS)}")
    return modes[0]


# The names in files ----------------------------------------------------------------------------------------------

NAMES = {
    "tokens": "embeddings.word_embeddings",
    "positions": "embeddings.position_embeddings",
    "types": "embeddings.token_type_embeddings",
    "norm": "embeddings.LayerNorm",
    "blocks.{}.attention.query_key_value": (
        "encoder.layer.{}.attention.self.query encoder.layer.{}.attention.self.key "
        "encoder.layer.{}.attention.self.value"
    ),
    "blocks.{}.attention.output": "encoder.layer.{}.attention.output.dense",
    "blocks.{}.attention_norm": "encoder.layer.{}.attention.output.LayerNorm",
    "blocks.{}.up": "encoder.layer.{}.intermediate.dense",
    "blocks.{}.down": "encoder.layer.{}.output.dense",
    "blocks.{}.mlp_norm": "encoder.layer.{}.output.LayerNorm",
    "pooler": "pooler.dense",
}
LOGITS_OF_BERT = {
    "logits_dense": "cls.predictions.transform.dense",
    "logits_norm": "cls.predictions.transform.LayerNorm",
    "": "cls.predictions",
}
LOGITS_OF_ROBERTA = {"logits_dense": "lm_head.dense", "logits_norm": "lm_head.layer_norm", "": "lm_head"}


def stored_encoder(config: EncoderConfig, parameters: Iterable[str]) -> dict[str, Stored]:
    """Return how files have each parameter."""
    table = NAMES | (LOGITS_OF_ROBERTA if config.is_roberta else LOGITS_OF_BERT)
    found = {}
    for parameter in parameters:
        module, layer, kind = in_table(parameter)
        names = table[module].replace("{}", layer).split()
        sizes = (config.hidden_size,) * 3 if len(names) > 1 else ()
        found[parameter] = Stored(tuple(f"{name}.{kind.removeprefix('logits_')}" for name in names), sizes)
    return found

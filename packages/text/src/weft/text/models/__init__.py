"""Two models that one can read, a decoder and an encoder, with the weights of published folders."""

from weft.text.models.cache import KeyValueCache
from weft.text.models.configuration import DecoderConfig
from weft.text.models.decoder import Decoder
from weft.text.models.encoder import Encoder, EncoderConfig

__all__ = ["Decoder", "DecoderConfig", "KeyValueCache", "Encoder", "EncoderConfig"]

# What torchtext.models had, by how the names begin.
_OF_TORCHTEXT = {
    "FLAN_T5_": "T5ForConditionalGeneration",
    "ROBERTA_": "RobertaModel",
    "Roberta": "RobertaModel",
    "T5": "T5ForConditionalGeneration",
    "XLMR_": "XLMRobertaModel",
}


def __getattr__(name: str) -> object:
    for beginning, theirs in _OF_TORCHTEXT.items():
        if name.startswith(beginning):
            raise ImportError(
                f"weft.text.models: torchtext's {name} is not here; its weights are published for transformers, which "
                f"runs on weft: transformers.{theirs}.from_pretrained(folder) under `weft run` or weft.as_torch()"
            )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""Models of text: transformers on either library, and weft.text's own decoder beside transformers on PyTorch."""

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rounds import Effort

from suites import is_weft

EFFORT = Effort(rounds=9, turns=2, seconds=0.2)
ORACLE = Path(__file__).parents[2] / "tests" / "conformance" / "vision"  # where torchvision's library does not load

SMALL = {"vocab_size": 1000, "hidden_size": 256, "intermediate_size": 688, "num_hidden_layers": 6,
         "num_attention_heads": 8, "num_key_value_heads": 8, "max_position_embeddings": 512}  # fmt: skip


def transformers_of(lib: Any) -> Any:
    """The package transformers, whose ``torch`` is the library."""
    if is_weft(lib):
        lib.as_torch("torch")
    elif importlib.util.find_spec("torchvision") is not None:  # which transformers imports
        sys.path.insert(0, str(ORACLE))
        importlib.import_module("oracle")
    return importlib.import_module("transformers")


def tokens_after(lib: Any, model: Any, vocabulary: int, prompt: int = 16, count: int = 16) -> Callable[[], Any]:
    """Greedy tokens after a prompt, with a cache, by transformers' ``generate``."""
    ids = lib.randint(3, vocabulary, (1, prompt))
    mask = lib.ones_like(ids)
    options = {"max_new_tokens": count, "min_new_tokens": count, "do_sample": False, "pad_token_id": 0}
    return lambda: model.generate(input_ids=ids, attention_mask=mask, **options)


def gpt2(lib: Any) -> Callable[[], Any]:
    """16 tokens of a GPT-2 small."""
    library = transformers_of(lib)
    lib.manual_seed(0)
    model = library.GPT2LMHeadModel(library.GPT2Config()).eval()
    return tokens_after(lib, model, 50257)


def llama(lib: Any) -> Callable[[], Any]:
    """16 tokens of a Llama of 6 layers, 256 wide."""
    library = transformers_of(lib)
    lib.manual_seed(0)
    model = library.LlamaForCausalLM(library.LlamaConfig(**SMALL)).eval()
    return tokens_after(lib, model, 1000)


def own_decoder(lib: Any, config: dict[str, Any], theirs: Callable[[Any], Callable[[], Any]]) -> Callable[[], Any]:
    """16 tokens by weft.text's decoder, beside transformers on PyTorch."""
    if not is_weft(lib):
        return theirs(lib)
    text, models = importlib.import_module("weft.text"), importlib.import_module("weft.text.models")
    lib.manual_seed(0)
    model = models.Decoder(models.DecoderConfig.from_dict(config)).eval()
    ids = lib.randint(3, model.config.vocab_size, (1, 16))
    return lambda: text.generate(model, ids, 16, temperature=0)


def bert(lib: Any) -> Callable[[], Any]:
    """A BERT-base on 8 texts of 128 tokens."""
    library = transformers_of(lib)
    lib.manual_seed(0)
    model = library.BertModel(library.BertConfig()).eval()
    ids = lib.randint(3, 30000, (8, 128))
    mask = lib.ones_like(ids)

    def encode() -> Any:
        with lib.no_grad():
            return model(input_ids=ids, attention_mask=mask).last_hidden_state

    return encode


CASES: dict[str, Callable[[Any], Callable[[], Any]]] = {
    "transformers: GPT-2 small, 16 tokens": gpt2,
    "transformers: Llama, 6 layers 256 wide, 16 tokens": llama,
    "weft.text: GPT-2 small, 16 tokens": lambda lib: own_decoder(lib, {"model_type": "gpt2"}, gpt2),
    "weft.text: Llama, 6 layers 256 wide, 16 tokens": lambda lib: own_decoder(
        lib, {"model_type": "llama", **SMALL}, llama
    ),
    "transformers: BERT-base, 8 x 128": bert,
}

"""Generation with tiny random models: greedy, without cache, padded, beams, sampled, assisted, static caches."""

# /// script
# dependencies = ["transformers==5.23.0"]
# ///

import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM

transformers.logging.set_verbosity_error()

SIZES = {
    "vocab_size": 99,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 40,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
GROUPED = {**SIZES, "num_key_value_heads": 2, "head_dim": 8, "initializer_range": 0.3}
GPT2 = {
    "vocab_size": 99,
    "n_embd": 32,
    "n_layer": 2,
    "n_head": 4,
    "n_positions": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "initializer_range": 0.3,
}
SEQ2SEQ = {"vocab_size": 99, "d_model": 32, "pad_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 0}
T5 = {**SEQ2SEQ, "d_kv": 8, "d_ff": 40, "num_layers": 2, "num_heads": 4}
BART = {
    **SEQ2SEQ,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 40,
    "decoder_ffn_dim": 40,
    "max_position_embeddings": 64,
    "init_std": 0.3,
    "forced_eos_token_id": 2,
}
MODELS = {
    "gpt2": GPT2,
    "llama": GROUPED,
    "mistral": {**GROUPED, "sliding_window": 4},
    "gemma2": GROUPED,
    "mamba": {
        **{key: SIZES[key] for key in ("vocab_size", "hidden_size", "num_hidden_layers")},
        "state_size": 8,
        "pad_token_id": 0,
        "eos_token_id": 2,
    },
    "t5": T5,
    "bart": BART,
}


def ways(name):
    yield "greedy", {}
    yield "uncached", {"use_cache": False}
    if name != "mamba":
        yield "beams", {"num_beams": 3, "num_return_sequences": 2}
    yield "sampled", {"do_sample": True, "top_k": 20, "top_p": 0.9, "temperature": 0.8}
    yield "penalized", {"repetition_penalty": 1.3, "no_repeat_ngram_size": 2, "min_new_tokens": 4}
    if name in ("gpt2", "llama"):
        yield "static cache", {"cache_implementation": "static"}


def made(name, seed=0, **changes):
    torch.manual_seed(seed)
    config = AutoConfig.for_model(name, **{**MODELS[name], **changes})
    kind = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
    return kind.from_config(config).eval()


def prompts():
    ids = torch.randint(3, 99, (2, 7), generator=torch.Generator().manual_seed(1))
    mask = torch.ones_like(ids)
    ids[1, :3], mask[1, :3] = 0, 0  # padded on the left
    return {"input_ids": ids, "attention_mask": mask}


for name in MODELS:
    model = made(name)
    for way, options in ways(name):
        torch.manual_seed(2)
        found = model.generate(**prompts(), max_new_tokens=9, **options)
        for row in found.tolist():
            print(name, way, *row)
    scored = model.generate(**prompts(), max_new_tokens=4, output_scores=True, return_dict_in_generate=True)
    print(name, "scores", *(f"{step.max().item():.5f}" for step in scored.scores))

assistant = made("llama", seed=5, num_hidden_layers=1)
found = made("llama").generate(prompts()["input_ids"][:1], assistant_model=assistant, max_new_tokens=9)
print("llama assisted", *found[0].tolist())
found = made("llama").generate(prompts()["input_ids"][:1], prompt_lookup_num_tokens=2, max_new_tokens=9)
print("llama prompt lookup", *found[0].tolist())

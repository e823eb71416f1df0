"""Losses, results, gradients and greedy tokens of transformers' models with a head: series, objects, mixtures."""

# /// script
# dependencies = ["transformers==5.23.0", "scipy==1.17.1"]
# [tool.ecosystem]
# tolerance = 1e-4
# ///

import math

import numpy
import torch
import transformers
from transformers import AutoConfig

transformers.logging.set_verbosity_error()
DECODER = dict.fromkeys("num_attention_heads num_experts num_local_experts n_routed_experts".split(), 4)
DECODER |= dict.fromkeys("num_key_value_heads num_experts_per_tok moe_topk num_dense_layers".split(), 2)
DECODER |= dict.fromkeys("mamba_d_head mamba_d_state mamba_n_heads mamba_dt_rank head_dim".split(), 8)
DECODER |= dict.fromkeys("moe_intermediate_size expert_ffn_hidden_size shared_intermediate_size".split(), 16)
DECODER |= {"vocab_size": 99, "hidden_size": 32, "intermediate_size": 40, "num_hidden_layers": 3}
DECODER |= {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "mamba_n_groups": 1, "mamba_chunk_size": 4}
LATENT = dict.fromkeys("q_lora_rank kv_lora_rank qk_rope_head_dim qk_nope_head_dim v_head_dim".split(), 8)
LATENT |= {"num_key_value_heads": 4, "n_group": 1, "topk_group": 1, "first_k_dense_replace": 1}
SERIES = dict.fromkeys("encoder_layers decoder_layers num_time_features".split(), 2)
SERIES |= {"prediction_length": 6, "context_length": 12, "lags_sequence": [1, 2, 3], "d_model": 16}
PATCHES = {"num_input_channels": 3, "context_length": 24, "patch_length": 4, "patch_stride": 4, "d_model": 16}
PATCHES |= {"prediction_length": 6}
SWIN = {"model_type": "swin", "image_size": 64, "embed_dim": 8, "depths": [1, 1, 1, 1], "num_heads": [1, 1, 2, 2]}
SWIN |= {"window_size": 4, "out_features": ["stage1", "stage2", "stage3", "stage4"]}
MASKS = {"backbone_config": SWIN, "feature_size": 32, "mask_feature_size": 32, "hidden_dim": 32, "num_queries": 6}
MASKS |= {"encoder_layers": 1, "decoder_layers": 2, "num_attention_heads": 4, "dim_feedforward": 24}

MODELS = {
    "jamba": ("JambaForCausalLM", {"attn_layer_period": 2, "attn_layer_offset": 1, "use_mamba_kernels": False}),
    "bamba": ("BambaForCausalLM", {"attn_layer_indices": [1]}),
    "granitemoehybrid": ("GraniteMoeHybridForCausalLM", {"layer_types": ["mamba", "attention", "mamba"]}),
    "lfm2_moe": ("Lfm2MoeForCausalLM", {"layer_types": ["conv", "full_attention", "conv"]}),
    "deepseek_v2": ("DeepseekV2ForCausalLM", LATENT),
    "deepseek_v3": ("DeepseekV3ForCausalLM", LATENT),
    "minicpm3": ("MiniCPM3ForCausalLM", LATENT),
    "hunyuan_v1_dense": ("HunYuanDenseV1ForCausalLM", {}),
    "nemotron": ("NemotronForCausalLM", {}),
    "apertus": ("ApertusForCausalLM", {}),
    "esm": ("EsmForMaskedLM", {"mask_token_id": 3}),
    "luke": ("LukeForMaskedLM", {"entity_vocab_size": 20, "entity_emb_size": 16}),
    "time_series_transformer": ("TimeSeriesTransformerForPrediction", SERIES),
    "informer": ("InformerForPrediction", SERIES),
    "autoformer": ("AutoformerForPrediction", SERIES | {"label_length": 4, "moving_average": 5}),
    "patchtst": ("PatchTSTForPrediction", PATCHES | {"num_attention_heads": 4, "num_hidden_layers": 2, "ffn_dim": 24}),
    "patchtsmixer": ("PatchTSMixerForPrediction", PATCHES | {"num_layers": 2}),
    "mask2former": ("Mask2FormerForUniversalSegmentation", MASKS | {"train_num_points": 50}),
    "convnextv2": ("ConvNextV2ForImageClassification", {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1]}),
    "bit": ("BitForImageClassification", {"hidden_sizes": [32, 64, 64, 64], "depths": [1, 1, 1, 1], "num_groups": 8}),
}
TEXT = [*MODELS][:12]


def noise(*shape):
    return torch.from_numpy(numpy.random.RandomState(1).randn(*shape).astype("float32"))


def inputs(name):
    if name in TEXT:
        ids = torch.from_numpy(numpy.random.RandomState(1).randint(4, 88, (2, 10)))
        return {"input_ids": ids, "labels": ids}
    if name.startswith("patch"):
        return {"past_values": noise(2, 24, 3), "future_values": noise(2, 6, 3)}
    if name in ("time_series_transformer", "informer", "autoformer"):
        past = {
            "past_values": noise(2, 15),
            "past_time_features": noise(2, 15, 2),
            "past_observed_mask": noise(2, 15) < 9,
        }
        return past | {"future_values": noise(2, 6), "future_time_features": noise(2, 6, 2)}
    given = {"pixel_values": noise(2, 3, 64, 64)}
    if name != "mask2former":
        return given | {"labels": torch.tensor([0, 1])}
    masks = (noise(2, 64, 64) > 0).float()
    return given | {"mask_labels": [masks, masks[:1]], "class_labels": [torch.tensor([0, 1]), torch.tensor([1])]}


def show(name, kind, tensor):
    tensor = tensor.detach().double().flatten()
    scale = max(tensor.abs().max().item(), 1e-3)  # what is zero but for rounding stays so
    places = torch.linspace(0, len(tensor) - 1, 4).long()
    values = [tensor.mean(), tensor.std(correction=0), *tensor[places]]
    print(name, kind, len(tensor), f"{math.log(scale):.6f}", *(f"{value / scale:.6f}" for value in values))


for name, (architecture, options) in MODELS.items():
    config = AutoConfig.for_model(name, **((DECODER if name in TEXT else {"num_labels": 3}) | options))
    torch.manual_seed(0)
    model = getattr(transformers, architecture)(config).float().eval()
    given = inputs(name)
    torch.manual_seed(1)
    output = model(**given)
    show(name, "loss", output.loss.reshape(1))
    output.loss.sum().backward()
    gradients = [(key, each.grad) for key, each in model.named_parameters() if each.grad is not None]
    for key, gradient in gradients[:: max(1, len(gradients) // 3)]:
        show(name, key, gradient)
    if name in TEXT[:10]:
        for cached in (True, False):
            tokens = model.generate(given["input_ids"], max_new_tokens=6, do_sample=False, use_cache=cached)
            print(name, "tokens", tokens[:, 10:].flatten().tolist())

"""Logits and gradients of tiny random models of transformers: text, pictures, sound, several of them."""

# /// script
# dependencies = ["transformers==5.23.0"]
# [tool.ecosystem]
# tolerance = 1e-4
# ///

import math
import sys
import traceback
import warnings

import torch
import transformers
from transformers import AutoConfig

warnings.simplefilter("ignore")
transformers.logging.set_verbosity_error()

V, H, L, A, F = 99, 32, 2, 4, 40  # vocabulary, hidden size, layers, heads, intermediate size
TEXT = {
    "vocab_size": V,
    "hidden_size": H,
    "num_hidden_layers": L,
    "num_attention_heads": A,
    "intermediate_size": F,
    "max_position_embeddings": 64,
    "pad_token_id": 1,
    "bos_token_id": 2,
    "eos_token_id": 3,
}
GROUPED = {**TEXT, "num_key_value_heads": 2, "head_dim": 8}
SEQ2SEQ = {
    "vocab_size": V,
    "d_model": H,
    "encoder_layers": L,
    "decoder_layers": L,
    "encoder_attention_heads": A,
    "decoder_attention_heads": A,
    "encoder_ffn_dim": F,
    "decoder_ffn_dim": F,
    "max_position_embeddings": 64,
    "pad_token_id": 1,
    "bos_token_id": 2,
    "eos_token_id": 3,
    "decoder_start_token_id": 2,
    "forced_eos_token_id": None,
}
VISION = {
    "hidden_size": H,
    "num_hidden_layers": L,
    "num_attention_heads": A,
    "intermediate_size": F,
    "image_size": 30,
    "patch_size": 10,
    "num_labels": 5,
}
AUDIO = {
    "hidden_size": H,
    "num_hidden_layers": L,
    "num_attention_heads": A,
    "intermediate_size": F,
    "vocab_size": 32,
    "conv_dim": (16, 16),
    "conv_stride": (4, 4),
    "conv_kernel": (8, 8),
    "num_feat_extract_layers": 2,
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 2,
    "feat_proj_dropout": 0.0,
}
CLIP = {
    "text_config": {**TEXT, "projection_dim": 16},
    "vision_config": {**VISION, "projection_dim": 16},
    "projection_dim": 16,
}

# model type: class, configuration
ENCODERS = {
    "bert": ("BertForMaskedLM", TEXT),
    "roberta": ("RobertaForSequenceClassification", TEXT),
    "distilbert": ("DistilBertForMaskedLM", {"vocab_size": V, "dim": H, "n_layers": L, "n_heads": A, "hidden_dim": F}),
    "electra": ("ElectraForTokenClassification", {**TEXT, "embedding_size": 16}),
    "deberta-v2": (
        "DebertaV2ForSequenceClassification",
        {
            **TEXT,
            "relative_attention": True,
            "position_buckets": 8,
            "pos_att_type": ["p2c", "c2p"],
            "norm_rel_ebd": "layer_norm",
            "share_att_key": True,
        },
    ),
    "albert": ("AlbertForMaskedLM", {**TEXT, "embedding_size": 16}),
    "modernbert": ("ModernBertForMaskedLM", {**TEXT, "global_attn_every_n_layers": 2, "local_attention": 4}),
    "mpnet": ("MPNetForQuestionAnswering", TEXT),
    "longformer": ("LongformerForMaskedLM", {**TEXT, "attention_window": 4}),
}
DECODERS = {
    "gpt2": ("GPT2LMHeadModel", {"vocab_size": V, "n_embd": H, "n_layer": L, "n_head": A, "n_positions": 64}),
    "llama": ("LlamaForCausalLM", GROUPED),
    "mistral": ("MistralForCausalLM", {**GROUPED, "sliding_window": 4}),
    "qwen2": ("Qwen2ForCausalLM", GROUPED),
    "qwen3": ("Qwen3ForCausalLM", GROUPED),
    "gemma2": ("Gemma2ForCausalLM", {**GROUPED, "sliding_window": 4}),
    "gemma3_text": ("Gemma3ForCausalLM", {**GROUPED, "sliding_window": 4}),
    "phi": ("PhiForCausalLM", {**GROUPED, "partial_rotary_factor": 0.5}),
    "falcon": ("FalconForCausalLM", {**TEXT, "new_decoder_architecture": True, "num_kv_heads": 2}),
    "opt": (
        "OPTForCausalLM",
        {
            "vocab_size": V,
            "hidden_size": H,
            "num_hidden_layers": L,
            "num_attention_heads": A,
            "ffn_dim": F,
            "max_position_embeddings": 64,
            "word_embed_proj_dim": 16,
        },
    ),
    "bloom": ("BloomForCausalLM", {"vocab_size": V, "hidden_size": H, "n_layer": L, "n_head": A}),
    "gpt_neox": ("GPTNeoXForCausalLM", TEXT),
    "mixtral": ("MixtralForCausalLM", {**GROUPED, "num_local_experts": 4, "output_router_logits": True}),
}
SEQ2SEQS = {
    "t5": (
        "T5ForConditionalGeneration",
        {
            "vocab_size": V,
            "d_model": H,
            "d_kv": 8,
            "d_ff": F,
            "num_layers": L,
            "num_heads": A,
            "decoder_start_token_id": 0,
        },
    ),
    "bart": ("BartForConditionalGeneration", SEQ2SEQ),
    "pegasus": ("PegasusForConditionalGeneration", SEQ2SEQ),
    "mbart": ("MBartForConditionalGeneration", SEQ2SEQ),
    "marian": ("MarianMTModel", SEQ2SEQ),
}
IMAGES = {
    "vit": ("ViTForImageClassification", VISION),
    "deit": ("DeiTForImageClassification", VISION),
    "swin": (
        "SwinForImageClassification",
        {
            "image_size": 32,
            "patch_size": 2,
            "embed_dim": 16,
            "depths": [1, 2],
            "num_heads": [2, 2],
            "window_size": 2,
            "num_labels": 5,
        },
    ),
    "convnext": (
        "ConvNextForImageClassification",
        {"hidden_sizes": [8, 16], "depths": [1, 2], "num_stages": 2, "num_labels": 5},
    ),
    "detr": (
        "DetrForObjectDetection",
        {
            "use_timm_backbone": False,
            "use_pretrained_backbone": False,
            "backbone": None,
            "backbone_config": {
                "model_type": "resnet",
                "embedding_size": 8,
                "hidden_sizes": [8, 8, 16, 16],
                "depths": [1, 1, 1, 1],
                "out_features": ["stage4"],
            },
            "d_model": H,
            "encoder_layers": 1,
            "decoder_layers": 1,
            "encoder_attention_heads": 2,
            "decoder_attention_heads": 2,
            "encoder_ffn_dim": F,
            "decoder_ffn_dim": F,
            "num_queries": 4,
            "num_labels": 3,
        },
    ),
    "segformer": (
        "SegformerForSemanticSegmentation",
        {
            "depths": [1, 1, 1, 1],
            "hidden_sizes": [8, 8, 16, 16],
            "num_attention_heads": [1, 1, 2, 2],
            "decoder_hidden_size": 16,
            "num_labels": 5,
        },
    ),
    "dinov2": ("Dinov2ForImageClassification", VISION),
}
SOUNDS = {
    "wav2vec2": ("Wav2Vec2ForCTC", AUDIO),
    "whisper": (
        "WhisperForConditionalGeneration",
        {
            **SEQ2SEQ,
            "num_mel_bins": 8,
            "max_source_positions": 20,
            "max_target_positions": 20,
            "suppress_tokens": None,
            "begin_suppress_tokens": None,
        },
    ),
    "hubert": ("HubertForCTC", AUDIO),
}
BOTH = {
    "clip": ("CLIPModel", CLIP),
    "siglip": ("SiglipModel", CLIP),
    "blip": (
        "BlipForConditionalGeneration",
        {**CLIP, "text_config": {**TEXT, "encoder_hidden_size": H, "sep_token_id": 3, "is_decoder": True}},
    ),
    "llava": (
        "LlavaForConditionalGeneration",
        {
            "text_config": {**GROUPED, "model_type": "llama"},
            "image_token_id": 7,
            "vision_config": {**VISION, "projection_dim": 16, "model_type": "clip_vision_model"},
            "vision_feature_layer": -1,
        },
    ),
}
RECURRENT = {
    "mamba": ("MambaForCausalLM", {"vocab_size": V, "hidden_size": H, "num_hidden_layers": L, "state_size": 8}),
    "mamba2": (
        "Mamba2ForCausalLM",
        {
            "vocab_size": V,
            "hidden_size": H,
            "num_hidden_layers": L,
            "state_size": 8,
            "num_heads": 8,
            "head_dim": 8,
            "n_groups": 1,
            "chunk_size": 4,
        },
    ),
    "rwkv": (
        "RwkvForCausalLM",
        {"vocab_size": V, "hidden_size": H, "num_hidden_layers": L, "attention_hidden_size": H, "context_length": 32},
    ),
}


def text_inputs(model):
    ids = torch.randint(4, V, (2, 10))
    mask = torch.ones_like(ids)
    mask[1, 7:] = 0
    return {"input_ids": ids, "attention_mask": mask}


def unmasked_inputs(model):
    return {"input_ids": text_inputs(model)["input_ids"]}


def seq2seq_inputs(model):
    return {**text_inputs(model), "labels": torch.randint(4, V, (2, 6))}


def image_inputs(model):
    size = getattr(model.config, "image_size", 64)
    return {"pixel_values": torch.randn(2, 3, size, size)}


def sound_inputs(model):
    if hasattr(model.config, "num_mel_bins"):
        return {"input_features": torch.randn(2, 8, 40), "labels": torch.randint(4, V, (2, 6))}
    return {"input_values": torch.randn(2, 400), "labels": torch.randint(1, 32, (2, 5))}


def both_inputs(model):
    text = text_inputs(model)
    if hasattr(model.config, "image_token_id"):
        text["input_ids"][:, :9] = model.config.image_token_id
        text["attention_mask"][:] = 1
    size = model.config.vision_config.image_size
    return {**text, "pixel_values": torch.randn(2, 3, size, size)}


FAMILIES = [
    (ENCODERS, text_inputs),
    (DECODERS, text_inputs),
    (SEQ2SEQS, seq2seq_inputs),
    (IMAGES, image_inputs),
    (SOUNDS, sound_inputs),
    (BOTH, both_inputs),
    (RECURRENT, unmasked_inputs),
]


def show(name, kind, tensor):
    tensor = tensor.detach().double().flatten()
    scale = max(tensor.abs().max().item(), 1e-3)  # what is zero but for rounding stays so
    places = torch.linspace(0, len(tensor) - 1, 4).long()
    values = [tensor.mean(), tensor.std(correction=0), *tensor[places]]
    print(name, kind, len(tensor), f"{math.log(scale):.6f}", *(f"{value / scale:.6f}" for value in values))


def check(name, architecture, config, inputs):
    torch.manual_seed(0)
    model = getattr(transformers, architecture)(AutoConfig.for_model(name, **config)).train(name == "rwkv")
    output = model(**inputs(model))
    floating = [value for value in output.to_tuple() if isinstance(value, torch.Tensor) and value.is_floating_point()]
    logits = max(floating[:3], key=torch.Tensor.numel)
    show(name, "logits", logits)
    if output.get("loss") is not None:
        show(name, "loss", output.loss.reshape(1))
    target = torch.randn(logits.shape)
    (torch.nn.functional.mse_loss(logits, target) + (output.get("loss") or 0)).backward()
    for key, parameter in list(model.named_parameters())[:: max(1, len(list(model.parameters())) // 6)]:
        if parameter.grad is not None:
            show(name, f"gradient {key}", parameter.grad)


if __name__ == "__main__":
    chosen = sys.argv[1:]
    for family, inputs in FAMILIES:
        for name, (architecture, config) in family.items():
            if chosen and name not in chosen:
                continue
            try:
                check(name, architecture, config, inputs)
            except Exception as error:  # the others are still to be seen
                print(name, "failed:", type(error).__name__, str(error).splitlines()[0])
                if chosen:
                    traceback.print_exc()

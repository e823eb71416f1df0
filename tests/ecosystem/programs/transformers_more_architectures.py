"""Outputs and gradients of forty more of transformers' architectures, with their default configurations made small."""

# /// script
# dependencies = ["transformers==5.23.0"]
# [tool.ecosystem]
# tolerance = 1e-4
# ///

import math

import torch
import transformers
from transformers import AutoConfig, AutoModel, PretrainedConfig

transformers.logging.set_verbosity_error()
SMALL = dict.fromkeys("hidden_size d_model n_embd dim embed_dim out_hidden_size decoder_hidden_size".split(), 32)
SMALL |= dict.fromkeys("num_hidden_layers n_layer n_layers num_layers encoder_layers decoder_layers depth".split(), 2)
SMALL |= dict.fromkeys("num_encoder_layers num_decoder_layers num_key_value_heads num_experts_per_tok".split(), 2)
SMALL |= dict.fromkeys("num_attention_heads n_head n_heads num_heads encoder_attention_heads".split(), 4)
SMALL |= dict.fromkeys("decoder_attention_heads num_experts num_local_experts sliding_window rotary_dim".split(), 4)
SMALL |= dict.fromkeys("intermediate_size ffn_dim d_ff n_inner hidden_dim encoder_ffn_dim decoder_ffn_dim".split(), 40)
SMALL |= dict.fromkeys("d_kv head_dim state_size patch_size qk_rope_head_dim qk_nope_head_dim v_head_dim".split(), 8)
SMALL |= dict.fromkeys("q_lora_rank kv_lora_rank".split(), 8)
SMALL |= dict.fromkeys(
    "projection_dim embedding_size moe_intermediate_size shared_expert_intermediate_size".split(), 16
)
SMALL |= {"vocab_size": 99, "max_position_embeddings": 64, "n_positions": 64, "image_size": 32, "num_mel_bins": 16}
TYPES = """
xlnet xlm deberta big_bird fnet nystromformer splinter convbert roformer mobilebert ernie canine layoutlm
gpt_neo gptj codegen olmo2 stablelm starcoder2 phi3 granite cohere qwen3_moe gpt_oss
led longt5 switch_transformers blenderbot m2m_100 prophetnet umt5
beit yolos mobilevit dpt poolformer glpn vit_mae wavlm data2vec-audio
""".split()


def shrink(config):
    for key, value in SMALL.items():
        old = getattr(config, key, None)
        if isinstance(old, int) and old > value and not isinstance(getattr(type(config), key, None), property):
            setattr(config, key, value)
    if getattr(config, "layer_types", None):
        config.layer_types = config.layer_types[: config.num_hidden_layers]
    for key in ("pad_token_id", "bos_token_id", "eos_token_id"):
        if (getattr(config, key, None) or 0) > 90:
            setattr(config, key, 2)
    for part in vars(config).values():
        if isinstance(part, PretrainedConfig):
            shrink(part)
    return config


def inputs(model):
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(3, 90, (2, 8), generator=generator)
    if model.main_input_name == "pixel_values":
        return {"pixel_values": torch.randn(2, 3, 32, 32, generator=generator)}
    if model.main_input_name == "input_values":
        return {"input_values": torch.randn(2, 1600, generator=generator)}
    if model.config.is_encoder_decoder:
        return {"input_ids": ids, "decoder_input_ids": ids[:, :5]}
    return {"input_ids": ids}


def show(name, kind, tensor):
    tensor = tensor.detach().double().flatten()
    scale = max(tensor.abs().max().item(), 1e-3)  # what is zero but for rounding stays so
    places = torch.linspace(0, len(tensor) - 1, 4).long()
    values = [tensor.mean(), tensor.std(correction=0), *tensor[places]]
    print(name, kind, len(tensor), f"{math.log(scale):.6f}", *(f"{value / scale:.6f}" for value in values))


for name in TYPES:
    torch.manual_seed(0)
    model = AutoModel.from_config(shrink(AutoConfig.for_model(name))).eval()
    output = model(**inputs(model))[0]
    show(name, "output", output)
    (output * torch.linspace(-1, 1, output.numel()).reshape(output.shape)).mean().backward()
    gradients = [(key, parameter.grad) for key, parameter in model.named_parameters() if parameter.grad is not None]
    for key, gradient in gradients[:: max(1, len(gradients) // 3)]:
        show(name, key, gradient)

"""Adapters of peft on a tiny Llama: LoRA (trained, merged, saved, read), DoRA, IA3, prefix and prompt tuning, LoHa."""

# /// script
# dependencies = ["peft==0.21.2", "transformers==5.23.0"]
# ///

import tempfile

import torch
from peft import (
    AdaLoraConfig,
    BOFTConfig,
    IA3Config,
    LoHaConfig,
    LoraConfig,
    PeftModel,
    PrefixTuningConfig,
    PromptTuningConfig,
    ShiraConfig,
    VeraConfig,
    get_peft_model,
)
from transformers import LlamaConfig, LlamaForCausalLM

SIZES = {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 40}
WAYS = {
    "lora": LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"),
    "dropout": LoraConfig(r=4, lora_dropout=0.1, target_modules="all-linear", bias="lora_only", task_type="CAUSAL_LM"),
    "rslora": LoraConfig(r=4, use_rslora=True, init_lora_weights="gaussian", target_modules=["k_proj"]),
    "dora": LoraConfig(r=4, use_dora=True, target_modules=["q_proj"]),
    "embedding": LoraConfig(r=4, target_modules=["embed_tokens"], modules_to_save=["lm_head"]),
    "pissa": LoraConfig(r=4, init_lora_weights="olora", target_modules=["q_proj"]),
    "ia3": IA3Config(target_modules=["k_proj", "down_proj"], feedforward_modules=["down_proj"]),
    "loha": LoHaConfig(r=4, target_modules=["q_proj"]),
    "vera": VeraConfig(r=4, target_modules=["q_proj"]),
    "adalora": AdaLoraConfig(r=4, init_r=6, target_r=4, total_step=10, target_modules=["q_proj"]),
    "boft": BOFTConfig(boft_block_size=4, target_modules=["q_proj"]),
    "shira": ShiraConfig(r=4, target_modules=["q_proj"]),
    "prompt": PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=4),
    "prefix": PrefixTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=4),
}
ids = torch.randint(3, 99, (4, 10), generator=torch.Generator().manual_seed(1))


def base():
    torch.manual_seed(0)
    return LlamaForCausalLM(LlamaConfig(**SIZES, pad_token_id=0))


def trained(model, steps=5):
    optimizer = torch.optim.AdamW([each for each in model.parameters() if each.requires_grad], lr=1e-2)
    for _ in range(steps):
        loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        yield loss.item()


def logits(model):
    with torch.no_grad():
        return model.eval()(input_ids=ids[:1]).logits[0, -1]


for name, config in WAYS.items():
    torch.manual_seed(2)
    model = get_peft_model(base(), config)
    print(name, *model.get_nb_trainable_parameters(), *(f"{loss:.5f}" for loss in trained(model)))
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        read = PeftModel.from_pretrained(base(), folder)
        print(name, "read", (logits(read) - logits(model)).abs().max().item() < 1e-6)

torch.manual_seed(2)
model = get_peft_model(base(), WAYS["lora"])
list(trained(model))
before = logits(model)
with model.disable_adapter():
    print("disabled", f"{(logits(model) - logits(base())).abs().max().item():.6f}")
print("generated", *model.generate(input_ids=ids[:1, :4], max_new_tokens=6, do_sample=False)[0].tolist())
model.add_adapter("second", WAYS["lora"])
model.set_adapter("second")
print("second", model.active_adapter, f"{logits(model)[:4].sum().item():.5f}")
model.set_adapter("default")
merged = model.merge_and_unload()
print("merged", type(merged).__name__, f"{(logits(merged) - before).abs().max().item():.4f}")

"""transformers: models by their tensor parallel plans, in two processes: logits, a gradient, generated tokens."""

# /// script
# dependencies = ["transformers==5.23.0", "accelerate==1.15.0"]
# ///

import os
import subprocess
import sys
import tempfile

import torch
import torch.distributed as dist

SIZES = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
}
KINDS = {
    "Llama": {},
    "Qwen3": {"head_dim": 8},
    "Gemma2": {"head_dim": 8},
    "GPTNeoX": {},
    "Mixtral": {"num_local_experts": 4},
}


def compare(kind, extra):
    import transformers

    folder = [tempfile.mkdtemp() if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(folder)
    torch.manual_seed(0)
    whole = getattr(transformers, f"{kind}ForCausalLM")(getattr(transformers, f"{kind}Config")(**SIZES, **extra)).eval()
    if dist.get_rank() == 0:
        whole.save_pretrained(folder[0])
    dist.barrier()
    model = transformers.AutoModelForCausalLM.from_pretrained(folder[0], tp_plan="auto").eval()
    torch.manual_seed(1)
    tokens = torch.randint(1, 64, (2, 9))
    logits = model(tokens, labels=tokens)
    apart = (whole(tokens).logits - logits.logits).abs().max().item()
    generated = model.generate(tokens, max_new_tokens=5, do_sample=False, pad_token_id=0)
    if dist.get_rank() == 0:
        print(kind, f"{logits.loss.item():.5f}", apart < 1e-5, generated[:, 9:].tolist())


if __name__ == "__main__":
    if "RANK" not in os.environ:
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", __file__]
        print(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout, end="")
    else:
        dist.init_process_group("gloo")
        for kind, extra in KINDS.items():
            compare(kind, extra)
        dist.destroy_process_group()

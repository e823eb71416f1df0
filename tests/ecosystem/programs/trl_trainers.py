"""trl's trainers on a tiny Llama: supervised fine-tuning (whole and with LoRA), preferences (DPO), a reward model."""

# /// script
# dependencies = ["trl==1.16.0", "peft==0.21.2", "transformers==5.23.0", "datasets==5.2.0"]
# ///

import tempfile

import torch
import transformers
from datasets import Dataset, disable_progress_bars
from peft import LoraConfig
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, PrinterCallback
from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer

transformers.logging.set_verbosity_error()
disable_progress_bars()
WORDS = ["[PAD]", "[UNK]", "[BOS]", "[EOS]", *"the a cat dog bird sat ran flew on over mat tree house".split()]


def tokenizer():
    made = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="[PAD]", unk_token="[UNK]", bos_token="[BOS]", eos_token="[EOS]"
    )


def model():
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 40}
    return LlamaForCausalLM(LlamaConfig(vocab_size=len(WORDS), pad_token_id=0, bos_token_id=2, eos_token_id=3, **sizes))


def run(label, trainer):
    trainer.remove_callback(PrinterCallback)  # it prints times
    trainer.train()
    for entry in trainer.state.log_history:
        for key in ("loss", "grad_norm", "mean_token_accuracy", "entropy", "rewards/margins", "logps/chosen"):
            if key in entry:
                print(label, entry["step"], key, f"{float(entry[key]):.4f}")


OPTIONS = {
    "max_steps": 4, "per_device_train_batch_size": 4, "logging_steps": 1, "learning_rate": 1e-3, "report_to": [],
    "use_cpu": True, "disable_tqdm": True, "save_strategy": "no", "bf16": False, "seed": 3,
}  # fmt: skip
texts = Dataset.from_dict({"text": ["the cat sat on the mat", "a dog ran over the house", "a bird flew"] * 6})
pairs = Dataset.from_dict({
    "prompt": ["the cat", "a dog", "the bird"] * 4, "chosen": [" sat on the mat", " ran", " flew over"] * 4,
    "rejected": [" flew", " sat on a tree", " ran on the mat"] * 4,
})  # fmt: skip
with tempfile.TemporaryDirectory() as folder:
    options = {**OPTIONS, "output_dir": folder}
    lora = LoraConfig(r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    arguments = SFTConfig(max_length=16, **options)
    run("sft", SFTTrainer(model(), arguments, train_dataset=texts, processing_class=tokenizer()))
    run("sft lora", SFTTrainer(model(), arguments, train_dataset=texts, processing_class=tokenizer(), peft_config=lora))
    packed = SFTConfig(max_length=16, packing=True, **options)
    run("sft packed", SFTTrainer(model(), packed, train_dataset=texts, processing_class=tokenizer()))
    arguments = DPOConfig(max_length=16, **options)
    run("dpo", DPOTrainer(model(), model(), arguments, train_dataset=pairs, processing_class=tokenizer()))

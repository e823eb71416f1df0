"""Checkpoints of transformers: written and read back whole, in shards and as .bin, and a head of another size."""

# /// script
# dependencies = ["transformers==5.23.0", "safetensors==0.8.0"]
# ///

import json
import tempfile
from pathlib import Path

import torch
import transformers
from safetensors import safe_open
from transformers import AutoModel, BertConfig, BertForSequenceClassification, LlamaConfig, LlamaForCausalLM

transformers.logging.set_verbosity_error()

SIZES = {
    "vocab_size": 99,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 40,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
}


def same(model, other):
    mine, theirs = model.state_dict(), other.state_dict()
    return mine.keys() == theirs.keys() and all(torch.equal(mine[key], theirs[key]) for key in mine)


def logits(model):
    ids = torch.arange(3, 15).reshape(2, 6)
    with torch.no_grad():
        output = model.eval()(ids)
    return [f"{value:.5f}" for value in output[0].float().flatten()[:5].tolist()]


for kind, config in ((LlamaForCausalLM, LlamaConfig), (BertForSequenceClassification, BertConfig)):
    name = kind.__name__
    torch.manual_seed(0)
    model = kind(config(**SIZES))
    print(name, *logits(model))
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        print(name, "files", *sorted(path.name for path in Path(folder).iterdir()))
        with safe_open(Path(folder, "model.safetensors"), "pt") as file:
            keys = sorted(file.keys())
            read = kind.from_pretrained(folder)
            loaded = read.state_dict()
            print(name, "tensors", len(keys), all(torch.equal(file.get_tensor(key), loaded[key]) for key in keys))
            part = file.get_slice(keys[0])
            print(name, "slice", keys[0], part.get_shape(), part.get_dtype(), f"{part[1:3].sum().item():.5f}")
        print(name, "round trip", same(model, read), *logits(read))
        print(name, "bfloat16", *logits(kind.from_pretrained(folder, dtype=torch.bfloat16)))
        print(name, "auto", type(AutoModel.from_pretrained(folder)).__name__)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder, max_shard_size="20KB")
        index = json.loads(Path(folder, "model.safetensors.index.json").read_text())
        print(name, "shards", len(set(index["weight_map"].values())), same(model, kind.from_pretrained(folder)))
    with tempfile.TemporaryDirectory() as folder:
        model.config.save_pretrained(folder)
        torch.save(model.state_dict(), Path(folder, "pytorch_model.bin"))
        print(name, "bin", same(model, kind.from_pretrained(folder, use_safetensors=False)))

with tempfile.TemporaryDirectory() as folder:
    model.save_pretrained(folder)
    torch.manual_seed(1)
    larger = BertForSequenceClassification.from_pretrained(folder, num_labels=5, ignore_mismatched_sizes=True)
    print("new head", tuple(larger.classifier.weight.shape), f"{larger.classifier.weight.std().item():.5f}")
    model.resize_token_embeddings(120)
    print("resized", tuple(model.bert.embeddings.word_embeddings.weight.shape))

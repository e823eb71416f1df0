"""Data sets from CSV and from memory: mapped, filtered, shuffled, split, formatted as tensors, loaded in batches."""

# /// script
# dependencies = ["datasets==5.2.0"]
# ///

import tempfile
from pathlib import Path

import torch
from datasets import Dataset, DatasetDict, concatenate_datasets, disable_progress_bars, load_dataset, load_from_disk
from torch.utils.data import DataLoader

disable_progress_bars()
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "points.csv")
    path.write_text("x,y,label\n" + "".join(f"{i / 7:.4f},{i * i / 50:.4f},{i % 3}\n" for i in range(40)))
    loaded = load_dataset("csv", data_files=str(path), split="train", cache_dir=f"{folder}/cache")
    print(loaded.num_rows, loaded.column_names, loaded.features["x"].dtype)
    mapped = loaded.map(lambda row: {"features": [row["x"], row["y"]]}, remove_columns=["x", "y"])
    kept = mapped.filter(lambda row: row["label"] != 1).shuffle(seed=5).with_format("torch")
    print(len(kept), kept[0]["features"].dtype, kept[:3]["features"].sum().item(), kept[:5]["label"].tolist())
    parts = kept.train_test_split(test_size=0.25, seed=1)
    print({name: len(part) for name, part in parts.items()})
    torch.manual_seed(0)
    for batch in DataLoader(parts["train"], batch_size=8, shuffle=True):
        print(tuple(batch["features"].shape), f"{batch['features'].sum().item():.4f}", batch["label"].tolist())
    DatasetDict(parts).save_to_disk(f"{folder}/saved")
    print("read", load_from_disk(f"{folder}/saved")["test"].with_format("torch")["label"][:].tolist())
    stream = load_dataset("csv", data_files=str(path), split="train", streaming=True, cache_dir=f"{folder}/cache")
    print("streamed", [batch["label"].tolist() for batch in DataLoader(stream.with_format("torch"), batch_size=16)])

tensors = Dataset.from_dict({"image": torch.arange(24.0).reshape(2, 3, 4).numpy(), "name": ["a", "b"]}).with_format(
    "torch"
)
print(tuple(tensors[0]["image"].shape), tensors[1]["image"].sum().item(), tensors[:]["name"])
both = concatenate_datasets([tensors, tensors])
print(len(both), both[-1]["image"].mean().item())
generated = Dataset.from_generator(lambda: ({"value": i} for i in range(5)), cache_dir=tempfile.mkdtemp())
print(generated.with_format("torch")["value"][:].sum().item())

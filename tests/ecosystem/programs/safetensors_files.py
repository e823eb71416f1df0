"""safetensors: files of tensors of every dtype written, read whole, by name, in slices, and shared tensors."""

# /// script
# dependencies = ["safetensors==0.8.0"]
# ///

import tempfile
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load, load_file, load_model, save, save_file, save_model

DTYPES = [
    torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
    torch.uint8, torch.bool, torch.float8_e4m3fn, torch.float8_e5m2, torch.complex64,
]  # fmt: skip
torch.manual_seed(0)
tensors = {str(dtype): (torch.randn(4, 6) * 3).to(dtype) for dtype in DTYPES}
tensors["empty"], tensors["scalar"] = torch.empty(0, 3), torch.tensor(2.5)
tensors["turned"] = torch.arange(6.0).reshape(2, 3).t().contiguous()
with tempfile.TemporaryDirectory() as folder:
    path = str(Path(folder, "tensors.safetensors"))
    save_file(tensors, path, metadata={"format": "pt", "by": "a program"})
    read = load_file(path)
    for name in sorted(tensors):
        mine, theirs = tensors[name], read[name]
        same = (
            mine.dtype == theirs.dtype and torch.equal(mine.view(torch.uint8), theirs.view(torch.uint8))
            if (mine.dim())
            else torch.equal(mine, theirs)
        )
        print(name, theirs.dtype, tuple(theirs.shape), same)
    with safe_open(path, framework="pt", device="cpu") as file:
        print(sorted(file.metadata().items()), len(file.keys()))
        part = file.get_slice("torch.float32")
        print(part.get_shape(), part.get_dtype(), part[1:3, ::1][:, 2:].sum().item(), part[:2].shape, part[0].shape)
        print(file.get_tensor("scalar").item(), file.get_tensor("torch.int64")[0].tolist())
    data = save({"x": torch.arange(5)})
    print(len(data), load(data)["x"].tolist())
    layer = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 3))
    layer[1].weight = layer[0].weight  # one tensor with two names
    save_model(layer, path)
    other = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 3))
    other[1].weight = other[0].weight
    print(load_model(other, path), torch.equal(other[1].weight, layer[0].weight))
    try:
        save_file({"a": layer[0].weight, "b": layer[1].weight}, path)
    except RuntimeError as error:
        print("shared:", str(error).strip().splitlines()[0][:60])
    try:
        save_file({"a": torch.arange(6.0).reshape(2, 3).t()}, path)
    except ValueError as error:
        print("not contiguous:", "contiguous" in str(error))
    large = {f"layer{i}": torch.full((256, 256), float(i)) for i in range(8)}
    save_file(large, path)
    read = load_file(path)
    read["layer3"].add_(1)  # what is read is the program's own
    print(read["layer3"].mean().item(), load_file(path)["layer3"].mean().item())

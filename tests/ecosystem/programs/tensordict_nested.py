"""TensorDict: batches of entries of several lengths as nested tensors."""

# /// script
# dependencies = ["tensordict==0.15.3"]
# ///

import torch
from tensordict import LazyStackedTensorDict, TensorDict

entries = [TensorDict({"a": torch.arange(n * 2.0).reshape(n, 2)}, []) for n in (1, 3)]
stack = LazyStackedTensorDict(*entries)
found = stack.get("a", as_nested_tensor=True)
print(found.is_nested, found.layout, found.offsets().tolist(), found.sum(1).tolist())
print(stack.get("a", as_padded_tensor=True).shape)
dense = stack.densify(layout=torch.jagged)
print(dense["a"].values().tolist(), dense.shape)

ragged = torch.nested.nested_tensor([torch.ones(2), torch.zeros(3)], layout=torch.jagged)
entry = TensorDict({"x": ragged}, [2])
print(entry["x"].offsets().tolist(), entry.clone()["x"].values().tolist(), entry.to(torch.float64)["x"].dtype)
print([part["x"].tolist() for part in entry.unbind(0)])

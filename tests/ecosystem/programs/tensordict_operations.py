"""tensordict: indexing, stacking, modules, tensorclasses, memory-mapping and functional calls."""

# /// script
# dependencies = ["tensordict==0.15.3"]
# ///

import tempfile

import torch
from tensordict import MemoryMappedTensor, TensorDict, TensorDictParams, from_module, pad, tensorclass
from tensordict.nn import (
    InteractionType,
    ProbabilisticTensorDictModule,
    TensorDictModule,
    TensorDictSequential,
    set_interaction_type,
)

torch.manual_seed(0)
data = TensorDict({"a": torch.arange(12.0).reshape(4, 3), "nested": {"b": torch.ones(4, 2)}}, batch_size=[4])
print("shape", list(data.shape), sorted(str(k) for k in data.keys(True, True)))
print("index", data[1:3]["a"].sum().item(), data[torch.tensor([True, False, True, False])]["nested", "b"].shape[0])
print(
    "stack", list(torch.stack([data, data]).shape), list(torch.cat([data, data]).shape), list(data.reshape(2, 2).shape)
)
print("arithmetic", (data + 1)["nested", "b"].sum().item(), data.sum(dim=0)["a"].tolist())
print("apply", data.apply(lambda t: t * 2)["a"][0].tolist(), data.to(torch.float64)["a"].dtype == torch.float64)
data["c"] = torch.zeros(4)
data.rename_key_("c", "d")
del data["d"]
print("select", list(data.select("a").keys()), list(data.exclude("a").keys()), list(data.flatten_keys(".").keys()))
print("split", [list(each.shape) for each in data.split(3)], [list(each.shape) for each in data.unbind(0)][:1])
module = TensorDictModule(torch.nn.Linear(3, 2), in_keys=["a"], out_keys=["loc"])
scale = TensorDictModule(lambda x: x.exp(), in_keys=["loc"], out_keys=["scale"])
sampler = ProbabilisticTensorDictModule(
    in_keys=["loc", "scale"], out_keys=["sample"], distribution_class=torch.distributions.Normal, return_log_prob=True
)
chain = TensorDictSequential(module, scale, sampler)
with set_interaction_type(InteractionType.RANDOM):
    out = chain(data.clone())
print("chain", round(out["loc"].sum().item(), 4), round(out["sample"].sum().item(), 4), sorted(map(str, out.keys())))


@tensorclass
class Sample:
    image: torch.Tensor
    label: torch.Tensor


sample = Sample(image=torch.ones(3, 2, 2), label=torch.arange(3), batch_size=[3])
print("tensorclass", list(sample[1:].image.shape), sample[2].label.item(), torch.stack([sample, sample]).shape[0])
parameters = from_module(module)
print(
    "functional",
    sorted(map(str, parameters.keys(True, True))),
    len(TensorDictParams(parameters)._param_td.keys()),
)
with parameters.apply(lambda p: torch.zeros_like(p)).to_module(module):
    print("zeros", module(data.clone())["loc"].abs().sum().item())
print("mapped_over", list(torch.vmap(lambda td: td["a"].sum())(data).shape))
print("vmap", torch.vmap(lambda td: td.apply(lambda t: t * 2))(data)["a"].sum().item())
with tempfile.TemporaryDirectory() as folder:
    data.memmap(folder)
    print("memmap", TensorDict.load_memmap(folder)["nested", "b"].sum().item())
    mapped = MemoryMappedTensor.from_tensor(torch.arange(4), filename=f"{folder}/x.memmap")
    print("mapped", mapped.sum().item(), (mapped + 1).tolist())
print("pad", list(pad(data, [0, 2]).shape), (data == data).all(), data.is_empty())
print("state", sorted(data.state_dict())[:3], TensorDict.from_dict({"x": [1.0, 2.0]}).batch_size == torch.Size([]))
lazy = TensorDict.lazy_stack([TensorDict({"x": torch.ones(n)}, []) for n in (2, 3)])
print("lazy", list(lazy.shape), lazy[1]["x"].shape[0])

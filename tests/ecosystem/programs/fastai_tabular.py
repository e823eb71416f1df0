"""fastai: a tabular learner and an image learner on made data, one cycle, metrics, export."""

# /// script
# dependencies = ["fastai==2.8.12", "pandas==3.0.6"]
# ///

import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from fastai.tabular.all import (
    Categorify,
    CategoryBlock,
    FillMissing,
    Normalize,
    RMSProp,
    TabularDataLoaders,
    accuracy,
    load_learner,
    set_seed,
    tabular_learner,
)
from fastai.vision.all import DataBlock, ImageBlock, Learner, PILImageBW, RandomSplitter, nn, xresnet18

warnings.filterwarnings("ignore")
set_seed(0, reproducible=True)
rng = np.random.default_rng(0)
frame = pd.DataFrame(
    {"kind": rng.choice(["a", "b", "c"], 120), "size": rng.normal(size=120), "weight": rng.normal(size=120)}
)
frame["label"] = np.where(frame["size"] + (frame.kind == "a") > 0.2, "yes", "no")
loaders = TabularDataLoaders.from_df(
    frame,
    procs=[Categorify, FillMissing, Normalize],
    cat_names=["kind"],
    cont_names=["size", "weight"],
    y_names="label",
    y_block=CategoryBlock(),
    valid_idx=list(range(90, 120)),
    bs=16,
    num_workers=0,
)
set_seed(1)
learner = tabular_learner(loaders, layers=[16, 8], metrics=accuracy)
with learner.no_bar(), learner.no_logging():
    learner.fit_one_cycle(3, 1e-2)
for row in learner.recorder.values:
    print("epoch", [round(v, 4) for v in row])
predictions, targets = learner.get_preds()
print("predictions", [round(v, 4) for v in predictions[:3].flatten().tolist()])
with tempfile.TemporaryDirectory() as folder:
    learner.path = Path(folder)
    learner.export("model.pkl")
    again = load_learner(Path(folder) / "model.pkl")
    with again.no_bar():
        print("loaded", [round(v, 4) for v in again.predict(frame.iloc[0])[2].tolist()])
set_seed(2)
with torch.no_grad():
    print("xresnet", list(xresnet18(n_out=3).eval()(torch.randn(2, 3, 32, 32)).shape))
images = [torch.full((12, 12), float(i % 2)) * 200 + i for i in range(40)]
block = DataBlock(
    blocks=(ImageBlock(PILImageBW), CategoryBlock),
    get_items=lambda _: list(range(40)),
    splitter=RandomSplitter(0.25, seed=0),
    getters=[lambda i: PILImageBW.create(images[i].to(torch.uint8)), lambda i: i % 2],
)
vision = block.dataloaders(None, bs=10, num_workers=0)
set_seed(3)
net = nn.Sequential(nn.Flatten(), nn.Linear(144, 2))
small = Learner(vision, net, loss_func=nn.CrossEntropyLoss(), metrics=accuracy, opt_func=RMSProp)
with small.no_bar(), small.no_logging():
    small.fit(2, 1e-3)
print("vision", [round(v, 5) for v in small.recorder.values[-1]])

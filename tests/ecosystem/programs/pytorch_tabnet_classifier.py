"""TabNet: classifier, regressor, pretraining, explanations."""

# /// script
# dependencies = ["pytorch-tabnet==4.1.0", "pandas==3.0.6"]
# ///

import warnings

import numpy as np
import torch
from pytorch_tabnet.pretraining import TabNetPretrainer
from pytorch_tabnet.tab_model import TabNetClassifier, TabNetRegressor

warnings.filterwarnings("ignore")
rng = np.random.default_rng(0)
x = rng.normal(size=(128, 6)).astype(np.float32)
y = (x[:, 0] + x[:, 1] > 0).astype(np.int64)
options = {"n_d": 4, "n_a": 4, "n_steps": 2, "seed": 0, "verbose": 0, "device_name": "cpu"}
options |= {"optimizer_fn": torch.optim.SGD, "optimizer_params": {"lr": 0.02}}  # Adam's first steps enlarge rounding
fitting = {"max_epochs": 3, "batch_size": 32, "virtual_batch_size": 16, "num_workers": 0, "drop_last": False}
classifier = TabNetClassifier(**options)
classifier.fit(x[:96], y[:96], eval_set=[(x[96:], y[96:])], eval_metric=["auc", "logloss"], **fitting)
print("loss", [round(float(v), 4) for v in classifier.history["loss"]])
print("proba", classifier.predict_proba(x[:3]).round(5).tolist())
print("importance", classifier.feature_importances_.round(5).tolist())
explained, masks = classifier.explain(x[:4])
print("explained", round(float(explained.sum()), 5), len(masks))
regressor = TabNetRegressor(**options)
regressor.fit(x, (x[:, :1] * 2), **fitting)
print("regression", regressor.predict(x[:3]).round(5).flatten().tolist())
torch.manual_seed(0)
pretrainer = TabNetPretrainer(**options)
np.random.seed(0)
pretrainer.fit(x, max_epochs=2, batch_size=32, virtual_batch_size=16, num_workers=0, drop_last=False)
print("pretraining", [round(float(v), 5) for v in pretrainer.history["loss"]])

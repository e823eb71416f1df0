"""pytorch-forecasting: a temporal fusion transformer and N-BEATS trained by Lightning."""

# /// script
# dependencies = ["lightning==2.6.6", "pandas==3.0.6", "pytorch-forecasting==1.8.0"]
# ///

import logging
import warnings

import lightning.pytorch as pl
import numpy as np
import pandas as pd
import torch
from pytorch_forecasting import DeepAR, NBeats, TemporalFusionTransformer, TimeSeriesDataSet
from pytorch_forecasting.data import GroupNormalizer, NaNLabelEncoder
from pytorch_forecasting.metrics import MAE, SMAPE, QuantileLoss

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
pl.seed_everything(0, verbose=False)
frame = pd.concat(
    pd.DataFrame({"series": str(s), "time": range(40), "value": np.sin(np.arange(40) / 4 + s) + 2.0}) for s in range(3)
).reset_index(drop=True)
shared = {
    "time_idx": "time",
    "target": "value",
    "group_ids": ["series"],
    "max_encoder_length": 10,
    "max_prediction_length": 4,
    "time_varying_unknown_reals": ["value"],
}
dataset = TimeSeriesDataSet(
    frame,
    static_categoricals=["series"],
    time_varying_known_reals=["time"],
    target_normalizer=GroupNormalizer(groups=["series"]),
    categorical_encoders={"series": NaNLabelEncoder().fit(frame.series)},
    add_relative_time_idx=True,
    **shared,
)
plain = TimeSeriesDataSet(frame, **shared)
quiet = {
    "max_epochs": 1,
    "limit_train_batches": 3,
    "accelerator": "cpu",
    "logger": False,
    "enable_progress_bar": False,
    "enable_model_summary": False,
    "enable_checkpointing": False,
    "gradient_clip_val": 0.1,
}
for kind, data, options in (
    (
        TemporalFusionTransformer,
        dataset,
        {"hidden_size": 8, "attention_head_size": 1, "loss": QuantileLoss(), "dropout": 0.1},
    ),
    (NBeats, plain, {"widths": [16, 32], "learning_rate": 0.01}),
    (DeepAR, dataset, {"hidden_size": 8, "rnn_layers": 1}),
):
    pl.seed_everything(1, verbose=False)
    model = kind.from_dataset(data, **options)
    loader = data.to_dataloader(train=True, batch_size=16, num_workers=0)
    pl.Trainer(**quiet).fit(model, train_dataloaders=loader)
    model.eval()
    inputs, (target, _) = next(iter(data.to_dataloader(train=False, batch_size=4, num_workers=0)))
    with torch.no_grad():
        prediction = model(inputs)["prediction"]
    print(kind.__name__, list(prediction.shape), round(prediction.mean().item(), 5), round(target.mean().item(), 5))
print(
    "metrics",
    round(MAE()(torch.ones(2, 3), torch.zeros(2, 3)).item(), 5),
    round(SMAPE()(torch.ones(2, 3), torch.full((2, 3), 2.0)).item(), 5),
)

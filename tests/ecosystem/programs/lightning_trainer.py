"""Lightning: a Trainer with callbacks, checkpoints, a CSV log and a TensorBoard log."""

# /// script
# dependencies = ["lightning==2.6.6", "tensorboard==2.21.0"]
# ///

import csv
import glob
import logging
import tempfile
import warnings

import lightning as L
import torch
from lightning.pytorch.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Regressor(L.LightningModule):
    def __init__(self, width=16, lr=0.05):
        super().__init__()
        self.save_hyperparameters()
        self.layers = torch.nn.Sequential(torch.nn.Linear(4, width), torch.nn.Tanh(), torch.nn.Linear(width, 1))

    def forward(self, x):
        return self.layers(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = torch.nn.functional.mse_loss(self(x), y)
        self.log("train_loss", loss, on_step=True, on_epoch=True)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("val_loss", torch.nn.functional.mse_loss(self(x), y), prog_bar=True)

    def test_step(self, batch, batch_idx):
        x, y = batch
        self.log("test_loss", torch.nn.functional.mse_loss(self(x), y))

    def predict_step(self, batch, batch_idx):
        return self(batch[0])

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=self.hparams.lr)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)]


L.seed_everything(7, verbose=False)
x = torch.randn(128, 4)
y = (x * torch.tensor([1.0, -2.0, 0.5, 0.0])).sum(1, keepdim=True)
train = DataLoader(TensorDataset(x[:96], y[:96]), batch_size=16, shuffle=True)
val = DataLoader(TensorDataset(x[96:], y[96:]), batch_size=16)
with tempfile.TemporaryDirectory() as folder:
    checkpoint = ModelCheckpoint(dirpath=folder, monitor="val_loss", filename="best", save_last=True)
    trainer = L.Trainer(
        max_epochs=4,
        accelerator="cpu",
        logger=[CSVLogger(folder, name="csv"), TensorBoardLogger(folder, name="board")],
        callbacks=[checkpoint, EarlyStopping("val_loss", patience=3), LearningRateMonitor()],
        enable_progress_bar=False,
        enable_model_summary=False,
        log_every_n_steps=2,
        gradient_clip_val=1.0,
        accumulate_grad_batches=2,
    )
    model = Regressor()
    trainer.fit(model, train, val)
    print("steps", trainer.global_step, "epochs", trainer.current_epoch)
    for name in ("train_loss_epoch", "val_loss"):
        print(name, round(trainer.callback_metrics[name].item(), 5))
    print("best", round(checkpoint.best_model_score.item(), 5))
    print("test", round(trainer.test(model, val, verbose=False)[0]["test_loss"], 5))
    predicted = torch.cat(trainer.predict(model, val))
    print("predicted", [round(v, 4) for v in predicted[:4, 0].tolist()])
    loaded = Regressor.load_from_checkpoint(checkpoint.best_model_path)
    print("loaded", loaded.hparams.width, round(loaded(x[:1]).item(), 5))
    with open(glob.glob(f"{folder}/csv/version_0/metrics.csv")[0]) as file:
        rows = list(csv.DictReader(file))
    print("csv", len(rows), [round(float(r["val_loss"]), 4) for r in rows if r.get("val_loss")])
    resumed = L.Trainer(
        max_epochs=6,
        accelerator="cpu",
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
    )
    again = Regressor()
    resumed.fit(again, train, val, ckpt_path=checkpoint.last_model_path)
    print("resumed", resumed.current_epoch, round(resumed.callback_metrics["val_loss"].item(), 5))

"""Lightning: weight averaging, finetuning, manual optimization, a learning rate finder, DDP of one process."""

# /// script
# dependencies = ["lightning==2.6.6", "torchmetrics==1.9.0"]
# ///

import logging
import tempfile
import warnings

import lightning as L
import torch
import torchmetrics
from lightning.pytorch.callbacks import (
    BackboneFinetuning,
    DeviceStatsMonitor,
    GradientAccumulationScheduler,
    LambdaCallback,
    ModelSummary,
    RichModelSummary,
    StochasticWeightAveraging,
    Timer,
)
from lightning.pytorch.tuner import Tuner
from lightning.pytorch.utilities.model_summary import summarize
from torch.utils.data import DataLoader, TensorDataset, random_split

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
logging.getLogger("lightning.fabric").setLevel(logging.ERROR)
assert DeviceStatsMonitor and ModelSummary and RichModelSummary
folder = tempfile.TemporaryDirectory()
quiet = {
    "accelerator": "cpu",
    "logger": False,
    "enable_progress_bar": False,
    "enable_model_summary": False,
    "enable_checkpointing": False,
    "default_root_dir": folder.name,
}


class Data(L.LightningDataModule):
    def setup(self, stage):
        x = torch.randn(96, 4, generator=torch.Generator().manual_seed(0))
        whole = TensorDataset(x, (x[:, 0] > 0).long())
        self.train, self.val = random_split(whole, [64, 32], generator=torch.Generator().manual_seed(1))

    def train_dataloader(self):
        return DataLoader(self.train, batch_size=16, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.val, batch_size=16)


class Classifier(L.LightningModule):
    def __init__(self, lr=0.1):
        super().__init__()
        self.lr = lr
        self.backbone = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU())
        self.head = torch.nn.Linear(8, 2)
        self.accuracy = torchmetrics.Accuracy("multiclass", num_classes=2)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = torch.nn.functional.cross_entropy(self.head(self.backbone(x)), y)
        self.log("loss", loss, on_epoch=True, sync_dist=True)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.accuracy(self.head(self.backbone(x)), y)
        self.log("accuracy", self.accuracy, on_epoch=True)

    def configure_optimizers(self):
        trained = [p for p in self.parameters() if p.requires_grad]
        optimizer = torch.optim.SGD(trained, lr=self.lr)
        return {"optimizer": optimizer, "lr_scheduler": torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)}


def run(name, model, **options):
    L.seed_everything(5, verbose=False)
    trainer = L.Trainer(**{**quiet, "max_epochs": 3, **options})
    trainer.fit(model, datamodule=Data())
    found = {k: round(v.item(), 5) for k, v in sorted(trainer.callback_metrics.items())}
    print(name, found, round(sum(p.abs().sum().item() for p in model.parameters()), 4))
    return trainer


def fresh(kind=Classifier):
    L.seed_everything(4, verbose=False)
    return kind()


run("averaging", fresh(), callbacks=[StochasticWeightAveraging(0.05, swa_epoch_start=1), Timer("00:01:00:00")])
run("accumulation", fresh(), callbacks=[GradientAccumulationScheduler({0: 2, 1: 1})])
run("finetuning", fresh(), callbacks=[BackboneFinetuning(unfreeze_backbone_at_epoch=2, verbose=False)])
run("ddp", fresh(), strategy="ddp", devices=1)
run("bf16", fresh(), precision="bf16-mixed", max_epochs=1)
run("double", fresh(), precision="64-true", max_epochs=1)
run("fast_dev_run", fresh(), fast_dev_run=2)
run("limits", fresh(), limit_train_batches=0.5, limit_val_batches=1, val_check_interval=1, max_steps=5, max_epochs=-1)


class Manual(Classifier):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False

    def training_step(self, batch, batch_idx):
        first, second = self.optimizers()
        loss = super().training_step(batch, batch_idx)
        first.zero_grad()
        second.zero_grad()
        self.manual_backward(loss)
        self.clip_gradients(first, gradient_clip_val=0.5, gradient_clip_algorithm="norm")
        first.step()
        if batch_idx % 2:
            second.step()

    def configure_optimizers(self):
        return torch.optim.SGD(self.backbone.parameters(), lr=0.05), torch.optim.SGD(self.head.parameters(), lr=0.1)


run("manual", fresh(Manual), callbacks=[LambdaCallback(on_train_end=lambda trainer, module: print("ended"))])
model = fresh()
L.seed_everything(6, verbose=False)
trainer = L.Trainer(**quiet, max_epochs=1)
finder = Tuner(trainer).lr_find(model, datamodule=Data(), num_training=20, update_attr=False)
print("lr_find", len(finder.results["lr"]), [round(v, 4) for v in finder.results["loss"][:3]])
print("summary", summarize(model).total_parameters, summarize(model, max_depth=-1).layer_names)
folder.cleanup()

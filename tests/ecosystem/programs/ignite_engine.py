"""PyTorch-Ignite: trainer and evaluators with metrics, handlers and a checkpoint."""

# /// script
# dependencies = ["pytorch-ignite==0.5.5"]
# ///

import tempfile

import torch
from ignite.contrib.handlers import PiecewiseLinear
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import Checkpoint, DiskSaver, EarlyStopping, EMAHandler, TerminateOnNan, Timer
from ignite.metrics import (
    Accuracy,
    ConfusionMatrix,
    Fbeta,
    Loss,
    Precision,
    Recall,
    RunningAverage,
    TopKCategoricalAccuracy,
)
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
x = torch.randn(96, 6)
y = (x[:, :3].sum(1) > 0).long()
train = DataLoader(TensorDataset(x[:64], y[:64]), batch_size=16, shuffle=True)
val = DataLoader(TensorDataset(x[64:], y[64:]), batch_size=16)
model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
criterion = torch.nn.CrossEntropyLoss()
trainer = create_supervised_trainer(model, optimizer, criterion, device="cpu")
metrics = {
    "accuracy": Accuracy(),
    "loss": Loss(criterion),
    "precision": Precision(average=True),
    "recall": Recall(average=True),
    "confusion": ConfusionMatrix(2),
    "top1": TopKCategoricalAccuracy(1),
    "f1": Fbeta(1.0),
}
evaluator = create_supervised_evaluator(model, metrics=metrics, device="cpu")
RunningAverage(output_transform=lambda loss: loss).attach(trainer, "running")
trainer.add_event_handler(Events.ITERATION_COMPLETED, TerminateOnNan())
schedule = PiecewiseLinear(optimizer, "lr", milestones_values=[(0, 0.2), (12, 0.05)])
trainer.add_event_handler(Events.ITERATION_STARTED, schedule)
EMAHandler(model, momentum=0.1).attach(trainer, name="ema", event=Events.ITERATION_COMPLETED)
Timer(average=True).attach(trainer)


@trainer.on(Events.EPOCH_COMPLETED)
def evaluate(engine):
    evaluator.run(val)
    found = evaluator.state.metrics
    print("epoch", engine.state.epoch, "running", round(engine.state.metrics["running"], 5))
    for name in ("accuracy", "loss", "precision", "recall", "top1", "f1"):
        print(name, round(float(found[name]), 5))
    print("confusion", found["confusion"].flatten().tolist(), "lr", round(optimizer.param_groups[0]["lr"], 5))


stopping = EarlyStopping(patience=5, score_function=lambda e: -e.state.metrics["loss"], trainer=trainer)
evaluator.add_event_handler(Events.COMPLETED, stopping)
with tempfile.TemporaryDirectory() as folder:
    saver = Checkpoint({"model": model, "optimizer": optimizer, "trainer": trainer}, DiskSaver(folder), n_saved=1)
    trainer.add_event_handler(Events.EPOCH_COMPLETED, saver)
    trainer.run(train, max_epochs=3)
    loaded = torch.load(
        f"{folder}/{saver.last_checkpoint.name}"
        if hasattr(saver.last_checkpoint, "name")
        else f"{folder}/{saver.last_checkpoint}"
    )
    Checkpoint.load_objects({"model": model}, loaded)
    print("iteration", loaded["trainer"]["iteration"], round(model(x).abs().sum().item(), 5))

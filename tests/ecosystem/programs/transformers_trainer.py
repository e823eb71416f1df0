"""Trainer of transformers: losses, evaluation, a run that is resumed; schedules, accumulation, clipping."""

# /// script
# dependencies = ["transformers==5.23.0", "accelerate==1.15.0"]
# ///

import tempfile

import torch
import transformers
from torch.utils.data import Dataset
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    EarlyStoppingCallback,
    GPT2Config,
    GPT2LMHeadModel,
    PrinterCallback,
    Trainer,
    TrainingArguments,
)

transformers.logging.set_verbosity_error()


class Parity(Dataset):
    """Sequences of tokens; the label says whether the first is even."""

    def __init__(self, count, seed):
        self.ids = torch.randint(3, 50, (count, 8), generator=torch.Generator().manual_seed(seed))

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, index):
        return {"input_ids": self.ids[index], "labels": self.ids[index, 0] % 2}


def classifier():
    config = BertConfig(
        vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=40, num_labels=2
    )
    torch.manual_seed(0)
    return BertForSequenceClassification(config)


def accuracy(prediction):
    return {"accuracy": float((prediction.predictions.argmax(-1) == prediction.label_ids).mean())}


def arguments(folder, **changes):
    options = {
        "per_device_train_batch_size": 8,
        "per_device_eval_batch_size": 8,
        "learning_rate": 3e-3,
        "max_steps": 12,
        "logging_steps": 2,
        "eval_strategy": "steps",
        "eval_steps": 6,
        "save_steps": 6,
        "warmup_steps": 2,
        "report_to": [],
        "disable_tqdm": True,
        "use_cpu": True,
        "weight_decay": 0.01,
        "max_grad_norm": 0.5,
        "seed": 3,
    }
    return TrainingArguments(output_dir=folder, **{**options, **changes})


def report(label, trainer):
    for entry in trainer.state.log_history:
        numbers = {key: value for key, value in entry.items() if "runtime" not in key and "per_second" not in key}
        print(label, *(f"{key} {value:.5f}" for key, value in numbers.items() if key != "total_flos"))


def run(label, model, folder, resume=None, callbacks=None, collator=None, **changes):
    trainer = Trainer(
        model,
        arguments(folder, **changes),
        train_dataset=Parity(64, 1),
        eval_dataset=Parity(24, 2),
        compute_metrics=accuracy if collator is None else None,
        callbacks=callbacks,
        data_collator=collator,
    )
    trainer.remove_callback(PrinterCallback)  # it prints times
    trainer.train(resume_from_checkpoint=resume)
    report(label, trainer)
    return trainer


def sequences(examples):
    ids = torch.stack([example["input_ids"] for example in examples])
    return {"input_ids": ids, "labels": ids.clone()}


with tempfile.TemporaryDirectory() as folder:
    trainer = run("classifier", classifier(), folder)
    predicted = trainer.predict(Parity(5, 4))
    print(
        "predicted", *(f"{value:.4f}" for value in predicted.predictions.flatten()), predicted.metrics["test_accuracy"]
    )
    run("resumed", classifier(), folder, resume=f"{folder}/checkpoint-6")
with tempfile.TemporaryDirectory() as folder:
    run("accumulated", classifier(), folder, gradient_accumulation_steps=2, lr_scheduler_type="cosine", max_steps=6)
    run("sgd", classifier(), folder, optim="sgd", label_smoothing_factor=0.1, max_steps=6)
    run("adafactor", classifier(), folder, optim="adafactor", max_steps=6)
    run("bfloat16", classifier(), folder, bf16=True, max_steps=4)
    run("checkpointing", classifier(), folder, gradient_checkpointing=True, max_steps=4)
    stop = EarlyStoppingCallback(early_stopping_patience=1, early_stopping_threshold=1.0)
    best = {"load_best_model_at_end": True, "metric_for_best_model": "accuracy", "eval_steps": 2, "save_steps": 2}
    stopped = run("early stop", classifier(), folder, callbacks=[stop], **best)
    print("stopped at", stopped.state.global_step, f"{stopped.state.best_metric:.4f}")
    torch.manual_seed(0)
    lm = GPT2LMHeadModel(GPT2Config(vocab_size=50, n_embd=32, n_layer=2, n_head=4, n_positions=16))
    run("language model", lm, folder, collator=sequences, max_steps=6, save_strategy="no")

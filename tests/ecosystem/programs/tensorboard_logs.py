"""TensorBoard: a log written through the package tensorboard alone, and read back by it."""

# /// script
# dependencies = ["tensorboard==2.21.0", "matplotlib==3.11.2"]
# ///

import sys
import tempfile
from pathlib import Path

import torch
from matplotlib.figure import Figure
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import plugin_data_pb2

EVERYTHING = {"histograms": 0, "images": 0, "audio": 0, "scalars": 0, "tensors": 0}


def write(writer):
    for step in range(3):
        writer.add_scalar("train/loss", torch.tensor(1.0, requires_grad=True) / (step + 1), step)
        writer.add_scalars("both", {"train": torch.tensor(0.5) * step, "test": 0.7}, step)
    writer.add_histogram("weights", torch.linspace(-2, 2, 50), 1)
    writer.add_histogram("few", torch.tensor([1.0, 2.0, 2.0, 7.0]), 1, bins="auto")
    writer.add_histogram("at most", torch.linspace(-2, 2, 50), 1, max_bins=60)
    writer.add_histogram_raw("raw", 0.0, 3.0, 4, 6.0, 10.0, [1.0, 2.0, 3.0], [1, 1, 2], 1)
    writer.add_image("picture", torch.linspace(0, 1, 192).reshape(3, 8, 8), 1)
    writer.add_image("grey", torch.linspace(0, 1, 64).reshape(8, 8), 1, dataformats="HW")
    writer.add_image("bytes", torch.arange(192, dtype=torch.uint8).reshape(8, 8, 3), 1, dataformats="HWC")
    writer.add_images("pictures", torch.rand(10, 3, 8, 8), 1)
    writer.add_text("note", "**bold**", 3)
    writer.add_figure("figure", Figure(figsize=(1, 1), dpi=20), 1)
    writer.add_audio("sound", torch.linspace(-1, 1, 100), 1, sample_rate=100)
    writer.add_hparams(
        {"lr": 0.1, "optimizer": "sgd", "layers": torch.tensor([3.0])}, {"accuracy": 0.5}, run_name="run"
    )


def read(folder):
    log = EventAccumulator(str(folder), EVERYTHING).Reload()
    tags = log.Tags()
    for tag in sorted(tags["scalars"]):
        print(tag, [(each.step, each.value) for each in log.Scalars(tag)])
    for tag in sorted(tags["histograms"]):
        found = log.Histograms(tag)[0].histogram_value
        print(tag, found.min, found.max, found.num, found.sum, found.sum_squares)
        print(tag, found.bucket_limit[:3], found.bucket_limit[-3:], found.bucket[:5], len(found.bucket))
    for tag in sorted(tags["images"]):
        for each in log.Images(tag):
            print(tag, each.step, each.width, each.height)
    for tag in sorted(tags["audio"]):
        for each in log.Audio(tag):
            print(tag, each.sample_rate, each.length_frames, each.encoded_audio_string[-20:].hex())
    for tag in sorted(tags["tensors"]):
        print(tag, [(each.step, each.tensor_proto.string_val[0]) for each in log.Tensors(tag)])
    for tag, content in sorted(log.PluginTagToContent("hparams").items() if "run" in str(folder) else []):
        data = plugin_data_pb2.HParamsPluginData.FromString(content)
        data.session_start_info.start_time_secs = 0
        print(tag, [(each.name, each.type) for each in data.experiment.hparam_infos], data.session_end_info.status)
        print(tag, sorted(data.session_start_info.hparams), [m.name.tag for m in data.experiment.metric_infos])


sys.modules["tensorboardX"] = None  # PyTorch writes without it
with tempfile.TemporaryDirectory() as place:
    from torch.utils.tensorboard import SummaryWriter

    torch.manual_seed(0)
    with SummaryWriter(place, comment="none") as writer:
        write(writer)
    folders = sorted({path.parent for path in Path(place).rglob("*tfevents*")})
    for folder in folders:
        print("folder", folder.relative_to(place))
        read(folder)

"""Plain pickles of PyTorch's objects, read under its names, and of weft's classes, read by PyTorch."""

import pickle
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

VALUES = {
    "transposed": lambda: torch.arange(6.0).reshape(2, 3).t(),
    "leaf": lambda: torch.ones(2, requires_grad=True),
    "bfloat16": lambda: torch.ones(2).bfloat16(),
    "conjugated": lambda: torch.ones(2, dtype=torch.complex64).conj(),
    "parameter": lambda: torch.nn.Parameter(torch.arange(3.0), requires_grad=False),
    "module": lambda: torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2), torch.nn.LSTM(2, 3)),
    "optimizer": lambda: torch.optim.AdamW([torch.ones(2, requires_grad=True)], 0.5),
    "named result": lambda: torch.arange(4.0).max(0),
    "dtype": lambda: torch.float16,
    "size": lambda: torch.Size([2, 3]),
    "device": lambda: torch.device("cpu"),
    "distribution": lambda: torch.distributions.Normal(0.0, 1.0),
}


@pytest.mark.parametrize("name", VALUES)
def test_a_pickle_of_pytorchs_is_read_under_its_names(name, tmp_path):
    value = VALUES[name]()
    (tmp_path / "value.pkl").write_bytes(pickle.dumps(value))
    code = "import pickle, sys; value = pickle.load(open(sys.argv[1], 'rb')); print(value)"
    command = [sys.executable, "-m", "weft", "run", "-c", code, str(tmp_path / "value.pkl")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert " ".join(done.stdout.split()) == " ".join(str(value).split())


CLASSES = """
nn.Linear nn.Conv2d nn.BatchNorm2d nn.InstanceNorm1d nn.LayerNorm nn.LSTM nn.MultiheadAttention nn.TransformerEncoder
nn.Embedding nn.CrossEntropyLoss nn.MaxPool2d nn.AdaptiveAvgPool2d nn.Upsample nn.PixelShuffle nn.ChannelShuffle
nn.Flatten nn.LazyLinear nn.LazyConv2d nn.LazyBatchNorm1d nn.ModuleList nn.Sequential nn.Dropout nn.ReLU nn.Softmax
nn.ZeroPad2d nn.CosineSimilarity nn.Parameter nn.Module optim.SGD optim.Adam optim.AdamW optim.LBFGS
optim.lr_scheduler.StepLR optim.swa_utils.AveragedModel utils.data.DataLoader utils.data.TensorDataset
utils.data.RandomSampler distributions.Normal distributions.transforms.ExpTransform Tensor Size device dtype float32
nn.functional.relu nn.functional.cross_entropy nn.init.zeros_ nn.utils.clip_grad_norm_ autograd.Function
amp.GradScaler Generator OutOfMemoryError masked.MaskedTensor nested.nested_tensor nn.DataParallel optim.Adafactor
nn.utils.spectral_norm distributions.ExponentialFamily is_storage nn.LinearCrossEntropyOptions
""".split()


def test_names_of_classes_and_functions_in_pickles_are_pytorchs(tmp_path):
    code = (
        "import operator, pickle, sys, torch; names = sys.argv[2].split(); "
        "values = {name: pickle.dumps(operator.attrgetter(name)(torch)) for name in names}; "
        "open(sys.argv[1], 'wb').write(pickle.dumps(values))"
    )
    command = [sys.executable, "-m", "weft", "run", "-c", code, str(tmp_path / "names.pkl"), " ".join(CLASSES)]
    subprocess.run(command, check=True)
    for name, pickled in pickle.loads((tmp_path / "names.pkl").read_bytes()).items():
        found = torch
        for part in name.split("."):
            found = getattr(found, part)
        assert pickle.loads(pickled) is found, name

"""Models of transformers saved by one framework and read by the other: parameters to the bit, and logits.

The process that the runner starts writes; the other framework reads, in a process of its own. So in one run PyTorch
reads what weft wrote, in the other weft what PyTorch wrote.
"""

# /// script
# dependencies = ["transformers==5.23.0", "safetensors==0.8.0"]
# [tool.ecosystem]
# tolerance = 1e-4
# ///

import hashlib
import json
import os
import runpy
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import torch
import transformers
from safetensors import safe_open

warnings.simplefilter("ignore")
transformers.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
TINY = runpy.run_path(str(Path(__file__).with_name("transformers_architectures.py")))
MODELS = {
    name: (*described, inputs) for family, inputs in TINY["FAMILIES"] for name, described in family.items()
}  # name: class, configuration, a function that makes inputs


def digest(tensor):
    values = tensor.detach().contiguous().numpy()
    return f"{tensor.dtype} {list(tensor.shape)} {hashlib.sha256(values.tobytes()).hexdigest()}"


def digests(model):
    return {key: digest(tensor) for key, tensor in model.state_dict().items()}


def show(name, model, inputs):
    with torch.no_grad():
        output = model.eval()(**inputs)
    floating = [value for value in output.to_tuple() if isinstance(value, torch.Tensor) and value.is_floating_point()]
    logits = max(floating[:3], key=torch.Tensor.numel).double().flatten()
    places = torch.linspace(0, len(logits) - 1, 6).long()
    print(name, len(logits), *(f"{value:.6f}" for value in [logits.mean(), logits.std(), *logits[places]]), flush=True)


def write(folder):
    for name, (architecture, config, make) in MODELS.items():
        torch.manual_seed(0)
        model = getattr(transformers, architecture)(transformers.AutoConfig.for_model(name, **config))
        inputs = make(model)
        model.save_pretrained(folder / name)
        torch.save(inputs, folder / name / "inputs.pt")
        (folder / name / "digests.json").write_text(json.dumps(digests(model)))
        show(f"written {name}", model, inputs)


def read(folder, writer):
    print("another framework reads:", torch.__file__ != writer)
    for name, (architecture, _, _) in MODELS.items():
        model, found = getattr(transformers, architecture).from_pretrained(folder / name, output_loading_info=True)
        wrong = [key for kind in ("missing_keys", "unexpected_keys", "mismatched_keys") for key in found[kind]]
        same = digests(model) == json.loads((folder / name / "digests.json").read_text())
        state = model.state_dict()
        with safe_open(folder / name / "model.safetensors", "pt") as file:
            common = sorted(state.keys() & set(file.keys()))
            exact = all(digest(file.get_tensor(key)) == digest(state[key]) for key in common)
        print(name, "parameters", len(state), same, "the file's", len(common), exact, "wrong keys", wrong)
        show(f"read {name}", model, torch.load(folder / name / "inputs.pt"))


if len(sys.argv) > 1:
    read(Path(sys.argv[1]), sys.argv[2])
else:
    others = {key: value for key, value in os.environ.items() if key != "WEFT_AS_TORCH"}
    if "WEFT_AS_TORCH" not in os.environ:
        others["WEFT_AS_TORCH"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder))
        sys.stdout.flush()
        subprocess.run([sys.executable, "-P", __file__, folder, torch.__file__], env=others, check=True)

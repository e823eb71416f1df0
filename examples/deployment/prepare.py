"""Make what the examples of deployment load: a reader of handwritten digits, in each form.

    python prepare.py --out served                            trains for some seconds
    python prepare.py --out served --checkpoint runs/digits/checkpoint.pt    a model of examples/digits.py

In the folder --out it leaves
    digits.pt2          an exported program, for weft.serve
    digits.onnx         for onnxruntime: servers, browsers, phones
    digits.int8.onnx    the same with weights and activations of 8 bits
    digits/             the same as Python that needs NumPy alone
    reference.json      some pictures, and what the model makes of them
"""

import argparse
import json
import sys
from pathlib import Path

import weft
from weft import nn
from weft.ao.quantization import convert, fuse_modules, get_default_qconfig, prepare
from weft.export import Dim, export

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))


class Reader(nn.Module):
    """Pictures with pixels from 0 to 1, (N, 1, 8, 8), to logits, (N, 10)."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, pixels):
        return self.network((pixels - 0.305) / 0.376)


def train(epochs, checkpoint):
    """The network of examples/digits.py, and pictures as it wants them: those of training, and those of the test."""
    import digits

    arguments = argparse.Namespace(seed=1, device="cpu", lr=2e-3, epochs=epochs, show_steps=0)
    training = digits.Training(arguments)
    pictures, test = digits.load_digits(train=True), digits.load_digits(train=False)
    if checkpoint is not None:
        training.load(checkpoint)
        return training.model.eval(), pictures, test
    loader = digits.data.DataLoader(pictures, batch_size=32, shuffle=True, generator=training.shuffle)
    for _ in range(epochs):
        digits.train_epoch(training, loader, arguments)
    return training.model.eval(), pictures, test


def quantized(network, pictures):
    """The network with weights and activations of 8 bits, calibrated with some hundred pictures."""
    fused = fuse_modules(network, [["0", "1"], ["3", "4"]])  # convolutions with their batch norms
    fused.qconfig = get_default_qconfig()
    observed = prepare(fused)
    with weft.no_grad():
        observed(pictures[:300])
    return convert(observed)


@weft.no_grad()
def accuracy(network, test):
    """The share of the test pictures that are read correctly, in per cent."""
    pictures, classes = test.tensors
    return 100 * (network(pictures).argmax(1) == classes).float().mean().item()


def main():
    summary, _, detail = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=detail, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("served"), help="folder (default: %(default)s)")
    parser.add_argument("--checkpoint", type=Path, help="of examples/digits.py; without it, train here")
    parser.add_argument("--epochs", type=int, default=3, help="of training (default: 3)")
    arguments = parser.parse_args()
    sys.argv[1:] = []  # examples/digits.py reads its own
    arguments.out.mkdir(parents=True, exist_ok=True)

    network, pictures, test = train(arguments.epochs, arguments.checkpoint)
    integers = quantized(network, pictures.tensors[0])
    print(f"reads {accuracy(network, test):.2f} % of the test pictures, with 8 bits {accuracy(integers, test):.2f} %")
    model, small = Reader(network), Reader(integers)
    pixels = (pictures.tensors[0][:4] * 0.376 + 0.305).contiguous()
    batch = {"pixels": {0: Dim("batch", max=1024)}}

    program = export(model, (pixels,), dynamic_shapes=batch)
    weft.export.save(program, arguments.out / "digits.pt2")
    program.to_python(arguments.out / "digits")
    names = {"input_names": ["pixels"], "output_names": ["logits"], "dynamic_shapes": batch}
    weft.onnx.export(model, (pixels,), arguments.out / "digits.onnx", **names)
    weft.onnx.export(small, (pixels,), arguments.out / "digits.int8.onnx", **names)
    with weft.no_grad():
        logits = model(pixels)
    reference = {"pixels": pixels.flatten().tolist(), "shape": list(pixels.shape), "logits": logits.flatten().tolist()}
    (arguments.out / "reference.json").write_text(json.dumps(reference), encoding="utf-8")
    for path in sorted(arguments.out.rglob("*")):
        print(f"{path.stat().st_size:>9,} bytes  {path}")


if __name__ == "__main__":
    main()

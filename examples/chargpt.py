"""Train a small GPT, letter by letter, on the English of Python's own manual, then let it write.

    python chargpt.py                        train with weft for two or three minutes, then print a sample
    python chargpt.py --framework torch      the same program with PyTorch in weft's place: the same numbers
    python chargpt.py --steps 3000 --resume  go on from the checkpoint of the last run

The text is what `help("for")` and its like print: the module pydoc_data.topics, which comes with Python. In the folder
--out the program leaves
    checkpoint.pt  model, optimizer, schedule, step and random state; weft and PyTorch both load it
    history.json   training loss of every step, validation loss now and then
    curve.png      the two, drawn (needs matplotlib)
    sample.txt     what the model wrote
"""

import argparse
import importlib
import json
import math
import time
from pathlib import Path
from pydoc_data.topics import topics

from tqdm import tqdm

from weft.text import CharTokenizer, LanguageModelDataset, generate

# Everything that computes comes from the framework chosen here; below, `torch` means weft or PyTorch alike.
choice = argparse.ArgumentParser(add_help=False)
choice.add_argument("--framework", choices=("weft", "torch"), default="weft", help="what computes (default: weft)")
torch = importlib.import_module(choice.parse_known_args()[0].framework)
nn, data = importlib.import_module(f"{torch.__name__}.nn"), importlib.import_module(f"{torch.__name__}.utils.data")
F = nn.functional


def parse_arguments():
    summary, _, detail = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=detail, parents=[choice], formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("runs/chargpt"), help="folder of results (%(default)s)")
    parser.add_argument("--steps", type=int, default=1500, help="training steps in all (default: %(default)s)")
    parser.add_argument("--stop-after", type=int, metavar="N", help="end earlier, after step N; --resume goes on")
    parser.add_argument("--batch-size", type=int, default=16, help="blocks in one step (default: %(default)s)")
    parser.add_argument("--block-size", type=int, default=64, help="letters the model sees (default: %(default)s)")
    parser.add_argument("--width", type=int, default=128, help="of the embedding (default: %(default)s)")
    parser.add_argument("--layers", type=int, default=3, help="transformer blocks (default: %(default)s)")
    parser.add_argument("--heads", type=int, default=4, help="of the attention (default: %(default)s)")
    parser.add_argument("--lr", type=float, default=3e-3, help="AdamW's greatest learning rate (default: %(default)s)")
    parser.add_argument("--eval-every", type=int, default=100, help="steps between validations (default: %(default)s)")
    parser.add_argument("--prompt", default="The ", help="what the sample begins with (default: %(default)r)")
    parser.add_argument("--length", type=int, default=600, help="letters to write at the end (default: %(default)s)")
    parser.add_argument("--temperature", type=float, default=0.8, help="0 always writes the likeliest letter (0.8)")
    parser.add_argument("--seed", type=int, default=1, help="of weights, batches and sample (default: %(default)s)")
    parser.add_argument("--device", default="cpu", help="cpu, cuda, ... (default: cpu)")
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint in --out")
    parser.add_argument("--show-steps", type=int, default=0, metavar="N", help="print the loss of the first N steps")
    arguments = parser.parse_args()
    if arguments.width % arguments.heads:
        parser.error(f"--width ({arguments.width}) must be a multiple of --heads ({arguments.heads})")
    return arguments


class Attention(nn.Module):
    """Each place looks at itself and at the places before it."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query_key_value = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        split = self.query_key_value(x).reshape(batch, length, 3, self.heads, width // self.heads)
        query, key, value = split.permute(2, 0, 3, 1, 4).unbind(0)  # each (batch, heads, length, width / heads)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.output(mixed.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.before_attention = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.before_mlp = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.before_attention(x))
        return x + self.mlp(self.before_mlp(x))


class GPT(nn.Module):
    """Letters of shape (batch, length) to logits of the letter after each, (batch, length, vocabulary)."""

    def __init__(self, vocabulary, block_size, width, layers, heads):
        super().__init__()
        self.letters = nn.Embedding(vocabulary, width)
        self.places = nn.Embedding(block_size, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.apply(self.initialize)

    @staticmethod
    def initialize(module):
        """Small weights, as in GPT-2: the first guess is then nearly uniform."""
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, tokens):
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.blocks(self.letters(tokens) + self.places(places))
        return self.head(self.norm(x))


class Training:
    """All that changes while a model is trained: what a checkpoint holds."""

    def __init__(self, arguments, vocabulary):
        torch.manual_seed(arguments.seed)
        shape = (arguments.block_size, arguments.width, arguments.layers, arguments.heads)
        self.model = GPT(vocabulary, *shape).to(arguments.device)
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=arguments.lr, betas=(0.9, 0.95), weight_decay=0.1
        )
        self.schedule = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer, lambda step: warm_up_then_cosine(step, arguments.steps)
        )
        self.batches = torch.Generator().manual_seed(arguments.seed)
        self.step = 0
        self.history = {"loss": [], "validation": []}  # the second: [step, loss]

    def save(self, path):
        state = {part: getattr(self, part).state_dict() for part in ("model", "optimizer", "schedule")}
        random = {"default": torch.get_rng_state(), "batches": self.batches.get_state()}
        torch.save({**state, "random": random, "step": self.step, "history": self.history}, path)

    def load(self, path):
        checkpoint = torch.load(path)
        for part in ("model", "optimizer", "schedule"):
            getattr(self, part).load_state_dict(checkpoint[part])
        torch.set_rng_state(checkpoint["random"]["default"])
        self.batches.set_state(checkpoint["random"]["batches"])
        self.step, self.history = checkpoint["step"], checkpoint["history"]


def warm_up_then_cosine(step, steps, least=0.05):
    """The share of the greatest learning rate: up over the first twentieth, then down along half a cosine."""
    warm_up = max(steps // 20, 1)
    if step < warm_up:
        return (step + 1) / warm_up
    return least + (1 - least) * (1 + math.cos(math.pi * min((step - warm_up) / max(steps - warm_up, 1), 1))) / 2


def load_text():
    """The tokenizer of the manual's letters, and its text as two rows of numbers: nine tenths to learn, one to test."""
    text = "\n\n".join(topics[name] for name in sorted(topics))
    tokenizer = CharTokenizer(text)
    tokens = torch.tensor(tokenizer.encode(text))
    border = len(tokens) * 9 // 10
    return tokenizer, tokens[:border], tokens[border:]


def random_blocks(tokens, arguments, generator):
    """A batch of blocks from random places, and the same blocks one letter further on."""
    starts = torch.randint(len(tokens) - arguments.block_size, (arguments.batch_size,), generator=generator)
    blocks = tokens[starts[:, None] + torch.arange(arguments.block_size + 1)].to(arguments.device)
    return blocks[:, :-1], blocks[:, 1:]


def cross_entropy(model, x, y):
    logits = model(x)
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), y.reshape(-1))


@torch.no_grad()
def validate(model, tokens, arguments, batches=10):
    """The mean loss over the first blocks of the validation text."""
    model.eval()
    blocks = data.DataLoader(LanguageModelDataset(tokens, arguments.block_size), 4 * arguments.batch_size)
    losses = [
        cross_entropy(model, x.to(arguments.device), y.to(arguments.device)).item()
        for (x, y), _ in zip(blocks, range(batches))
    ]
    model.train()
    return sum(losses) / len(losses)


def train_step(training, tokens, arguments):
    x, y = random_blocks(tokens, arguments, training.batches)
    loss = cross_entropy(training.model, x, y)
    training.optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(training.model.parameters(), 1.0)
    training.optimizer.step()
    training.schedule.step()
    training.step += 1
    training.history["loss"].append(loss.item())
    return training.history["loss"][-1]


def train(training, learn, test, arguments, checkpoint):
    """Train up to ``arguments.steps``; at each validation, and when interrupted, the checkpoint is written."""
    last = min(arguments.steps, arguments.stop_after or arguments.steps)
    bar = tqdm(
        total=arguments.steps,
        initial=training.step,
        leave=False,
        disable=None,
        bar_format="{desc}  {bar:30} {n_fmt}/{total_fmt}",
    )
    began = time.perf_counter()
    try:
        while training.step < last:
            loss = train_step(training, learn, arguments)
            bar.set_description_str(f"loss {loss:.4f}", refresh=False)
            bar.update()
            if training.step <= arguments.show_steps:
                bar.write(f"step {training.step:>4}  loss {loss:.6f}")
            if training.step % arguments.eval_every == 0 or training.step == last:
                validation = validate(training.model, test, arguments)
                training.history["validation"].append([training.step, validation])
                training.save(checkpoint)
                recent = training.history["loss"][-arguments.eval_every :]
                bar.write(
                    f"step {training.step:>5}/{arguments.steps}  loss {sum(recent) / len(recent):.4f}  "
                    f"validation {validation:.4f}  {time.perf_counter() - began:6.1f} s"
                )
    except KeyboardInterrupt:
        training.save(checkpoint)
        raise SystemExit(f"\ninterrupted after step {training.step}; --resume goes on from {checkpoint}") from None
    finally:
        bar.close()


def draw_curve(history, path):
    """Both losses over the steps, as a picture; says how to get matplotlib where it is missing."""
    try:
        import matplotlib
    except ModuleNotFoundError:
        print("no loss curve: it is drawn by matplotlib: pip install matplotlib")
        return
    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 4.5), layout="constrained")
    axes.plot(range(1, len(history["loss"]) + 1), history["loss"], linewidth=0.6, label="training")
    axes.plot(*zip(*history["validation"]), marker=".", label="validation")
    axes.set(xlabel="step", ylabel="cross-entropy of a letter (nats)", title="a small GPT on Python's manual")
    axes.legend()
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
    print(f"loss curve   {path}")


def write_sample(model, tokenizer, arguments):
    """Let the model go on from the prompt; print what it writes, and keep it."""
    model.eval()
    prompt = torch.tensor(tokenizer.encode(arguments.prompt), device=arguments.device)
    with torch.no_grad():
        tokens = generate(
            model,
            prompt,
            arguments.length,
            temperature=arguments.temperature,
            block_size=arguments.block_size,
            generator=torch.Generator(arguments.device).manual_seed(arguments.seed),
        )
    sample = tokenizer.decode(tokens.tolist())
    print("\n" + "\n".join("  │ " + line for line in sample.splitlines()) + "\n")
    (arguments.out / "sample.txt").write_text(sample, encoding="utf-8")
    print(f"sample       {arguments.out / 'sample.txt'}")


def main():
    arguments = parse_arguments()
    arguments.out.mkdir(parents=True, exist_ok=True)
    checkpoint = arguments.out / "checkpoint.pt"
    if arguments.resume and not checkpoint.exists():
        raise SystemExit(f"--resume: there is no {checkpoint}; run once without --resume, or give the run's --out")
    print(f"a small GPT · {torch.__name__} {torch.__version__} · {arguments.device} · seed {arguments.seed}")
    tokenizer, learn, test = load_text()
    unknown = set(arguments.prompt) - set(tokenizer.vocab.get_itos())
    if unknown or not arguments.prompt:
        raise SystemExit(f"--prompt: must be letters of the manual, which has no {unknown or 'empty prompt'}")
    training = Training(arguments, len(tokenizer))
    if arguments.resume:
        training.load(checkpoint)
        print(f"resumed from {checkpoint} after step {training.step}")
    count = sum(parameter.numel() for parameter in training.model.parameters())
    print(f"{len(learn):,} letters to learn from, {len(test):,} to validate; {len(tokenizer)} different")
    print(f"{count:,} parameters; a guess without learning costs {math.log(len(tokenizer)):.2f} nats\n")
    train(training, learn, test, arguments, checkpoint)
    (arguments.out / "history.json").write_text(json.dumps(training.history), encoding="utf-8")
    write_sample(training.model, tokenizer, arguments)
    draw_curve(training.history, arguments.out / "curve.png")
    print(f"checkpoint   {checkpoint}")


if __name__ == "__main__":
    main()

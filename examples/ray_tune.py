"""Search for a learning rate and a width with Ray Tune, each trial trained by weft.

    pip install "weft-distributed[ray]"
    python examples/ray_tune.py --trials 4

Every trial reports its loss after each epoch, and what does badly is stopped early.
"""

import argparse
from pathlib import Path

import weft
from weft import nn
from weft.nn import functional as F


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=8, help="combinations to try (default: 8)")
    parser.add_argument("--epochs", type=int, default=8, help="of each trial, if it is not stopped (default: 8)")
    parser.add_argument("--cpus", type=int, default=2, help="trials at the same time (default: 2)")
    parser.add_argument("--out", type=Path, default=Path("runs/ray_tune"), help="for Ray's records of the trials")
    return parser.parse_args()


def spirals(count, seed):
    """Points of two spirals that are wound into each other, and which of them they are of."""
    generator = weft.Generator().manual_seed(seed)
    which = weft.randint(0, 2, (count,), generator=generator)
    along = weft.rand(count, generator=generator).sqrt() * 3 * weft.pi
    angle = along + which * weft.pi
    points = weft.stack([along * weft.cos(angle), along * weft.sin(angle)], 1) / (3 * weft.pi)
    return points + 0.02 * weft.randn(count, 2, generator=generator), which


def trial(config):
    """Train one combination, and report the loss on points that it has not seen."""
    from ray import tune

    weft.set_num_threads(1)  # a core a trial
    weft.manual_seed(0)
    points, which = spirals(1000, seed=1)
    unseen, wanted = spirals(500, seed=2)
    model = nn.Sequential(
        nn.Linear(2, config["width"]), nn.Tanh(), nn.Linear(config["width"], config["width"]), nn.Tanh()
    )
    model.append(nn.Linear(config["width"], 2))
    optimizer = weft.optim.AdamW(model.parameters(), lr=config["lr"])
    for _ in range(config["epochs"]):
        for rows in weft.randperm(len(points)).split(50):
            optimizer.zero_grad()
            F.cross_entropy(model(points[rows]), which[rows]).backward()
            optimizer.step()
        with weft.no_grad():
            scores = model(unseen)
        accuracy = (scores.argmax(1) == wanted).float().mean().item()
        tune.report({"loss": F.cross_entropy(scores, wanted).item(), "accuracy": accuracy})


def main():
    options = parse_arguments()
    import ray
    from ray import tune
    from ray.tune.schedulers import ASHAScheduler

    ray.init(num_cpus=options.cpus, include_dashboard=False, log_to_driver=False, configure_logging=False)
    space = {"lr": tune.loguniform(1e-4, 1e-1), "width": tune.choice([8, 16, 32, 64]), "epochs": options.epochs}
    tuner = tune.Tuner(
        trial,
        param_space=space,
        tune_config=tune.TuneConfig(
            metric="loss", mode="min", num_samples=options.trials, scheduler=ASHAScheduler(max_t=options.epochs)
        ),
        run_config=tune.RunConfig(storage_path=str(options.out.resolve()), verbose=0),
    )
    best = tuner.fit().get_best_result()
    lr, width = best.config["lr"], best.config["width"]
    print(f"best of {options.trials}: lr {lr:.1e}, width {width}, accuracy {best.metrics['accuracy']:.1%}")
    ray.shutdown()


if __name__ == "__main__":
    main()

"""Lanes: model-steps per second against PyTorch (eager, vmap) and scikit-learn, and the paper's bags on one core."""

import gzip
import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

from benchmarks import levels
from benchmarks.harness import Line, interleaved_best, report
from steadyset import _native, lanes

FASHION = Path(os.environ.get("FASHION_MNIST", "/usr/share/datasets/fashion-mnist"))
PAPER: dict[str, Any] = {
    "epochs": 5,
    "batch_size": 4,
    "learning_rate": 0.001,
    "momentum": 0.9,
    "scale": "minus_one_one",
}
MLP = (lanes.Linear(128), lanes.ReLU(), lanes.Linear())


def images(part: str) -> tuple[np.ndarray, np.ndarray]:
    with gzip.open(FASHION / f"{part}-images-idx3-ubyte.gz") as file:
        x = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 28, 28)
    with gzip.open(FASHION / f"{part}-labels-idx1-ubyte.gz") as file:
        return x, np.frombuffer(file.read(), np.uint8, offset=8).astype(np.int64)


@contextmanager
def cores(count: int) -> Iterator[None]:
    """Keep the process, and PyTorch's threads, on that many cores."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[-count:])
    torch.set_num_threads(count)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def module(layers: Any, x: torch.Tensor, n_classes: int) -> torch.nn.Module:
    """A fresh network with PyTorch's own initial weights."""
    from steadyset.lanes._architecture import architecture
    from steadyset.lanes._torch import sequential

    planned = architecture(layers, tuple(x.shape[1:]), n_classes)
    net = sequential(tuple(layers), planned.parameters, planned.network().initial(0)[0])
    for layer in net:
        if hasattr(layer, "reset_parameters"):
            layer.reset_parameters()
    return net.train()


def eager(net: torch.nn.Module, x: torch.Tensor, y: torch.Tensor, batch: int, rate: float, steps: int) -> None:
    optimizer = torch.optim.SGD(net.parameters(), rate, momentum=0.9)
    for step in range(steps):
        rows = slice(step * batch % len(x), step * batch % len(x) + batch)
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(x[rows]), y[rows]).backward()
        optimizer.step()


def vmapped(
    nets: list[torch.nn.Module], x: torch.Tensor, y: torch.Tensor
) -> tuple[dict[str, torch.Tensor], Callable[[torch.Tensor], None]]:
    """The weights of many models, and a step of SGD with momentum for all of them, each on its own rows of x."""
    net = nets[0]
    named = [dict(each.named_parameters()) for each in nets]
    state = {k: torch.stack([parameters[k].detach().clone() for parameters in named]) for k in named[0]}
    velocity = {k: torch.zeros_like(v) for k, v in state.items()}

    def loss(parameters: dict[str, torch.Tensor], rows: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.cross_entropy(torch.func.functional_call(net, parameters, (rows,)), labels)

    gradients = torch.func.vmap(torch.func.grad(loss))

    def step(chosen: torch.Tensor) -> None:
        g = gradients(state, x[chosen], y[chosen])
        with torch.no_grad():
            for name, value in state.items():
                velocity[name].mul_(0.9).add_(g[name])
                value.sub_(velocity[name], alpha=0.001)

    return state, step


def torch_accuracies(
    x: np.ndarray, y: np.ndarray, test: np.ndarray, truth: np.ndarray, bags: np.ndarray, seed: int
) -> np.ndarray:
    """Test accuracy of the paper's network trained by PyTorch (vmap) on each bag, with the paper's settings."""
    torch.set_num_threads(1)
    rows, points = (torch.from_numpy(a.astype(np.float32) / 127.5 - 1)[:, None] for a in (x, test))
    torch.manual_seed(seed)
    nets = [module(lanes.lenet5(), rows[:1], 10) for _ in bags]
    state, step = vmapped(nets, rows, torch.from_numpy(y))
    held = torch.tensor(bags)
    for _ in range(PAPER["epochs"]):
        order = torch.stack([bag[torch.randperm(len(bag))] for bag in held])
        for batch in order.split(PAPER["batch_size"], dim=1):
            step(batch)
    with torch.no_grad():
        scores = [
            torch.func.functional_call(nets[0], {k: v[b] for k, v in state.items()}, (points,)).argmax(1).numpy()
            for b in range(len(bags))
        ]
    return np.mean(np.stack(scores) == truth, axis=1)


def train(net: lanes.NetClassifier, x: np.ndarray, y: np.ndarray, n_bags: int, n_jobs: int = 1) -> None:
    for _ in net.fit_bags(x, y, [np.arange(len(x))] * n_bags, range(n_bags), n_jobs=n_jobs):
        pass


def flops_of_a_step(batch: int) -> float:
    """Multiply-adds of the paper's network as its sums are written (the convolutions are done with fewer), times two.

    Forward, backward, and no gradient of the pixels.
    """
    first, second, dense = 24 * 24 * 6 * 25, 8 * 8 * 16 * 150, 256 * 120 + 120 * 84 + 84 * 10
    return 2.0 * batch * (2 * first + 3 * second + 3 * dense)


def paper_network() -> list[Line]:
    x, y = images("train")
    x, y = x[:800], y[:800]
    scaled = torch.from_numpy(x.astype(np.float32) / 127.5 - 1)[:, None]
    labels = torch.from_numpy(y)
    net = lanes.NetClassifier(lanes.lenet5(), **{**PAPER, "epochs": 1})
    with cores(1):
        _, step_of_all = vmapped([module(lanes.lenet5(), scaled, 10)] * 32, scaled, labels)

        def many(steps: int) -> None:
            for _ in range(steps):
                step_of_all(torch.randint(len(scaled), (32, 4)))

        many(2)
        peaks = []
        best = interleaved_best(
            {
                "ours": lambda: train(net, x, y, 16),
                "eager": lambda: eager(module(lanes.lenet5(), scaled, 10), scaled, labels, 4, 0.001, 200),
                "vmap": lambda: many(4),
                "peak": lambda: peaks.append(_native.peak_flops()),
            },
            rounds=9,
        )
    step = {"ours": best["ours"] / (16 * 200), "eager": best["eager"] / 200, "vmap": best["vmap"] / (4 * 32)}
    with cores(2):
        pair = interleaved_best({str(n): lambda n=n: train(net, x, y, 32, n) for n in (1, 2)}, rounds=15)
    share = flops_of_a_step(4) / step["ours"] / max(peaks)
    return [
        Line("paper's network, batch 4: a model's step", step["ours"] * 1e6, unit="us"),
        Line("  eager PyTorch's", step["eager"] * 1e6, unit="us"),
        Line("  torch.func.vmap's with 32 models", step["vmap"] * 1e6, unit="us"),
        Line("  model-steps per second over eager PyTorch, one core", step["eager"] / step["ours"], 20, at_least=True),
        Line("  model-steps per second over vmap with 32 models", step["vmap"] / step["ours"], 8, at_least=True),
        Line("  two cores over one", pair["1"] / pair["2"], 1.8, at_least=True),
        Line(f"  its sums over the measured peak, {max(peaks) / 1e9:.0f} GFLOP/s per core", share * 100, unit="%"),
    ]


def small_mlp() -> list[Line]:
    x, y = load_digits(return_X_y=True)
    x = (x / 16).astype(np.float32)
    epochs, steps = 5, 57
    net = lanes.NetClassifier(MLP, epochs=epochs, batch_size=32, learning_rate=0.01, scale=None)
    rival = MLPClassifier(
        (128,), solver="sgd", alpha=0, batch_size=32, learning_rate_init=0.01, max_iter=epochs, momentum=0.9,
        nesterovs_momentum=False, n_iter_no_change=epochs + 1,
    )  # fmt: skip
    rows, labels = torch.from_numpy(x), torch.from_numpy(y)
    with cores(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        best = interleaved_best(
            {
                "ours": lambda: train(net, x, y, 16),
                "eager": lambda: eager(module(MLP, rows, 10), rows, labels, 32, 0.01, epochs * steps),
                "scikit-learn": lambda: rival.fit(x, y),
            },
            rounds=9,
        )
    mine = best["ours"] / 16
    with cores(2):
        wide = lanes.NetClassifier((lanes.Linear(64), lanes.ReLU(), lanes.Linear()), epochs=20, scale=None)
        start = time.perf_counter()
        train(wide, x, y, 200, 2)
        seconds = time.perf_counter() - start
    return [
        Line("MLP 64-128-10 on digits, batch 32: a model's step", mine / (epochs * steps) * 1e6, unit="us"),
        Line("  over eager PyTorch", best["eager"] / mine, 8, at_least=True),
        Line("  over scikit-learn's MLPClassifier", best["scikit-learn"] / mine, 4, at_least=True),
        Line("200 networks 64-64-10, 20 epochs of all digits, two cores", seconds, 10, unit="s"),
    ]


def mean_and_error(values: np.ndarray) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


def paper_bags(bag_size: int = 30_000, n_bags: int = 16) -> list[Line]:
    """Bags with the paper's settings: seconds on one core, and test accuracy beside PyTorch's on the same bags."""
    x, y = images("train")
    test, truth = images("t10k")
    rng = np.random.default_rng(0)
    bags = np.stack([np.sort(rng.choice(len(x), bag_size, replace=False)) for _ in range(n_bags)])
    with cores(1):
        start = time.perf_counter()
        (group,) = lanes.NetClassifier(lanes.lenet5(), **PAPER).fit_bags(x, y, list(bags), range(n_bags))
        seconds = time.perf_counter() - start
    lines = [Line(f"{n_bags} bags of {bag_size:,} Fashion-MNIST images, 5 epochs, one core", seconds, 90, unit="s")]
    ours, error = mean_and_error((group.predict_proba(test).argmax(axis=2) == truth).mean(axis=1))
    lines.append(Line(f"  mean test accuracy of a bag (standard error {error:.4f})", ours, unit=""))
    if not levels.at_best():
        return lines
    halves = enumerate(np.array_split(bags, 2))
    calls = (joblib.delayed(torch_accuracies)(x, y, test, truth, half, seed) for seed, half in halves)
    theirs, their_error = mean_and_error(np.concatenate(joblib.Parallel(n_jobs=2)(calls)))
    return [
        *lines,
        Line(f"  PyTorch's on the same bags (standard error {their_error:.4f})", theirs, unit=""),
        Line("  their difference", abs(ours - theirs), 0.005, unit=""),
    ]


def main() -> bool:
    lines = small_mlp()
    if FASHION.is_dir():
        lines = paper_network() + lines + paper_bags()
    else:
        print(f"bench_lanes: no Fashion-MNIST in {FASHION} (Debian: dataset-fashion-mnist); its lines are left out")
    return report("lanes", lines)


if __name__ == "__main__":
    main()

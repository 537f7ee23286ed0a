"""The trainer against PyTorch: equal weights, equal batches, each layer and optimizer in turn."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from steadyset import _native
from steadyset.lanes import AvgPool2d, Conv2d, Dropout, Flatten, Linear, MaxPool2d, NetClassifier, ReLU, Tanh, lenet5
from steadyset.lanes._architecture import architecture
from steadyset.lanes._torch import sequential

torch = pytest.importorskip("torch")

NETS = {
    "softmax regression": ((7,), [Linear()]),
    "mlp": ((12,), [Linear(33), ReLU(), Linear(17), ReLU(), Linear()]),
    "tanh": ((9,), [Linear(20), Tanh(), Linear()]),
    "relu first": ((9,), [ReLU(), Linear(20), Tanh(), Linear()]),
    "conv": ((2, 9, 8), [Conv2d(3, 3), Flatten(), Linear()]),
    "conv relu": ((9, 8), [Conv2d(5, 3), ReLU(), Conv2d(3, 3), ReLU(), Flatten(), Linear()]),
    "conv 5": ((2, 13, 12), [Conv2d(3, 5), Tanh(), Conv2d(2, 5), Flatten(), Linear()]),
    "kernel 1": ((3, 5, 5), [Conv2d(4, 1), Tanh(), Conv2d(3, 1), Flatten(), Linear()]),
    "kernel 2 x 7": ((1, 8, 20), [Conv2d(3, (2, 7)), Tanh(), Conv2d(2, (4, 8)), Flatten(), Linear()]),
    "padding": ((2, 6, 7), [Conv2d(3, 3, padding=1), ReLU(), Conv2d(4, 5, padding=2), Tanh(), Flatten(), Linear()]),
    "pad relu pad": ((6, 7), [Conv2d(3, 3, padding=3), Tanh(), ReLU(), Conv2d(2, 2, padding=1), Flatten(), Linear()]),
    "max pool": ((1, 9, 11), [Conv2d(3, 2), MaxPool2d(2), Tanh(), Flatten(), Linear()]),
    "max pool 3 after tanh": ((1, 11, 10), [Conv2d(3, 2), Tanh(), MaxPool2d(3), Conv2d(2, 2, 1), Flatten(), Linear()]),
    "conv relu pool 3": ((1, 13, 12), [Conv2d(3, 3, 1), ReLU(), MaxPool2d(3), Conv2d(2, 2, 1), Flatten(), Linear()]),
    "avg pool": ((1, 9, 11), [Conv2d(3, 2), Tanh(), AvgPool2d(2), Conv2d(4, 2, 1), AvgPool2d(3), Flatten(), Linear()]),
    "pool first": ((2, 8, 8), [MaxPool2d(2), Conv2d(3, 3), ReLU(), Flatten(), Linear()]),
    "lenet": ((28, 28), lenet5()),
    # Convolutions of 3 or 5 columns with four output channels or more are done in tiles of four outputs, where input
    # channels times kernel rows are five or more and the tiles give at most a third more outputs than there are.
    "tiles of 3": ((2, 9, 9), [Conv2d(5, 3), ReLU(), Conv2d(4, 3, padding=1), Tanh(), Flatten(), Linear()]),
    "tiles of 5": ((3, 14, 16), [Conv2d(7, 5), Tanh(), Conv2d(4, 5, padding=2), Flatten(), Linear()]),
    "tiles in strips": ((2, 41, 42), [Conv2d(6, 3), ReLU(), Conv2d(4, 5), Tanh(), AvgPool2d(6), Flatten(), Linear()]),
    "tiles, pool 2": ((2, 13, 16), [Conv2d(9, 3), ReLU(), MaxPool2d(2), Conv2d(4, 3, 1), Tanh(), Flatten(), Linear()]),
    "tiles, pool 2 of 11": ((2, 12, 13), [Conv2d(4, 3), MaxPool2d(2), Tanh(), Flatten(), Linear()]),
    "tiles, tanh, pool 2 of 11": ((2, 12, 13), [Conv2d(4, 3), Tanh(), MaxPool2d(2), Flatten(), Linear()]),
    "tiles, pool 2 of 14": ((2, 12, 16), [Conv2d(9, 3), ReLU(), MaxPool2d(2), Flatten(), Linear()]),
    "tiles, pool 2 later": ((6, 25, 14), [Conv2d(3, 2), Tanh(), Conv2d(5, 5, 1), MaxPool2d(2), Flatten(), Linear()]),
    "tiles, pool 2 of 14 later": (
        (2, 14, 16),
        [Conv2d(4, 1), Tanh(), Conv2d(5, 3), ReLU(), MaxPool2d(2), Flatten(), Linear()],
    ),
    "tiles, pool 3": ((1, 27, 25), [Conv2d(4, 5), ReLU(), MaxPool2d(3), Conv2d(4, 3, 1), Tanh(), Flatten(), Linear()]),
    "tiles, flat kernels": ((5, 9, 15), [Conv2d(4, (1, 5)), Tanh(), Conv2d(4, (6, 3)), Tanh(), Flatten(), Linear()]),
}
RECIPES = {
    "sgd": ({"learning_rate": 0.002, "momentum": 0.0}, lambda p: torch.optim.SGD(p, 0.002)),
    "momentum": ({"learning_rate": 0.001, "momentum": 0.9}, lambda p: torch.optim.SGD(p, 0.001, momentum=0.9)),
    "nesterov": (
        {"learning_rate": 0.001, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01},
        lambda p: torch.optim.SGD(p, 0.001, momentum=0.9, nesterov=True, weight_decay=0.01),
    ),
    "adam": (
        {"learning_rate": 0.001, "optimizer": "adam", "weight_decay": 0.01},
        lambda p: torch.optim.Adam(p, 0.001, weight_decay=0.01),
    ),
}


def digits(rows):
    """Handwritten digits as images of 28 x 28 pixels from -1 to 1."""
    pixels, labels = load_digits(return_X_y=True)
    large = np.kron(pixels[rows].reshape(-1, 8, 8) / 8 - 1, np.ones((1, 3, 3)))
    return np.pad(large, ((0, 0), (2, 2), (2, 2)), constant_values=-1).astype(np.float32), labels[rows].astype(np.int32)


class Pair:
    """The same network here and in PyTorch, on the same rows."""

    def __init__(
        self, shape, layers, *, n=40, n_classes=3, batch_size=8, epochs=1, seed=0, learnable=False, **settings
    ):
        rng = np.random.default_rng(seed)
        self.x = rng.normal(size=(n, *shape)).astype(np.float32)
        self.y = rng.integers(n_classes, size=n).astype(np.int32)
        if learnable:  # handwritten digits where the shape allows, else a pattern for each class, under noise
            self.x = (0.3 * self.x + rng.normal(size=(n_classes, *shape))[self.y]).astype(np.float32)
            if shape == (28, 28):
                self.x, self.y = digits(rng.permutation(1797)[:n])
        self.layers, self.batch_size, self.epochs = tuple(layers), batch_size, epochs
        self.architecture = architecture(layers, shape, n_classes)
        self.network = self.architecture.network()
        self.start = self.network.initial(seed)
        self.order = np.concatenate([rng.permutation(n) for _ in range(epochs)]).astype(np.int64)
        settings = {"learning_rate": 0.0, "momentum": 0.0, **settings}
        net = NetClassifier(layers, epochs=epochs, batch_size=batch_size, scale=None, **settings)
        from steadyset.lanes._settings import settings_of

        self.settings = settings_of(net, False).native()

    def ours(self, masks=()):
        rows = [np.arange(len(self.x))]
        return self.network.train(
            self.x, self.y, rows, [0], self.settings, _native.LanesWatch(), self.start, [self.order], list(masks)
        )

    def probabilities(self, parameters):
        out = np.empty((1, len(self.x), self.network.n_classes))
        self.network.predict(self.x, parameters, None, None, 1.0, 0.0, out, 0, _native.LanesWatch())
        return out[0]

    def module(self, parameters):
        return sequential(self.layers, self.architecture.parameters, parameters[0]).train()

    def inputs(self, rows):
        shape = self.architecture.input_shape if self.x.ndim > 2 else self.x.shape[1:]
        return torch.from_numpy(self.x[rows].reshape(-1, *shape)), torch.from_numpy(self.y[rows]).long()

    def batches(self):
        for epoch in self.order.reshape(self.epochs, -1):
            for first in range(0, len(epoch), self.batch_size):
                yield epoch[first : first + self.batch_size]


def gap(ours, reference):
    return np.abs(ours - reference).max() / np.abs(reference).max()


def flat(values):
    return torch.cat([v.reshape(-1) for v in values]).detach().numpy()


@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("n", [1, 5, 37])
def test_outputs_and_gradients(isa, name, n):
    shape, layers = NETS[name]
    pair = Pair(shape, layers, n=n, batch_size=n)
    module = pair.module(pair.start)
    inputs, labels = pair.inputs(pair.order)
    torch.nn.functional.cross_entropy(module(inputs), labels).backward()
    assert gap(pair.ours()["first_moments"][0], flat(p.grad for p in module.parameters())) <= 1e-5
    expected = torch.softmax(module(pair.inputs(slice(None))[0]), 1).detach().numpy()
    assert gap(pair.probabilities(pair.start), expected) <= 1e-5


def trained_in_torch(pair, make_optimizer, dtype):
    module = pair.module(pair.start).to(dtype)
    optimizer = make_optimizer(module.parameters())
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # steps this small only wait for more
    for rows in pair.batches():
        inputs, labels = pair.inputs(rows)
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(module(inputs.to(dtype)), labels).backward()
        optimizer.step()
    torch.set_num_threads(threads)
    return flat(module.parameters())


def after_training(name, recipe, seed, steps):
    """Train from equal weights on equal batches of 4, and return the pair and PyTorch's optimizer."""
    shape, layers = NETS[name]
    settings, make_optimizer = RECIPES[recipe]
    n, epochs = (4 * steps, 1) if steps <= 100 else (400, steps // 100)
    pair = Pair(shape, layers, n=n, batch_size=4, epochs=epochs, n_classes=10, seed=seed, learnable=True, **settings)
    assert len(list(pair.batches())) == steps
    return pair, make_optimizer


def gap_after_training(name, recipe, seed):
    """500 steps of SGD or 50 of Adam: the gap to float32 PyTorch, or to float64 PyTorch where that is nearer."""
    pair, make_optimizer = after_training(name, recipe, seed, 50 if recipe == "adam" else 500)
    ours, reference = pair.ours()["parameters"][0], trained_in_torch(pair, make_optimizer, torch.float32)
    assert gap(pair.start[0], reference) > 1e-2, "training must have moved the weights"
    found = gap(ours, reference)
    return found if found <= 1e-3 else min(found, gap(ours, trained_in_torch(pair, make_optimizer, torch.float64)))


SMOOTH = [name for name, (_, layers) in NETS.items() if not any(isinstance(v, ReLU | MaxPool2d) for v in layers)]
CASES = [(name, "momentum") for name in NETS] + [
    (name, recipe) for name in ("mlp", "padding", "avg pool", "lenet") for recipe in ("sgd", "nesterov", "adam")
]


@pytest.mark.parametrize(("name", "recipe"), CASES)
def test_weights_after_training(name, recipe):
    """At most 1e-3 after 500 steps of SGD or 50 of Adam.

    ReLU and max pooling have edges: once rounding moves a unit that stands at one across it, two trainers part for
    good, by up to 2e-2, as float32 PyTorch parts from float64 PyTorch. So where there are edges and a run has parted,
    the middle one of five decides: at one parting in six, a LeNet's rate, other seeds would be wrong once in 45 times.
    Without edges there is nothing to excuse.
    """
    gaps = [gap_after_training(name, recipe, 0)]
    if gaps[0] > 1e-3 and name not in SMOOTH:
        gaps += [gap_after_training(name, recipe, seed) for seed in range(1, 5)]
        assert max(gaps) <= 2e-2
    assert np.median(gaps) <= 1e-3


@pytest.mark.trial
def test_few_runs_of_lenet_part_from_pytorch(full_trials):
    """Of 20 runs of LeNet, 500 steps each, at most 4 part from PyTorch by more than 1e-3, none by more than 2e-2.

    With AVX-512 one of these 20 does, with AVX2 two; of 80 runs on one CPU 11 and 13, where PyTorch's own float32
    parted from its float64 in 17. At one in six, more than 4 of another 20 would part with a chance of a fifth.
    """
    runs = 20 if full_trials else 3
    gaps = [gap_after_training("lenet", "momentum", 100 + seed) for seed in range(runs)]
    print(f"gaps to PyTorch of {runs} runs: {np.sort(gaps)}")
    assert sum(g > 1e-3 for g in gaps) <= max(runs // 5, 1)
    assert max(gaps) <= 2e-2


@pytest.mark.parametrize("pixel", [1e2, 1e4, 1e6])
def test_tiles_round_relative_to_their_largest_pixel(isa, pixel):
    """A pixel far larger than those around it costs the outputs of its tiles digits, one for each of its own."""
    pair = Pair((2, 20, 20), [Conv2d(4, 5), Tanh(), Flatten(), Linear()], n=20)
    pair.x[:, 0, 10, 10] = pixel
    module = pair.module(pair.start).double()
    exact = torch.softmax(module(pair.inputs(slice(None))[0].double()), 1).detach().numpy()
    assert gap(pair.probabilities(pair.start), exact) <= 1e-6 + 1e-8 * pixel


def test_adam_divides_no_rounding_by_its_size(isa):
    """Where no image shows a pixel, Adam leaves its weights alone, as PyTorch's does.

    It moves a weight by about the learning rate however small the gradient is, so that rounding in place of a zero
    would move weights that PyTorch does not move.
    """
    layers = [Conv2d(4, 5), ReLU(), Conv2d(5, 3), Tanh(), Flatten(), Linear()]
    pair = Pair((2, 16, 16), layers, n=40, batch_size=4, learning_rate=0.001, optimizer="adam")
    pair.x[:] *= np.random.default_rng(1).random(pair.x.shape) < 0.02
    found = pair.ours()["parameters"][0]
    exact = trained_in_torch(pair, lambda p: torch.optim.Adam(p, 0.001), torch.float64)
    assert gap(pair.start[0], exact) > 1e-2, "training must have moved the weights"
    assert gap(found, exact) <= 2e-5


@pytest.mark.parametrize("recipe", ["momentum", "adam"])
def test_as_near_to_exact_arithmetic_as_pytorch(recipe):
    """After 100 steps of LeNet the weights are as far from float64 PyTorch's as float32 PyTorch's are.

    Every step adds rounding; an operation in another order than PyTorch's is no worse unless it loses more. The middle
    one of three runs is taken, because a unit at its edge may move any of the two.
    """
    ratios = []
    for seed in range(3):
        pair, make_optimizer = after_training("lenet", recipe, seed, 100)
        exact = trained_in_torch(pair, make_optimizer, torch.float64)
        single = gap(trained_in_torch(pair, make_optimizer, torch.float32), exact)
        ratios.append(gap(pair.ours()["parameters"][0], exact) / single)
    assert sorted(ratios)[1] <= 2


def test_dropout_with_the_same_masks():
    shape, layers = (
        (2, 6, 6),
        (Dropout(0.25), Conv2d(4, 3), ReLU(), Dropout(0.5), Flatten(), Linear(9), Dropout(0.1), Linear()),
    )
    pair = Pair(shape, layers, n=11, batch_size=4)
    rng = np.random.default_rng(5)
    sizes = [72, 64, 9]
    masks = rng.integers(2, size=(11, sum(sizes))).astype(np.uint8)
    module = pair.module(pair.start)
    module[0], module[3], module[6] = (torch.nn.Identity() for _ in range(3))
    total = 0
    seen = 0
    for rows in pair.batches():
        pieces = np.split(masks[seen : seen + len(rows)].astype(np.float32), np.cumsum(sizes)[:-1], axis=1)
        seen += len(rows)
        x, labels = pair.inputs(rows)
        a, b, c = (torch.from_numpy(m / (1 - p)) for m, p in zip(pieces, (0.25, 0.5, 0.1), strict=True))
        hidden = module[2](module[1](x * a.reshape(-1, 2, 6, 6))) * b.reshape(-1, 4, 4, 4)
        logits = module[7](module[5](hidden.flatten(1)) * c)
        module.zero_grad()
        torch.nn.functional.cross_entropy(logits, labels).backward()
        total = flat(p.grad for p in module.parameters())
    # With learning rate and momentum 0 the first moments are the gradient of the last step.
    assert gap(pair.ours([masks])["first_moments"][0], total) <= 1e-5


def test_dropout_drops_its_share_and_keeps_the_mean():
    pair = Pair((200,), [Dropout(0.3), Linear()], n=64, batch_size=64, n_classes=2)
    pair.x[:] = 1
    pair.y[:] = 0
    pair.start[:] = (
        0  # equal logits: every sample sends the same gradient, so its mean over samples counts the kept ones
    )
    gradient = pair.ours()["first_moments"][0][:200]
    kept = -gradient / 0.5 * 0.7
    assert abs(kept.mean() - 0.7) < 0.02  # 12,800 draws: standard error 0.004
    assert kept.std() > 0.03  # and no feature shares its draws with another


@pytest.mark.parametrize("name", NETS)
def test_finite_differences(name):
    shape, layers = NETS[name]
    pair = Pair(shape, layers, n=6, batch_size=6, seed=3)
    gradient = pair.ours()["first_moments"][0].astype(np.float64)
    rng = np.random.default_rng(1)

    def loss(parameters):
        proba = pair.probabilities(parameters.astype(np.float32)[None])
        return -np.log(proba[np.arange(6), pair.y]).mean()

    at = pair.start[0].astype(np.float64)
    differences = []
    for _ in range(4):
        direction = rng.normal(size=at.size)
        direction *= 5e-4 / np.abs(direction).max()
        differences.append((loss(at + direction) - loss(at - direction)) / 2 - gradient @ direction)
        scale = np.abs(gradient @ direction) + np.linalg.norm(gradient) * np.linalg.norm(direction) * 0.05
        assert abs(differences[-1]) <= 0.05 * scale


@pytest.mark.parametrize("name", ["lenet", "mlp", "padding"])
def test_to_torch_gives_the_same_network(name):
    shape, layers = NETS[name]
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(30, *shape)), rng.integers(4, size=30)
    net = NetClassifier(layers, epochs=2, random_state=1).fit(x, y)
    with torch.no_grad():
        expected = torch.softmax(net.to_torch()(torch.from_numpy(net.scaled(x))), 1).numpy()
    np.testing.assert_allclose(net.predict_proba(x), expected, rtol=1e-4, atol=1e-6)


def test_initial_weights_follow_pytorch_defaults():
    network = architecture(lenet5(), (28, 28), 10).network()
    drawn = np.concatenate([network.initial(seed) for seed in range(200)])
    module = sequential(tuple(lenet5()), architecture(lenet5(), (28, 28), 10).parameters, drawn[0])
    at = 0
    for ours in module.state_dict().values():
        part = drawn[:, at : at + ours.numel()]
        at += ours.numel()
        bound = np.abs(part).max()
        layer = next(m for m in module if hasattr(m, "reset_parameters") and ours.shape[0] in m.weight.shape[:1])
        layer.reset_parameters()
        fan_in = layer.weight[0].numel()
        assert bound <= 1 / np.sqrt(fan_in)
        assert bound > 0.98 / np.sqrt(fan_in)
        # Uniform: variance bound^2 / 3; at least 1,200 draws a tensor.
        assert abs(part.var() * 3 * fan_in - 1) < 0.15
        assert layer.weight.detach().abs().max() <= 1 / np.sqrt(fan_in) + 1e-6

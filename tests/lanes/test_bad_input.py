"""Everything that cannot work is refused with one sentence, before training where it can be known."""

import math
import re

import numpy as np
import pytest

from steadyset import _native
from steadyset.lanes import AvgPool2d, Conv2d, Dropout, Flatten, Linear, MaxPool2d, NetClassifier, ReLU, Tanh
from steadyset.lanes._settings import settings_of

RNG = np.random.default_rng(0)
FLAT, IMAGES = RNG.normal(size=(20, 6)), RNG.normal(size=(20, 8, 8))
LABELS = np.arange(20) % 3


@pytest.mark.parametrize(
    ("layers", "x", "message"),
    [
        ([], FLAT, r"layers must end with Linear\(\), whose outputs are the classes; got no layers"),
        ([Linear(3), ReLU()], FLAT, r"layers must end with Linear\(\).* got ReLU\(\)"),
        (5, FLAT, "layers must be a sequence of layers from steadyset.lanes; got 5"),
        ([Linear, Linear()], FLAT, "layers must be a sequence of layers .* at position 0"),
        ([Linear(), Linear()], FLAT, r"out_features of layers\[0\] must be a number"),
        ([Linear(4)], FLAT, r"out_features of layers\[0\] must be None or 3, the number of classes; got 4"),
        ([Linear(0), Linear()], FLAT, r"out_features of layers\[0\] must be a whole number that is at least 1; got 0"),
        ([Linear(2.5), Linear()], FLAT, r"out_features of layers\[0\] must be a whole number .* got 2.5"),
        ([Linear(2**40), Linear()], FLAT, r"out_features of layers\[0\] must be a whole number .* got 1099511627776"),
        ([Linear(2**30), Linear()], FLAT, r"layers\[0\] must have fewer than 2\^31 values and parameters"),
        ([Conv2d(2, 3), Flatten(), Linear()], FLAT, r"layers\[0\] must take images.*got flat rows of 6 values"),
        ([Conv2d(2, 9), Flatten(), Linear()], IMAGES, r"kernel_size of layers\[0\] must be at most .*8 x 8; got 9 x 9"),
        ([Conv2d(2, (1, 2, 3)), Flatten(), Linear()], IMAGES, r"kernel_size of layers\[0\] must be a number or a pair"),
        ([Conv2d(2, 0), Flatten(), Linear()], IMAGES, r"kernel_size of layers\[0\] must be a whole number"),
        ([Conv2d(2, 3, -1), Flatten(), Linear()], IMAGES, r"padding of layers\[0\] must be a whole number .* got -1"),
        ([Conv2d(2, 3), Linear()], IMAGES, r"layers\[1\] must come after Flatten\(\).*\(2, 6, 6\)"),
        ([MaxPool2d(9), Flatten(), Linear()], IMAGES, r"kernel_size of layers\[0\] must be at most 8, .* got 9"),
        (
            [Conv2d(2, 3), ReLU(), MaxPool2d(7), Flatten(), Linear()],
            IMAGES,
            r"kernel_size of layers\[2\] must be at most 6",
        ),
        ([Flatten(), AvgPool2d(2), Linear()], IMAGES, r"layers\[1\] must take images"),
        ([Dropout(1.0), Linear()], FLAT, r"p of layers\[0\] must be a number that is at least 0 and below 1; got 1.0"),
        ([Dropout("half"), Linear()], FLAT, r"p of layers\[0\] must be a number"),
    ],
)
def test_layers(layers, x, message):
    with pytest.raises((ValueError, TypeError), match=message):
        NetClassifier(layers).fit(x, LABELS)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epochs": 0}, "epochs must be a whole number that is at least 1; got 0"),
        ({"epochs": 2.0}, "epochs must be a whole number .* got 2.0"),
        ({"batch_size": -3}, "batch_size must be a whole number that is at least 1; got -3"),
        ({"learning_rate": -0.1}, "learning_rate must be a finite number that is at least 0; got -0.1"),
        ({"learning_rate": float("nan")}, "learning_rate must be a finite number that is at least 0; got nan"),
        ({"learning_rate": "fast"}, "learning_rate must be a finite number that is at least 0; got 'fast'"),
        ({"momentum": 1.0}, "momentum must be a number that is at least 0 and below 1; got 1.0"),
        ({"nesterov": 1}, "nesterov must be True or False; got 1"),
        ({"nesterov": True, "momentum": 0.0}, "nesterov needs optimizer=.sgd. and a momentum above 0"),
        ({"weight_decay": float("inf")}, "weight_decay must be a finite number"),
        ({"optimizer": "lbfgs"}, "optimizer must be .sgd. or .adam.; got 'lbfgs'"),
        ({"schedule": "steps"}, "schedule must be None, .cosine., .linear. or 20 numbers.*got 'steps'"),
        ({"schedule": [1, 2]}, "schedule must be .* got 2 numbers"),
        ({"schedule": 3}, "schedule must be .* got 3"),
        ({"scale": "big"}, "scale must be None, .minus_one_one. or .standard.; got 'big'"),
        ({"scale": np.zeros(3)}, "scale must be None, .minus_one_one. or .standard."),
        ({"random_state": -1}, r"random_state must be a whole number from 0 to 2\^64 - 1; got -1"),
        ({"random_state": 2**64}, r"random_state must be a whole number from 0 to 2\^64 - 1"),
    ],
)
def test_settings(settings, message):
    with pytest.raises((ValueError, TypeError), match=message):
        NetClassifier(**settings).fit(FLAT, LABELS)


@pytest.mark.parametrize(
    ("bags", "seeds", "message"),
    [
        ([np.arange(3)], [1, 2], "seeds must hold one seed for each of the 1 bags; got 2"),
        ([np.arange(3), np.arange(0)], [1, 2], "bag 1 must hold at least one row number"),
        ([np.arange(3), np.array([0, 20])], [1, 2], "bag 1 must hold row numbers from 0 to 19; got 0 to 20"),
        ([np.array([-1, 3])], [1], "bag 0 must hold row numbers from 0 to 19; got -1 to 3"),
        ([np.array([0.5])], [1], "bag 0 must hold at least one row number"),
        ([np.arange(3)], ["a"], r"seeds\[0\] must be a whole number from 0 to 2\^64 - 1; got 'a'"),
    ],
)
def test_bags(bags, seeds, message):
    with pytest.raises((ValueError, TypeError), match=message):
        list(NetClassifier().fit_bags(FLAT, LABELS, bags, seeds))


def test_labels_outside_the_given_classes():
    with pytest.raises(ValueError, match="y must hold labels in classes only; got 2"):
        NetClassifier().fit_bags(FLAT, LABELS, [np.arange(5)], [0], classes=[0, 1])
    with pytest.raises(ValueError, match="classes must be different labels"):
        NetClassifier().fit_bags(FLAT, LABELS, [np.arange(5)], [0], classes=[0, 1, 1, 2])


def test_diverging_training_names_bag_seed_and_step():
    bags = [np.arange(20)] * 6
    wild = NetClassifier([Linear(8), ReLU(), Linear()], learning_rate=1e30, scale=None, batch_size=5)
    sentence = r"training of bag (\d) \(seed (4\d)\) diverged, .* at step (\d+): a smaller"
    with pytest.raises(FloatingPointError, match=sentence) as caught:
        list(wild.fit_bags(FLAT, LABELS, bags, range(40, 46)))
    bag, seed, step = map(int, re.search(sentence, str(caught.value)).groups())
    assert seed == 40 + bag
    assert step < 4 * wild.epochs  # four batches of five rows in each epoch


ONE_STEP = {"epochs": 1, "batch_size": 64, "random_state": 7}


@pytest.mark.parametrize(
    ("layers", "settings"),
    [
        ([Linear(8), ReLU(), Linear()], {"learning_rate": 1e30}),  # finite weights whose logits overflow
        ([Linear(8), ReLU(), Linear()], {"learning_rate": 1e30, "optimizer": "adam"}),
        ([Linear(8), Tanh(), Linear()], {"learning_rate": 1e300}),  # infinite weights, and Tanh keeps what they touch
        ([Linear()], {"learning_rate": 1e-3, "weight_decay": 1e300}),
        ([Linear()], {"learning_rate": 1e38, "nesterov": True, "weight_decay": 1e3}),
        ([Linear(8), ReLU(), Linear()], {"learning_rate": 1e30, "epochs": 3, "schedule": [0, 0, 1]}),
        ([Linear(8), ReLU(), Linear()], {"learning_rate": 1e30, "batch_size": 19}),  # a short last batch
    ],
)
def test_divergence_in_the_last_step_is_noticed(isa, layers, settings):
    net = NetClassifier(layers, **{**ONE_STEP, **settings})
    sentence = r"^training of bag 0 \(seed 7\) diverged, its loss, weights or logits are not finite at step \d: "
    with pytest.raises(FloatingPointError, match=sentence):
        net.fit(FLAT, LABELS)
    assert not hasattr(net, "parameters_")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_divergence_in_the_last_step_names_its_bag(n_jobs):
    """Of ten bags that take one step each, of unequal sizes, number 6 alone holds a row that blows it up."""
    x = FLAT.copy()
    x[13] = 1e30
    bags = [np.array([0, 1, 2, 3 + b % 2, 13][: 5 if b == 6 else 4 - b % 3]) for b in range(10)]
    net = NetClassifier([Linear()], scale=None, **ONE_STEP)
    with pytest.raises(FloatingPointError, match=r"^training of bag 6 \(seed 46\) diverged, .* at step 1: "):
        list(net.fit_bags(x, LABELS, bags, range(40, 50), n_jobs=n_jobs))
    bags[6] = bags[6][:4]
    (group,) = net.fit_bags(x, LABELS, bags, range(40, 50), n_jobs=n_jobs)
    assert np.isfinite(group.predict_proba(FLAT)).all()


def test_a_bag_that_is_done_keeps_its_weights():
    """Its lanes go on beside longer bags, where its first row now overflows: what came of its own steps stays."""
    x = FLAT.copy()
    x[0] = 1e25
    net = NetClassifier([Linear()], scale=None, epochs=1, batch_size=1, learning_rate=1e-10)
    short, long = np.arange(5), np.arange(1, 20)
    for seed in range(5):  # the first row comes at another step each time
        try:
            (alone,) = net.fit_bags(x, LABELS, [short], [seed])
        except FloatingPointError:  # it came last
            continue
        (beside,) = net.fit_bags(x, LABELS, [long, short], [9, seed])
        mine, other = alone.members()[0].parameters_, beside.members()[1].parameters_
        assert np.isfinite(mine).all()
        np.testing.assert_array_equal(mine, other)
        with pytest.raises(FloatingPointError, match=rf"^the network of bag 1 \(seed {seed}\) must .* at row 0 of X: "):
            beside.predict_proba(x)
        break
    else:
        pytest.fail("no order of the rows in which the first row is not the last")


OVERFLOWING = {
    "dense": [Flatten(), Linear(2), ReLU(), Linear(2), ReLU(), Linear()],
    "tanh": [Flatten(), Linear(2), ReLU(), Linear(2), Tanh(), Linear()],
    "convolution": [Conv2d(2, 3), ReLU(), Conv2d(2, 3), ReLU(), Flatten(), Linear()],
    "pooled": [Conv2d(2, 3), ReLU(), Conv2d(2, 3), ReLU(), MaxPool2d(2), Flatten(), Linear()],
    "tiles": [Conv2d(4, 5, 2), ReLU(), Conv2d(4, 3, 1), ReLU(), Flatten(), Linear()],
    "pooled tiles": [Conv2d(4, 5, 2), ReLU(), Conv2d(4, 3, 1), ReLU(), MaxPool2d(2), Flatten(), Linear()],
    "unit apart": [Conv2d(2, 3), ReLU(), Conv2d(2, 3), AvgPool2d(2), ReLU(), Flatten(), Linear()],
    "logits": [Flatten(), Linear()],
}


@pytest.mark.parametrize("case", OVERFLOWING)
def test_overflow_at_predict_is_said_with_bag_and_row(isa, case):
    """Infinity, and infinity less infinity, which no layer after it may turn into a number again."""
    net = NetClassifier(OVERFLOWING[case], scale=None, epochs=1, random_state=5).fit(IMAGES, LABELS)
    assert np.isfinite(net.predict_proba(IMAGES)).all()
    first, second = (math.prod(shape) for _, shape in net._architecture().parameters[:2])
    net.parameters_[:first] = 1e30
    net.parameters_[first + second :] = np.resize([1.0, -1.0], len(net.parameters_) - first - second)
    x = np.zeros((9, 8, 8), np.float32)
    x[7] = 1e20
    net.predict_proba(x[:7])
    sentence = r"^the network of bag 0 \(seed 5\) must give finite logits; got others at row 7 of X: its weights .*\.$"
    for predict in (net.predict_proba, net.predict):
        with pytest.raises(FloatingPointError, match=sentence):
            predict(x)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_weights_that_are_not_finite_predict_nothing(isa, value):
    net = NetClassifier([Linear(2), ReLU(), Linear()], scale=None, epochs=1, random_state=5).fit(FLAT, LABELS)
    net.parameters_[-1] = value
    with pytest.raises(FloatingPointError, match="must give finite logits; got others at row 0 of X"):
        net.predict_proba(FLAT)


def test_huge_but_finite_logits_are_sure_of_themselves():
    net = NetClassifier([Linear()], scale=None, epochs=1).fit(FLAT, LABELS)
    net.parameters_ = np.repeat(np.array([1e30, -1e30, 1], np.float32), [6, 12, 3])
    np.testing.assert_array_equal(net.predict_proba(np.full((2, 6), 1e7)), [[1, 0, 0]] * 2)


def test_wrong_points_at_predict():
    images = NetClassifier([Flatten(), Linear()], epochs=1).fit(IMAGES, LABELS)
    with pytest.raises(ValueError, match=r"X must hold points of shape \(8, 8\), as in fit; got .* \(20, 8, 7\)"):
        images.predict_proba(IMAGES[:, :, :7])
    with pytest.raises(ValueError, match=r"X must hold points of shape \(8, 8\)"):
        images.predict_proba(IMAGES.reshape(20, 64))
    flat = NetClassifier([Linear()], epochs=1).fit(FLAT, LABELS)
    with pytest.raises(ValueError, match="X has 5 features, but NetClassifier is expecting 6"):
        flat.predict(FLAT[:, :5])
    with pytest.raises(ValueError, match="dim 3"):
        flat.predict(IMAGES)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((20, 2, 2, 2, 2), r"^X must have shape \(n, features\), \(n, H, W\) or .*; got \(20, 2, 2, 2, 2\)\.$"),
        ((20, 0, 3), r"^X must have at least one feature; got shape \(20, 0, 3\)\.$"),
        ((20,), "^Expected 2D array, got 1D array instead:"),  # scikit-learn's own sentence
    ],
)
def test_shapes_of_x(shape, message):
    with pytest.raises(ValueError, match=message):
        NetClassifier([Flatten(), Linear()]).fit(np.zeros(shape), LABELS)


def native_mistakes():
    """Calls that the estimator never makes, each with the sentence of the native code."""
    network = _native.LanesNetwork.make(6, 1, 1, [("linear", 3, 0, 0, 0, 0.0)])
    x, y = FLAT.astype(np.float32), LABELS.astype(np.int32)
    weights = np.zeros((1, network.n_parameters), np.float32)
    good = settings_of(NetClassifier([Linear()], epochs=1), False).native()

    def predict(x=x, weights=weights, center=None, at=0):
        out = np.empty((1, 20, 3))
        network.predict(x, weights, center, None, 1.0, 0.0, out, at, _native.LanesWatch())

    def train(rows=(0,), y=y, settings=good):
        network.train(x, y, [np.array(rows, np.int64)], [0], settings, _native.LanesWatch())

    def make(shape, *layers):
        _native.LanesNetwork.make(*shape, list(layers))

    linear = ("linear", 3, 0, 0, 0, 0.0)
    return {
        "row size": (lambda: predict(x=x[:, :5].copy()), "x does not have the network's row size"),
        "parameters": (lambda: predict(weights=weights[:, :-1].copy()), "parameters do not fit the network"),
        "place": (lambda: predict(at=1), "out must have shape (models, rows, classes)"),
        "center alone": (lambda: predict(center=weights), "center and deviation come together"),
        "dtype": (lambda: predict(x=x.astype(np.float64)), "x must be uint8 or float32"),
        "row beyond": (lambda: train([0, 20]), "a bag names a row outside x"),
        "row before": (lambda: train([-1]), "a bag names a row outside x"),
        "no rows": (lambda: train([]), "a bag is empty"),
        "label beyond": (lambda: train(y=y + 3), "a label is outside the classes"),
        "few labels": (lambda: train(y=y[:5].copy()), "labels must have one entry for each row of x"),
        "no settings": (lambda: train(settings={}), "'batch_size'"),
        "no layers": (lambda: make((6, 1, 1)), "the last layer must be linear"),
        "no features": (lambda: make((0, 1, 1), linear), "the input has no features"),
        "unknown layer": (lambda: make((6, 1, 1), ("gru", 3, 0, 0, 0, 0.0)), "unknown layer 'gru'"),
        "large kernel": (
            lambda: make((1, 3, 3), ("conv", 3, 4, 4, 0, 0.0), linear),
            "a convolution does not fit its input",
        ),
        "large before it is pooled": (
            lambda: make((5, 1, 1), ("conv", 4, 3, 3, 1 << 20, 0.0), ("max_pool", 1 << 20, 0, 0, 0, 0.0), linear),
            "a layer is too large",
        ),
        "wide": (lambda: make((1, 1, (1 << 31) - 1), ("conv", 4, 1, 1, 1, 0.0), linear), "a layer is too large"),
        "none": (lambda: (predict(), train()), None),
    }


@pytest.mark.parametrize("mistake", native_mistakes())
def test_the_native_code_checks_for_itself(mistake):
    call, sentence = native_mistakes()[mistake]
    if sentence is None:  # the calls differ from good ones by their mistake alone
        assert call() == (None, None)
        return
    with pytest.raises((ValueError, KeyError)) as caught:
        call()
    assert str(caught.value) == sentence

"""Groups of bags: the same bits whoever trains beside a bag, saved and loaded without pickle."""

import json
import pickle
import sys
from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import load_digits

from helpers import elsewhere
from steadyset import _native
from steadyset.lanes import Conv2d, Dropout, Flatten, LaneGroup, Linear, MaxPool2d, NetClassifier, ReLU, _trainer

X, Y = load_digits(return_X_y=True)
IMAGES = X.reshape(-1, 8, 8)[:400].astype(np.uint8)
LAYERS = [Conv2d(4, 3), ReLU(), MaxPool2d(2), Flatten(), Dropout(0.2), Linear(11), ReLU(), Linear()]
#: Convolutions in tiles, from the pixels and later, pooled and not; images of four pixels for one.
LARGE = np.kron(IMAGES, np.ones((2, 2), np.uint8))
TILED = [Conv2d(5, 5, 2), ReLU(), Conv2d(7, 3), ReLU(), MaxPool2d(2), Flatten(), Dropout(0.2), Linear()]
NETWORKS = {"sums as they stand": (LAYERS, IMAGES), "tiles": (TILED, LARGE)}


def net(layers=LAYERS, **settings):
    return NetClassifier(layers, **{"epochs": 2, "batch_size": 7, **settings})


def bags(count, seed=0):
    rng = np.random.default_rng(seed)
    return [np.sort(rng.choice(400, size=rng.integers(5, 120), replace=False)) for _ in range(count)]


def parameters(groups):
    return {n: member.parameters_ for group in groups for n, member in zip(group.numbers, group.members(), strict=True)}


@pytest.mark.parametrize("scale", [None, "standard", "minus_one_one"])
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("name", NETWORKS)
def test_a_bag_is_the_same_to_the_bit_in_any_company(isa, name, scale, optimizer):
    layers, images = NETWORKS[name]
    rows, seeds = bags(19), [100 + b for b in range(19)]
    learner = net(layers, scale=scale, optimizer=optimizer, learning_rate=0.002)
    together = parameters(learner.fit_bags(images, Y[:400], rows, seeds, n_jobs=1))
    threaded = parameters(learner.fit_bags(images, Y[:400], rows, seeds, n_jobs=3))
    turned = parameters(learner.fit_bags(images, Y[:400], rows[::-1], seeds[::-1]))
    assert len(together) == 19
    for b in range(19):
        np.testing.assert_array_equal(together[b], threaded[b])
        np.testing.assert_array_equal(together[b], turned[18 - b])
    for b in (0, 7, 18):
        (alone,) = learner.fit_bags(images, Y[:400], [rows[b]], [seeds[b]])
        np.testing.assert_array_equal(together[b], alone.members()[0].parameters_)


def test_few_rows_are_trained_without_a_thread_and_with_the_same_bits(monkeypatch):
    rows, seeds, made = [np.arange(first, first + 5) for first in range(6)], range(6), []
    executor = _trainer.ThreadPoolExecutor
    monkeypatch.setattr(_trainer, "ThreadPoolExecutor", lambda *a, **k: made.append(a[0]) or executor(*a, **k))
    found = parameters(net().fit_bags(IMAGES, Y[:400], rows, seeds, n_jobs=2))
    assert made == []
    monkeypatch.setattr(_trainer, "_AT_ONCE", 0)
    expected = parameters(net().fit_bags(IMAGES, Y[:400], rows, seeds, n_jobs=2))
    assert made == [2]
    for b in range(6):
        np.testing.assert_array_equal(found[b], expected[b])


def test_networks_of_several_groups():
    one, other = (next(net().fit_bags(IMAGES, Y[:400], bags(5, first), range(first, first + 5))) for first in (0, 5))
    found = one.gathered([(one, 0, 2), (other, 3, 4), (one, 4, 5)])
    assert found.seeds == (0, 1, 8, 4)
    expected = [one.predict_proba(IMAGES)[place] for place in (0, 1, 4)]
    expected.insert(2, other.predict_proba(IMAGES)[3])
    np.testing.assert_array_equal(found.predict_proba(IMAGES), expected)


def test_a_member_equals_its_own_fit_and_its_refit():
    rows = [np.arange(0, 100), np.arange(50, 200)]  # both hold all ten digits
    (group,) = net().fit_bags(IMAGES, Y[:400], rows, [5, 2**64 - 1])
    for member, mine, seed in zip(group.members(), rows, group.seeds, strict=True):
        alone = net(random_state=seed).fit(IMAGES[mine], Y[mine])
        np.testing.assert_array_equal(member.parameters_, alone.parameters_)
        assert member.random_state == seed
        again = member.fit(IMAGES[mine], Y[mine])
        np.testing.assert_array_equal(again.parameters_, alone.parameters_)


def test_rows_outside_a_bag_do_not_matter():
    rows = bags(5)
    before = parameters(net().fit_bags(IMAGES, Y[:400], rows, range(5)))
    changed, labels = IMAGES.copy(), Y[:400].copy()
    outside = np.setdiff1d(np.arange(400), rows[2])
    changed[outside], labels[outside] = 255, 0
    after = parameters(net().fit_bags(changed, labels, rows, range(5), classes=np.arange(10)))
    np.testing.assert_array_equal(before[2], after[2])


@pytest.mark.parametrize("name", NETWORKS)
def test_instruction_sets_agree_closely(name):
    layers, images = NETWORKS[name]
    results = []
    for level in _native.isa_levels():
        before = _native.isa()
        _native.use_isa(level)
        results.append(parameters(net(layers, learning_rate=0.001).fit_bags(images, Y[:400], bags(3), range(3))))
        _native.use_isa(before)
    for low, high in pairwise(results):
        for b in range(3):
            assert np.abs(low[b] - high[b]).max() <= 1e-4 * np.abs(high[b]).max()


ELSEWHERE = """
import pickle, sys
from steadyset import _native

shape, specs, tasks = pickle.load(open(sys.argv[1], "rb"))
network = _native.LanesNetwork.make(*shape, specs)
results = [network.train(*task, _native.LanesWatch())["parameters"] for task in tasks]
pickle.dump(results, open(sys.argv[2], "wb"))
print(*_native.isa_levels())
"""


@pytest.mark.parametrize("name", NETWORKS)
def test_training_elsewhere(tmp_path, place, name):
    """A network trained there is close to what each level gives here; without AVX it has the bits of the baseline."""
    from steadyset.lanes._architecture import architecture
    from steadyset.lanes._settings import settings_of

    layers, images = NETWORKS[name]
    built, data = architecture(layers, images.shape[1:], 10), (images, Y[:400].astype(np.int32), bags(3), [0, 1, 2])
    learners = [net(layers, learning_rate=0.001, optimizer=one, scale="minus_one_one") for one in ("sgd", "adam")]
    tasks = [(*data, settings_of(learner, True).native()) for learner in learners]
    source, target = tmp_path / "tasks", tmp_path / "weights"
    source.write_bytes(pickle.dumps((built.input_shape, [tuple(spec) for spec in built.specs], tasks)))
    levels = place.run(ELSEWHERE, source, target).split()
    assert levels == (["baseline"] if place.emulated else _native.isa_levels())
    start, before = built.network().initial(0)[0], _native.isa()
    for task, there in zip(tasks, pickle.loads(target.read_bytes()), strict=True):
        assert np.abs(there[0] - start).max() > 1e-2 * np.abs(start).max(), "training must have moved the weights"
        for level in _native.isa_levels():
            _native.use_isa(level)
            here = built.network().train(*task, _native.LanesWatch())["parameters"]
            _native.use_isa(before)
            same = level == "baseline" and place.name == elsewhere.NO_AVX
            assert np.abs(there - here).max() <= (0 if same else 1e-4 * np.abs(here).max())


def test_groups_predict_as_their_members_do(isa):
    (first, second) = net().fit_bags(IMAGES, Y[:400], bags(18), range(18), n_jobs=2)
    assert first.numbers == tuple(range(16))
    assert second.numbers == (16, 17)
    for group in (first, second):
        proba = group.predict_proba(IMAGES[:101])
        assert proba.shape == (len(group.numbers), 101, 10)
        np.testing.assert_array_equal(proba, group.predict_proba(IMAGES[:101], n_jobs=2))
        np.testing.assert_allclose(proba.sum(axis=2), 1, rtol=1e-12)
        for row, member in zip(proba, group.members(), strict=True):
            np.testing.assert_array_equal(row, member.predict_proba(IMAGES[:101]))


def test_float_and_byte_images_agree():
    byte = parameters(net(scale="minus_one_one").fit_bags(IMAGES, Y[:400], bags(2), [1, 2]))
    floats = IMAGES.astype(np.float32) / 255
    for b, values in parameters(net(scale="minus_one_one").fit_bags(floats, Y[:400], bags(2), [1, 2])).items():
        np.testing.assert_allclose(values, byte[b], atol=1e-4)


def test_one_row_bags_and_repeated_rows_train():
    rows = [np.array([3]), np.array([4, 4, 4, 9]), np.arange(400)]
    trained = parameters(net().fit_bags(IMAGES, Y[:400], rows, [0, 0, 0]))
    assert all(np.isfinite(values).all() for values in trained.values())
    once = parameters(net().fit_bags(IMAGES, Y[:400], [np.array([3, 3]), np.array([4, 9]), rows[2][:399]], [0, 0, 0]))
    assert sorted(trained) == sorted(once) == [0, 1, 2]
    for b in range(3):  # each row counts, and so does each time that it is named
        assert not np.array_equal(trained[b], once[b])


def test_labels_keep_the_order_of_the_given_classes():
    names = np.array(["zero", "one"])[(Y[:400] % 2)]
    learner = net(epochs=8, scale="standard")  # enough to tell odd digits from even ones
    (group,) = learner.fit_bags(IMAGES, names, [np.arange(400)], [0], classes=["zero", "never", "one"])
    assert group.predict_proba(IMAGES).shape == (1, 400, 3)
    assert group.members()[0].classes_.tolist() == ["zero", "never", "one"]
    proba = group.predict_proba(IMAGES)[0]
    expected = np.array(["zero", "never", "one"])[proba.argmax(axis=1)]
    assert group.members()[0].predict(IMAGES).tolist() == expected.tolist()
    assert np.mean(expected == names) > 0.8
    assert group.predict_proba(IMAGES)[0].argmax(axis=1).tolist().count(1) == 0


def test_progress_is_told_by_group_and_epoch():
    told = []
    groups = net(epochs=3).fit_bags(IMAGES, Y[:400], bags(20), range(20), progress=lambda *what: told.append(what))
    assert len(list(groups)) == 2
    assert {epochs for _, _, epochs in told} == {3}
    for numbers in (tuple(range(16)), tuple(range(16, 20))):
        epochs = [epoch for which, epoch, _ in told if which == numbers]
        assert epochs == sorted(set(epochs))
        assert epochs[-1] == 3


def test_an_abandoned_training_ends_its_threads():
    import threading

    groups = net(epochs=2000).fit_bags(
        IMAGES, Y[:400], [np.arange(5)] * 16 + [np.arange(400)] * 64, range(80), n_jobs=2
    )
    next(groups)
    assert any("steadyset-lanes" in thread.name for thread in threading.enumerate())
    groups.close()
    assert not any("steadyset-lanes" in thread.name for thread in threading.enumerate())


@pytest.mark.parametrize("labels", [Y[:400], np.array([f"d{y}" for y in Y[:400]]), Y[:400] > 4])
@pytest.mark.parametrize("scale", [None, "standard"])
def test_saved_groups_come_back(tmp_path, labels, scale):
    pytest.importorskip("safetensors")
    (group,) = net(scale=scale, schedule=[1, 0.5]).fit_bags(IMAGES, labels, bags(5), range(5))
    group.save(tmp_path / "here" / "deep")
    back = LaneGroup.load(tmp_path / "here" / "deep")
    assert (back.numbers, back.seeds) == (group.numbers, group.seeds)
    np.testing.assert_array_equal(back.classes_, group.classes_)
    np.testing.assert_array_equal(back.predict_proba(IMAGES), group.predict_proba(IMAGES))
    member = back.members()[3]
    np.testing.assert_array_equal(member.loss_curve_, group.members()[3].loss_curve_)
    member.save(tmp_path / "one")
    np.testing.assert_array_equal(NetClassifier.load(tmp_path / "one").predict(IMAGES), member.predict(IMAGES))
    assert [path.name for path in (tmp_path / "one").iterdir()] == ["group.safetensors"]


def test_damaged_files_are_refused_with_a_sentence(tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    with pytest.raises(FileNotFoundError, match=r"folder must hold a saved group, the file group\.safetensors"):
        LaneGroup.load(tmp_path)
    (group,) = net().fit_bags(IMAGES, Y[:400], bags(1), [0])
    group.save(tmp_path)
    file = tmp_path / "group.safetensors"
    whole = file.read_bytes()
    for damaged in (b"", whole[:100], whole[:-7], b"\x00" * 64):
        file.write_bytes(damaged)
        with pytest.raises(ValueError, match="folder must hold a group that steadyset saved"):
            LaneGroup.load(tmp_path)
    safetensors.save_file({"a": np.zeros(3, np.float32)}, file)
    with pytest.raises(ValueError, match="folder must hold a group that steadyset saved"):
        LaneGroup.load(tmp_path)


def resigned(file, change):
    """Change what a file says and its tensors, with the digest that they ought to have then."""
    from safetensors.numpy import load, save_file

    from steadyset.lanes import _persist

    data = file.read_bytes()
    about = json.loads(json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]["steadyset"])
    tensors = load(data)
    change(about, tensors)
    said = json.dumps(about)
    save_file(tensors, file, metadata={"steadyset": said, "digest": _persist._digest(said, tensors)})


SIGNED = {
    "an older version": (lambda a, t: a.update(version=1), "format version 2; got version 1"),
    "a bag twice": (lambda a, t: a.update(numbers=[0, 0, 2]), "not numbered one by one"),
    "a seed too few": (lambda a, t: a.update(seeds=[0, 1]), "not numbered one by one"),
    "a negative seed": (lambda a, t: a.update(seeds=[0, -1, 2]), "must be whole numbers"),
    "a class twice": (lambda a, t: a.update(classes=[0] * 10), "classes are not distinct"),
    "a class too few": (lambda a, t: a["classes"].pop(), "tensors are not those of its layers"),
    "other points": (lambda a, t: a.update(input_shape=[8, 9], n_features_in=8), "not those of its layers"),
    "no layer": (lambda a, t: a["layers"].__setitem__(0, ["dataclass", {}]), "damaged"),
    "other layers": (lambda a, t: a["layers"].pop(), "layers must end with"),
    "other epochs": (lambda a, t: a["arguments"].update(epochs=77), "not those of its epochs"),
    "epochs that would take all memory": (
        lambda a, t: a["arguments"].update(epochs=2**31 - 1),
        "not those of its epochs",
    ),
    "nonsense": (lambda a, t: a["arguments"].update(optimizer="magic"), "optimizer must be"),
    "a tensor more": (lambda a, t: t.update(more=np.zeros(3, np.float32)), "not those of its layers"),
    "a tensor for one bag": (lambda a, t: t.update(losses=t["losses"][:1]), "not those of its layers"),
    "weights in 64 bits": (lambda a, t: t.update(losses=t["losses"].astype(float)), "not 32-bit numbers"),
}


@pytest.mark.parametrize("case", SIGNED)
def test_groups_that_contradict_themselves_are_refused(tmp_path, case):
    pytest.importorskip("safetensors")
    change, sentence = SIGNED[case]
    (group,) = net().fit_bags(IMAGES, Y[:400], bags(3), [0, 1, 2])
    group.save(tmp_path)
    resigned(tmp_path / "group.safetensors", lambda about, tensors: None)
    assert LaneGroup.load(tmp_path).seeds == (0, 1, 2)
    resigned(tmp_path / "group.safetensors", change)
    with pytest.raises(ValueError, match=sentence):
        LaneGroup.load(tmp_path)


def test_a_flipped_weight_is_refused(tmp_path):
    pytest.importorskip("safetensors")
    (group,) = net().fit_bags(IMAGES, Y[:400], bags(1), [0])
    group.save(tmp_path)
    file = tmp_path / "group.safetensors"
    data = bytearray(file.read_bytes())
    data[-5] ^= 1
    file.write_bytes(data)
    with pytest.raises(ValueError, match="its digest is not that of its content"):
        LaneGroup.load(tmp_path)


@pytest.mark.parametrize("name", ["0.weight", "5.bias", "7.bias", "center", "deviation"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_saved_weights_that_are_not_finite_are_refused(tmp_path, name, value):
    safetensors = pytest.importorskip("safetensors")
    from safetensors.numpy import save_file

    (group,) = net(scale="standard").fit_bags(IMAGES, Y[:400], bags(3), [0, 1, 2])
    group.save(tmp_path)
    file = tmp_path / "group.safetensors"
    with safetensors.safe_open(file, framework="numpy") as saved:
        about, tensors = saved.metadata(), {key: saved.get_tensor(key) for key in saved.keys()}  # noqa: SIM118
    save_file(tensors, file, metadata=about)
    assert LaneGroup.load(tmp_path).seeds == (0, 1, 2)
    tensors[name].reshape(-1)[-1] = value
    save_file(tensors, file, metadata=about)
    for load in (LaneGroup.load, NetClassifier.load):
        with pytest.raises(ValueError, match=r"^folder must hold a group whose weights are finite; got others in .*"):
            load(tmp_path)


@pytest.mark.parametrize(
    ("module", "extra", "call"),
    [
        ("safetensors", "persist", lambda fitted, folder: fitted.save(folder)),
        ("safetensors", "persist", lambda fitted, folder: NetClassifier.load(folder)),
        ("torch", "torch", lambda fitted, folder: fitted.to_torch()),
    ],
)
def test_what_is_not_installed_is_named(monkeypatch, tmp_path, module, extra, call):
    fitted = net().fit(IMAGES[:40], Y[:40])
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, f"{module}.numpy", raising=False)
    with pytest.raises(ImportError) as error:
        call(fitted, tmp_path)
    assert str(error.value) == f"{module} is needed here; install it with `pip install steadyset[{extra}]`."


def test_groups_and_members_pickle():
    (group,) = net().fit_bags(IMAGES, Y[:400], bags(2), [0, 1])
    for thing in (group, group.members()[1]):
        copy = pickle.loads(pickle.dumps(thing))
        np.testing.assert_array_equal(copy.predict_proba(IMAGES), thing.predict_proba(IMAGES))


def test_standard_scaling_is_the_bags_own():
    rows = bags(2)
    (group,) = NetClassifier([Linear()], epochs=1).fit_bags(X[:400], Y[:400], rows, [0, 1])
    from sklearn.preprocessing import StandardScaler

    for member, mine in zip(group.members(), rows, strict=True):
        expected = StandardScaler().fit(X[mine]).transform(X[:400])
        np.testing.assert_allclose(member.scaled(X[:400]), expected, rtol=1e-4, atol=1e-5)

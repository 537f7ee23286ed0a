"""BagPredictions: means in a fixed order, leave-one-out, saving without pickle, tail stability."""

import json
import os
import pickle
import shutil

import numpy as np
import pytest

import steadyset as ss
from steadyset import _native
from steadyset.bags import _predictions


def make(n_bags=40, n_points=6, n_classes=3, n=20, dtype=np.float64, seed=0, **draw):
    rng = np.random.default_rng(seed)
    bags = ss.draw_bags(n, n_bags, 0.5, seed=seed, **draw)
    proba = rng.dirichlet(np.ones(n_classes), (n_bags, n_points)).astype(dtype)
    return ss.BagPredictions(proba, bags, [f"c{j}" for j in range(n_classes)])


def sum_by_definition(proba, take):
    total = np.zeros(proba.shape[1:])
    for start in range(0, len(proba), _predictions.BLOCK):
        part = None
        for b in range(start, min(start + _predictions.BLOCK, len(proba))):
            if take[b]:
                part = proba[b].astype(np.float64) if part is None else part + proba[b].astype(np.float64)
        if part is not None:
            total = total + part
    return total


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1, 1), (17, 5, 3), (64, 700, 10), (33, 1, 4)])
def test_mean_is_the_definition_to_the_bit(dtype, shape, isa):
    made = make(*shape, dtype=dtype)
    expected = sum_by_definition(made.proba, np.ones(shape[0], bool)) / shape[0]
    assert np.array_equal(made.mean(), expected)
    assert made.mean().dtype == np.float64
    for threads in (1, 2, 3):
        out = np.empty(shape[1] * shape[2])
        _native.sum_bags(made.proba.reshape(shape[0], -1), None, _predictions.BLOCK, out, threads)
        assert np.array_equal(out.reshape(shape[1:]) / shape[0], expected)


def test_leave_one_out_is_the_mean_of_the_bags_without_the_row():
    made = make(n_bags=80)
    for row in range(20):
        free = ~made.bags.holds(row)
        assert np.array_equal(made.leave_one_out(row), sum_by_definition(made.proba, free) / free.sum())


def test_leave_one_out_warns_of_few_bags_and_refuses_none():
    made = make(n_bags=10)
    with pytest.warns(UserWarning, match="bags do not hold row 0: its leave-one-out mean is mostly noise"):
        made.leave_one_out(0)
    everywhere = ss.BagPredictions(made.proba[:2], ss.Bags.from_rows([[0, 1], [0, 2]], 3), made.classes)
    with pytest.raises(ValueError, match="got row 0, which all 2 hold"):
        everywhere.leave_one_out(0)
    with pytest.raises(ValueError, match="row must be a row position from 0 to 2; got 3"):
        everywhere.leave_one_out(3)


def test_some_of_the_points():
    made = make()
    some = made.at_points([4, 1])
    assert some == ss.BagPredictions(made.proba[:, [4, 1]], made.bags, made.classes)
    assert np.array_equal(some.mean(), made.mean()[[4, 1]])
    for points in ([], [6], [-1], [0.5]):
        with pytest.raises(ValueError, match="points must be one or more row positions from 0 to 5"):
            made.at_points(points)


def test_concatenation():
    one, two = make(seed=1), make(seed=2)
    both = ss.BagPredictions.concatenate([one, two])
    assert both.n_bags == 80
    assert np.array_equal(both.proba, np.concatenate([one.proba, two.proba]))
    assert both.bags.coupling == "hash"
    with pytest.raises(ValueError, match="same points; got 6 and 5"):
        ss.BagPredictions.concatenate([one, make(n_points=5, seed=3)])
    with pytest.raises(ValueError, match="same classes"):
        ss.BagPredictions.concatenate([one, ss.BagPredictions(two.proba, two.bags, "abc")])
    with pytest.raises(ValueError, match="of seed 1 twice"):
        ss.BagPredictions.concatenate([one, one])


VARIANTS = {
    "positions": {},
    "names": {"sample_ids": [f"row {i}" for i in range(20)]},
    "numbers": {"sample_ids": range(100, 120)},
    "bootstrap": {"resampling": "bootstrap"},
    "float32": {"dtype": np.float32},
}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("mmap", [None, True, False])
def test_saved_and_loaded_to_the_bit(tmp_path, variant, mmap):
    made = make(**VARIANTS[variant])
    made.save(tmp_path / "saved")
    again = ss.BagPredictions.load(tmp_path / "saved", mmap=mmap)
    assert again == made
    assert again.proba.dtype == made.proba.dtype
    assert again.proba.tobytes() == made.proba.tobytes()
    assert isinstance(again.proba, np.memmap) == (mmap is True)
    assert again.bags == made.bags
    assert [b.tolist() for b in again.bags] == [b.tolist() for b in made.bags]
    assert again.mean().tobytes() == made.mean().tobytes()
    assert again.bags.with_bags(50) == made.bags.with_bags(50)
    assert sorted(os.listdir(tmp_path)) == ["saved"]


@pytest.mark.parametrize(
    "classes", [["a", "b", "ü"], [0, 5, 7], [0.5, 1.5, 2.5], np.array([3, 1, 2], np.int8), ["a", 1, None]]
)
def test_classes_of_any_kind_survive(tmp_path, classes):
    made = ss.BagPredictions(make().proba, make().bags, classes)
    made.save(tmp_path / "saved")
    again = ss.BagPredictions.load(tmp_path / "saved")
    assert again.classes.tolist() == list(classes)
    assert again.classes.dtype == made.classes.dtype


def test_adopted_bags_survive(tmp_path):
    bags = ss.Bags.from_rows([[0, 1], [1, 1, 2]], 3)
    made = ss.BagPredictions(np.full((2, 4, 2), 0.5), bags, "ab")
    made.save(tmp_path / "saved")
    assert ss.BagPredictions.load(tmp_path / "saved") == made


def test_large_predictions_are_mapped(tmp_path, monkeypatch):
    from steadyset._base import saved_folders

    monkeypatch.setattr(saved_folders, "MAP_FROM", 1000)
    made = make()
    made.save(tmp_path / "saved")
    assert isinstance(ss.BagPredictions.load(tmp_path / "saved").proba, np.memmap)


def test_saving_replaces_only_what_it_may(tmp_path):
    made = make()
    made.save(tmp_path / "saved")
    with pytest.raises(FileExistsError, match="folder must be new or empty"):
        made.save(tmp_path / "saved")
    other = make(seed=5)
    other.save(tmp_path / "saved", overwrite=True)
    assert ss.BagPredictions.load(tmp_path / "saved") == other
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("precious")
    with pytest.raises(FileExistsError):
        made.save(tmp_path / "mine", overwrite=True)
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "precious"
    assert sorted(os.listdir(tmp_path)) == ["mine", "saved"]


def edit(folder, change):
    path = folder / "steadyset.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))


def truncate(path, keep):
    path.write_bytes(path.read_bytes()[:keep])


def flip(path):
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)


def pickled(folder):
    path = folder / "proba.npy"
    np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    import zlib

    data = path.read_bytes()
    edit(folder, lambda m: m["files"].__setitem__("proba", {"bytes": len(data), "crc32": zlib.crc32(data)}))


DAMAGE = {
    "no folder": (shutil.rmtree, "folder must hold steadyset.json"),
    "no manifest": (lambda f: (f / "steadyset.json").unlink(), "folder must hold steadyset.json"),
    "truncated manifest": (lambda f: truncate(f / "steadyset.json", 40), "must be a JSON object"),
    "manifest is a list": (lambda f: (f / "steadyset.json").write_text("[1]"), "must be a JSON object"),
    "foreign folder": (lambda f: edit(f, lambda m: m.update(format="other.Thing")), "must hold saved BagPredictions"),
    "newer version": (lambda f: edit(f, lambda m: m.update(version=2)), "format version 1; got version 2"),
    "no array": (lambda f: (f / "proba.npy").unlink(), "must hold proba.npy"),
    "truncated array": (lambda f: truncate(f / "proba.npy", 500), "bytes long; got 500"),
    "empty array file": (lambda f: truncate(f / "bags_bits.npy", 0), "bytes long; got 0"),
    "flipped bit": (lambda f: flip(f / "proba.npy"), "checksum"),
    "flipped bag": (lambda f: flip(f / "bags_bits.npy"), "checksum"),
    "pickle inside": (pickled, "plain NumPy array file"),
    "swapped arrays": (
        lambda f: shutil.copy(f / "bags_bits.npy", f / "proba.npy"),
        "5888 bytes long; got 248.* is damaged",
    ),
    "no classes": (lambda f: edit(f, lambda m: m.pop("classes")), "without 'classes'"),
    "too few classes": (lambda f: edit(f, lambda m: m["classes"]["values"].pop()), "proba must have the shape"),
    "no bags": (lambda f: edit(f, lambda m: m.pop("bags")), "without 'bags'"),
    "bags of other rows": (lambda f: edit(f, lambda m: m["bags"].update(n_samples=99)), "bags that fit their manifest"),
    "bags without a field": (lambda f: edit(f, lambda m: m["bags"].pop("parts")), "is damaged"),
    "no files": (lambda f: edit(f, lambda m: m.pop("files")), "without a list of files"),
    "nonsense numbers": (
        lambda f: edit(f, lambda m: m["bags"].update(n_bags="many")),
        "invalid literal for int.*: 'many'",
    ),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_folder_is_refused_with_a_sentence(tmp_path, damage):
    spoil, sentence = DAMAGE[damage]
    make().save(tmp_path / "saved")
    spoil(tmp_path / "saved")
    with pytest.raises((ValueError, FileNotFoundError), match=sentence):
        ss.BagPredictions.load(tmp_path / "saved")


def test_predictions_pickle_and_stay_equal():
    made = make()
    assert pickle.loads(pickle.dumps(made)) == made


BAD = {
    "shape": (lambda m: (m.proba[0], m.bags, m.classes), r"proba must have the shape .* got \(6, 3\)"),
    "number of bags": (lambda m: (m.proba[:-1], m.bags, m.classes), r"= \(40, any, 3\); got \(39, 6, 3\)"),
    "number of classes": (lambda m: (m.proba, m.bags, "ab"), r"= \(40, any, 2\)"),
    "same class twice": (lambda m: (m.proba, m.bags, "aba"), "classes must be distinct; got 'a' more than once"),
    "nan": (lambda m: (changed(m, np.nan), m.bags, m.classes), r"finite; got .* from bag 7 at point 4"),
    "negative": (lambda m: (changed(m, -0.2), m.bags, m.classes), r"no negative ones; got .* from bag 7 at point 4"),
    "sum": (
        lambda m: (changed(m, 0.9999), m.bags, m.classes),
        r"a sum of 1 within 1e-06; got .* from bag 7 at point 4",
    ),
    "text": (lambda m: (m.proba.astype(str), m.bags, m.classes), "proba must hold numbers"),
    "no bags": (lambda m: (m.proba, [1, 2], m.classes), r"bags must be a steadyset\.Bags"),
}


def changed(made, value):
    proba = made.proba.copy()
    proba[7, 4, 0] = value
    return proba


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case):
    change, sentence = BAD[case]
    with pytest.raises((ValueError, TypeError), match=sentence):
        ss.BagPredictions(*change(make()))


def test_tail_stability_is_the_literal_share(monkeypatch):
    from steadyset.audit import _tail_stability

    made = make(n_bags=120, n_points=9, n=25)
    mean = made.mean()
    moves = np.array([np.linalg.norm(made.leave_one_out(i) - mean, axis=1) for i in range(25)])
    for epsilon in (0.005, 0.02, 0.04, 0.1):
        assert np.allclose(ss.tail_stability(made, epsilon), (moves >= epsilon).mean(axis=0), atol=1e-12)
    monkeypatch.setattr(_tail_stability, "_BLOCK_BYTES", 1)
    assert np.allclose(ss.tail_stability(made, 0.02), (moves >= 0.02).mean(axis=0), atol=1e-12)


def test_tail_stability_refuses_what_it_cannot_answer():
    with pytest.raises(TypeError, match=r"must be a steadyset\.BagPredictions"):
        ss.tail_stability(np.ones((2, 3)), 0.1)
    with pytest.raises(ValueError, match="epsilon must be a finite number above 0; got 0"):
        ss.tail_stability(make(), 0)
    everywhere = ss.BagPredictions(np.full((2, 1, 2), 0.5), ss.Bags.from_rows([[0, 1], [0, 2]], 3), "ab")
    with pytest.raises(ValueError, match="got row 0 in all 2"):
        ss.tail_stability(everywhere, 0.1)


def test_tail_stability_with_a_compatible_rule_bounds_the_conflicts():
    """Tail stability (eps, delta) and an eps-compatible rule give selection stability delta, point by point."""
    made = make(n_bags=150, n_points=200, n=30)
    rule = ss.InflatedArgmax(0.05)
    sets = rule(made.mean())
    conflicts = np.mean([~(sets & rule(made.leave_one_out(i))).any(axis=1) for i in range(30)], axis=0)
    measured = ss.tail_stability(made, 0.05)
    assert np.all(conflicts <= measured)
    assert ss.Guarantee.from_tail_stability(0.05, float(measured.max()), rule).delta == measured.max()

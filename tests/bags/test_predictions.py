"""BagPredictions: means in a fixed order, leave-one-out, saving without pickle, tail stability."""

import json
import os
import pickle
import re
import shutil

import numpy as np
import pytest

import steadyset as ss
from helpers.saved_files import array_file, change_array, edit, flip, manifest_of, put_array, put_file, truncate
from steadyset import _native
from steadyset.bags import _predictions, content_ids


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
    assert both.bags.coupling == "any"
    with pytest.raises(ValueError, match="same points; got 6 and 5"):
        ss.BagPredictions.concatenate([one, make(n_points=5, seed=3)])
    with pytest.raises(ValueError, match="same classes"):
        ss.BagPredictions.concatenate([one, ss.BagPredictions(two.proba, two.bags, "abc")])
    with pytest.raises(ValueError, match="of seed 1 twice"):
        ss.BagPredictions.concatenate([one, one])


def test_parts_that_fit_keep_their_certificates():
    whole = make(sample_ids=range(20))
    cuts = (slice(0, 7), slice(7, 8), slice(8, None))
    parts = [ss.BagPredictions(whole.proba[cut], whole.bags[cut], whole.classes) for cut in cuts]
    again = ss.BagPredictions.concatenate(parts)
    assert again == whole
    proved, at_once = (vars(ss.certify(made, ss.InflatedArgmax(0.1))) for made in (again, whole))
    assert proved.keys() == at_once.keys()
    for name, value in at_once.items():
        assert np.array_equal(proved[name], value), name


VARIANTS = {
    "positions": {},
    "names": {"sample_ids": [f"row {i}" for i in range(20)]},
    "numbers": {"sample_ids": range(100, 120)},
    "content": {"sample_ids": content_ids(np.arange(20).reshape(20, 1) // 3)},
    "bootstrap": {"resampling": "bootstrap"},
    "named bootstrap": {"resampling": "bootstrap", "sample_ids": content_ids(np.arange(20).reshape(20, 1))},
    "float32": {"dtype": np.float32},
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_bags_are_saved_by_themselves(tmp_path, variant):
    bags = make(**VARIANTS[variant]).bags[3:9]
    bags.save(tmp_path / "bags")
    assert ss.Bags.load(tmp_path / "bags") == bags
    with pytest.raises(ValueError, match="folder must hold saved BagPredictions"):
        ss.BagPredictions.load(tmp_path / "bags")
    bags.save(tmp_path / "bags", overwrite=True, ids=False)
    assert ss.Bags.load(tmp_path / "bags") == bags.without_ids()
    array = next((tmp_path / "bags").glob("bags_*.npy"))
    array.write_bytes(array.read_bytes()[:-1])
    with pytest.raises(ValueError, match=r"must be \d+ bytes long; got \d+: .* is damaged"):
        ss.Bags.load(tmp_path / "bags")


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


def set_bags(**said):
    return lambda f: edit(f, lambda m: m["bags"].update(said))


def unsigned(change):
    """Change the manifest, and leave its digest as it was."""

    def spoil(folder):
        manifest = manifest_of(folder)
        change(manifest)
        (folder / "steadyset.json").write_text(json.dumps(manifest))

    return spoil


DAMAGE = {
    "no folder": (shutil.rmtree, "folder must hold steadyset.json"),
    "no manifest": (lambda f: (f / "steadyset.json").unlink(), "folder must hold steadyset.json"),
    "truncated manifest": (lambda f: truncate(f / "steadyset.json", 40), "must be a JSON object"),
    "manifest is a list": (lambda f: (f / "steadyset.json").write_text("[1]"), "must be a JSON object"),
    "nested manifest": (lambda f: (f / "steadyset.json").write_text("[" * 100_000), "must be a JSON object"),
    "manifest is a pipe": (
        lambda f: ((f / "steadyset.json").unlink(), os.mkfifo(f / "steadyset.json")),
        "folder must hold steadyset.json",
    ),
    "foreign folder": (lambda f: edit(f, lambda m: m.update(format="other.Thing")), "must hold saved BagPredictions"),
    "older version": (lambda f: edit(f, lambda m: m.update(version=2)), "format version 3; got version 2"),
    "newer version": (lambda f: edit(f, lambda m: m.update(version=4)), "format version 3; got version 4"),
    "another bag size": (unsigned(lambda m: m["bags"].update(bag_size=9)), "must have the digest that it states"),
    "another class": (unsigned(lambda m: m["classes"]["values"].reverse()), "must have the digest that it states"),
    "another seed": (unsigned(lambda m: m["bags"]["parts"][0].__setitem__(0, "1")), "digest that it states"),
    "no array": (lambda f: array_file(f, "proba").unlink(), "must hold proba.npy"),
    "truncated array": (lambda f: truncate(array_file(f, "proba"), 500), "bytes long; got 500"),
    "empty array file": (lambda f: truncate(array_file(f, "bags_bits"), 0), "bytes long; got 0"),
    "flipped bit": (lambda f: flip(array_file(f, "proba")), "must have the digest of its manifest"),
    "flipped bag": (lambda f: flip(array_file(f, "bags_bits")), "must have the digest of its manifest"),
    "pickle inside": (
        lambda f: put_array(f, "proba", np.array([{"a": 1}], dtype=object), allow_pickle=True),
        "plain NumPy array file",
    ),
    "an array of all memory": (
        lambda f: put_file(f, "proba", array_file(f, "proba").read_bytes().replace(b"(40, 6, 3)", b"(40, 6,9**9)")),
        "plain NumPy array file",
    ),
    "an array outside": (
        lambda f: edit(f, lambda m: m["files"].__setitem__("../proba", m["files"]["proba"])),
        "without a list of files",
    ),
    "swapped arrays": (
        lambda f: shutil.copy(array_file(f, "bags_bits"), array_file(f, "proba")),
        "5888 bytes long; got 248.* is damaged",
    ),
    "no classes": (lambda f: edit(f, lambda m: m.pop("classes")), "without 'classes'"),
    "too few classes": (lambda f: edit(f, lambda m: m["classes"]["values"].pop()), "proba must have the shape"),
    "a class twice": (
        lambda f: edit(f, lambda m: m["classes"].update(values=["a", "b", "a"])),
        "classes must be distinct",
    ),
    "classes of another kind": (lambda f: edit(f, lambda m: m["classes"].update(dtype="<i8")), "invalid literal"),
    "no bags": (lambda f: edit(f, lambda m: m.pop("bags")), "without 'bags'"),
    "bags of other rows": (set_bags(n_samples=99), "got arrays that do not fit"),
    "bags without a field": (lambda f: edit(f, lambda m: m["bags"].pop("parts")), "its parts do not fit"),
    "no files": (lambda f: edit(f, lambda m: m.pop("files")), "without a list of files"),
    "nonsense numbers": (set_bags(n_bags="many"), "n_bags must be a whole number"),
    "negative bag size": (set_bags(bag_size=-3), "bag_size must be a whole number from 1 to 19; got -3"),
    "another bag size, signed": (set_bags(bag_size=9), "bags must have bag_size = 9 rows"),
    "another seed, signed": (set_bags(parts=[["1", 0, 40]]), "bags must be those that seed 1 draws"),
    "other bag numbers": (set_bags(parts=[["0", 1, 40]]), "bags must be those that seed 0 draws"),
    "bags of two seeds": (set_bags(parts=[["0", 0, 20], ["1", 20, 20]]), "bags must be those that seed 1 draws"),
    "a bag twice": (set_bags(parts=[["0", 0, 20], ["0", 0, 20]]), "got bag 0 of seed 0 twice"),
    "too few seeds": (set_bags(parts=[["0", 0, 39]]), "the seeds must stand for 40 bags"),
    "a negative seed": (set_bags(parts=[["-1", 0, 40]]), "whole numbers that are at least 0"),
    "adopted bags with a seed": (set_bags(resampling=None), "adopted bags must have no seed"),
    "bootstrap": (set_bags(resampling="bootstrap"), "bags must be those that seed 0 draws"),
    "unknown resampling": (set_bags(resampling="other"), "resampling must be"),
    "bags that hold others": (
        lambda f: change_array(f, "bags_bits", lambda bits: bits.__setitem__(3, bits[4])),
        "bags must be those that seed 0 draws",
    ),
    "an empty bag": (
        lambda f: change_array(f, "bags_bits", lambda bits: bits.__setitem__(3, 0)),
        "bags must hold at least one row; got bag 3",
    ),
    "rows that are not there": (
        lambda f: change_array(f, "bags_bits", lambda bits: bits.__setitem__((3, -1), 255)),
        "got arrays that do not fit",
    ),
    "negative probabilities": (
        lambda f: change_array(f, "proba", lambda proba: proba.__setitem__((0, 0), [-1, 1, 1])),
        "proba must hold probability vectors",
    ),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_folder_is_refused_with_a_sentence(tmp_path, damage):
    spoil, sentence = DAMAGE[damage]
    make().save(tmp_path / "saved")
    spoil(tmp_path / "saved")
    with pytest.raises((ValueError, FileNotFoundError), match=sentence) as caught:
        ss.BagPredictions.load(tmp_path / "saved")
    assert re.fullmatch(r"[^\n]+[^.\n]\.", str(caught.value))  # one sentence


def ids_twice(ids):
    ids[5] = ids[4]


def rows_twice(rows):
    rows[1] = rows[0]


SIGNED = {
    "ids twice": ("names", "bags_ids", ids_twice, "ids must be distinct"),
    "numbers twice": ("numbers", "bags_ids", ids_twice, "ids must be distinct"),
    "other ids": ("numbers", "bags_ids", lambda ids: ids.__setitem__(0, 99), "bags must be those that seed 0 draws"),
    "an equal row before": ("content", "bags_last_equal", lambda rows: rows.__setitem__(5, 0), "equal rows must be"),
    "an equal row that is not last": (
        "content",
        "bags_last_equal",
        lambda rows: rows.__setitem__(0, 1),
        "same last one",
    ),
    "a row twice": ("small bags", "bags_rows", rows_twice, "got arrays that do not fit"),
    "a row too many": ("small bags", "bags_rows", lambda rows: rows.__setitem__(0, 2000), "got arrays that do not fit"),
    "bags that overlap": ("small bags", "bags_offsets", lambda ends: ends.__setitem__(1, 9), "arrays that do not fit"),
    "an empty bag of rows": ("small bags", "bags_offsets", lambda ends: ends.__setitem__(-2, 80), "bag 39 without one"),
    "bags of other sizes": ("adopted", "bags_offsets", lambda ends: ends.__setitem__(1, 1), "bag_size = 2 rows"),
    "offsets that fall": ("small bags", "bags_offsets", lambda ends: ends.__setitem__(1, 70), "arrays that do not fit"),
    "draws of another seed": ("bootstrap", "bags_bits", lambda bits: bits.__setitem__(1, bits[0]), "that seed 0 draws"),
}


@pytest.mark.parametrize("case", SIGNED)
def test_bags_that_contradict_themselves_are_refused(tmp_path, case):
    variant, name, change, sentence = SIGNED[case]
    made = {"small bags": small_bags, "adopted": adopted_bags}.get(variant, lambda: make(**VARIANTS[variant]))()
    made.save(tmp_path / "saved")
    assert ss.BagPredictions.load(tmp_path / "saved") == made
    change_array(tmp_path / "saved", name, change)
    with pytest.raises(ValueError, match=sentence):
        ss.BagPredictions.load(tmp_path / "saved")


def small_bags():
    return ss.BagPredictions(make().proba, ss.draw_bags(2000, 40, 2), ["c0", "c1", "c2"])


def adopted_bags():
    return ss.BagPredictions(make().proba[:2], ss.Bags.from_rows([[0, 1], [1, 2]], 3), ["c0", "c1", "c2"])


def test_bags_without_ids_are_checked_as_far_as_they_can_be(tmp_path):
    made = make(**VARIANTS["names"])
    made.save(tmp_path / "saved", ids=False)
    assert ss.BagPredictions.load(tmp_path / "saved").bags.coupling == "hash"
    edit(tmp_path / "saved", lambda m: m["bags"].update(bag_size=9))
    with pytest.raises(ValueError, match="bags must have bag_size = 9 rows"):
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

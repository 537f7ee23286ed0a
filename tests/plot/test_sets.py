"""Histogram, ambiguity, influence and images: the numbers, and that the picture shows them."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given

import steadyset as ss
from helpers.figures import check_readable
from helpers.metric_cases import cases
from steadyset import metrics, plot

CLASSES = ["T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"]


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(4)
    proba = rng.dirichlet(np.full(10, 0.25), 400)
    y = [CLASSES[rng.choice(10, p=row)] for row in proba]
    return proba, y


@given(cases())
def test_histogram_counts(case):
    if not len(case.mask):
        with pytest.raises(ValueError, match="sets must hold at least one row"):
            plot.compute_set_size_histogram(case.mask)
        return
    found = plot.compute_set_size_histogram({"these": case.mask, "all": np.ones_like(case.mask)})
    sizes = [len(s) for s in case.sets]
    for size, share in zip(found.sizes, found.shares[0], strict=True):
        assert share == sizes.count(size) / len(sizes)
    assert found.shares.sum(axis=1) == pytest.approx([1, 1])


def test_histogram_picture(sample):
    proba, _ = sample
    sets = {"argmax": ss.argmax_set(proba), "inflated": ss.inflated_argmax(proba, 0.4), "top 3": ss.top_k(proba, 3)}
    ax = plot.set_size_histogram(sets)
    check_readable(ax)
    found = plot.compute_set_size_histogram(sets)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(sets)
    for bars, shares in zip(ax.containers, found.shares, strict=True):
        assert [bar.get_height() for bar in bars] == pytest.approx(shares)
        for bar, size in zip(bars, found.sizes, strict=True):
            assert abs(bar.get_x() + bar.get_width() / 2 - size) < 0.5
    edges = sorted((bar.get_x(), bar.get_x() + bar.get_width()) for bars in ax.containers for bar in bars)
    assert all(right <= left + 1e-9 for (_, right), (left, _) in itertools.pairwise(edges))


@given(cases())
def test_ambiguity_agrees_with_the_pairs(case):
    found = plot.compute_ambiguity_matrix(case.mask, case.y, classes=case.classes)
    pairs = metrics.by_pair(case.y, case.mask, classes=case.classes)
    assert np.array_equal(found.together, found.together.T)
    assert np.triu(found.together).sum() == sum(pairs["n_sets"])
    for (first, second), count, a, b in zip(
        *(pairs[c] for c in ("pair", "n_sets", "first_right", "second_right")), strict=True
    ):
        i, j = case.classes.index(first), case.classes.index(second)
        assert found.together[i, j] == count
        assert (found.right[i, j], found.right[j, i]) == pytest.approx((a, b))
    assert np.isnan(found.right[found.together == 0]).all()


@pytest.mark.parametrize("with_truth", [False, True])
def test_ambiguity_picture(sample, with_truth):
    proba, y = sample
    sets = ss.inflated_argmax(proba, 0.3)
    ax = plot.ambiguity_matrix(sets, y if with_truth else None, classes=CLASSES)
    check_readable(ax)
    found = plot.compute_ambiguity_matrix(sets, y, classes=CLASSES)
    assert [label.get_text() for label in ax.get_yticklabels()] == CLASSES
    shown = {tuple(map(round, text.get_position())): text.get_text() for text in ax.texts}
    for row, column in zip(*np.nonzero(found.together), strict=True):
        expected = f"{found.together[row, column]}"
        if with_truth:
            expected += f"\n{found.right[row, column]:.0%}"
        assert shown.pop((column, row)) == expected
    assert not shown
    drawn = ax.images[0].get_array()
    assert np.array_equal(drawn.filled(0), found.together)


def test_many_labels_leave_the_numbers_out():
    sets = np.ones((3, 30), bool)
    assert not plot.ambiguity_matrix(sets).texts


def test_no_pair_at_all():
    ax = plot.ambiguity_matrix(np.eye(3, dtype=bool))
    check_readable(ax)
    assert not ax.texts
    assert ax.images[0].get_array().filled(0).tolist() == [[0, 0, 0]] * 3


def test_influence():
    audit = SimpleNamespace(row_influence=np.array([0.1, 0.4, 0.0, 0.4]), left_out=np.array([900, 17, 3, 250]))
    found = plot.compute_influence(audit, n_rows=3)
    assert found.rows.tolist() == [17, 250, 900]
    assert found.influence.tolist() == [0.4, 0.4, 0.1]
    ax = plot.influence(audit, n_rows=3)
    check_readable(ax)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["17", "250", "900"]
    assert [bar.get_width() for bar in ax.patches] == [0.4, 0.4, 0.1]
    assert ax.get_ylim()[0] > ax.get_ylim()[1], "the largest is on top"
    assert ax.get_ylabel() == "training row (top 3 of 4)"


def test_images_with_their_sets(sample):
    proba, y = sample
    sets = ss.inflated_argmax(proba, 0.3)
    chosen = np.argsort(-sets.sum(axis=1))[:12]
    images = np.random.default_rng(0).random((12, 28, 28))
    truth = [y[i] for i in chosen]
    ax = plot.plot_sets(images, sets[chosen], classes=CLASSES, y_true=truth, n_columns=4)
    check_readable(ax)
    assert len(ax.images) == len(ax.texts) == 12
    for text, named, true in zip(ax.texts, ss.to_labels(sets[chosen], CLASSES), truth, strict=True):
        label_set = text.get_text().split("\n✗ ")[0].replace("\n", " ").split(", ")
        assert label_set == list(named)
        missed = true not in named
        assert text.get_text().endswith(f"✗ {true}") == missed
    boxes = [image.get_extent() for image in ax.images]
    assert len({(left, top) for left, _, _, top in boxes}) == 12
    assert boxes[1][0] > boxes[0][1], "the second is beside the first"
    assert boxes[4][3] < boxes[0][2], "the fifth is beneath the first"
    assert np.array_equal(ax.images[3].get_array(), images[3])


def test_colour_images_and_empty_sets():
    ax = plot.plot_sets(np.zeros((1, 4, 4, 3)), [[False, False]])
    assert ax.texts[0].get_text() == "(none)"


BAD = {
    "images": (
        lambda: plot.plot_sets(np.zeros((2, 4, 4)), np.ones((3, 2), bool)),
        "images must be 3 images, one for each row of sets and at least one; got shape (2, 4, 4).",
    ),
    "mask of ints": (
        lambda: plot.set_size_histogram([[1, 0]]),
        "sets must be a bool array whose last axis is the labels; got dtype int64 and shape (1, 2).",
    ),
    "unknown label": (
        lambda: plot.ambiguity_matrix([[True, False]], ["z"], classes=["a", "b"]),
        "y_true must hold labels that classes names; got 'z' in row 0.",
    ),
    "left out": (
        lambda: plot.influence(SimpleNamespace(row_influence=[0.1], left_out=[1, 2])),
        "left_out must have the shape of row_influence, (1,); got (2,).",
    ),
    "columns": (
        lambda: plot.plot_sets(np.zeros((1, 4, 4)), [[True]], n_columns=0),
        "n_columns must be a whole number from 1 to 2**53; got 0.",
    ),
}


@pytest.mark.parametrize("case", BAD, ids=str)
def test_one_sentence(case):
    call, sentence = BAD[case]
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert str(caught.value) == sentence

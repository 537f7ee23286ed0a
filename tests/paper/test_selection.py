"""The two published set-ups of model selection: the batched LASSO against scikit-learn's, and a small run."""

import json

import numpy as np
import pytest
from sklearn.linear_model import Lasso

import steadyset as ss
from steadyset.paper import selection
from steadyset.paper._batched_lasso import supports


@pytest.mark.parametrize("penalty", [0.05, 0.5])
def test_supports_are_those_of_scikit_learn(penalty):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((30, 20))
    X[:, 1] = X[:, 0] + 0.1 * rng.standard_normal(30)
    X[:, 3] = X[:, 2] + 0.1 * rng.standard_normal(30)
    y = X[:, 0] + X[:, 2] + 0.3 * rng.standard_normal(30) + 7
    bags = ss.draw_bags(30, 60, 25, seed=4)
    found = supports(X, y, bags.membership(), penalty)
    for bag, rows in enumerate(bags):
        exact = Lasso(alpha=penalty, tol=1e-13, max_iter=10_000_000).fit(X[rows], y[rows]).coef_
        assert np.array_equal(found[bag], np.abs(exact) > 1e-9)
    assert len(np.unique(found, axis=0)) > 3


def test_instability_is_that_of_the_public_audit():
    members = ss.draw_bags(30, 400, 25, seed=11)
    found = selection.clusters(400, 0, 11)
    rng = np.random.default_rng([0, 2, 11])
    points = np.vstack([rng.normal(m, s, (n, 2)) for m, s, n in ((1.5, 1, 5), (3.5, 1, 5), (2.5, 0.3, 20))])
    votes = [selection.elbow(points[rows]) for rows in members]
    for epsilon in (0.1, 0.5):
        choice = ss.stable_choice(votes, epsilon, members)
        row = found[f"inflated argmax, epsilon {epsilon:g}"]
        assert row.instability == choice.audit().max_instability
        assert row.size == len(choice.candidates)


def test_elbow_finds_clusters_that_are_far_apart():
    rng = np.random.default_rng(0)
    for corners in ([(0, 0), (9, 9)], [(0, 0), (9, 0), (4.5, 8)]):  # of a square the two sides are the elbow
        points = np.vstack([np.array(corner) * 10.0 + rng.standard_normal((8, 2)) for corner in corners])
        assert selection.elbow(points) == len(corners)


def test_small_run_writes_its_files(tmp_path):
    files = selection.reproduce(tmp_path, n_lasso=2, n_clusters=2, n_bags=60)
    assert all(file.stat().st_size > 500 for file in files)
    numbers = json.loads((tmp_path / "selection.json").read_text())
    assert set(numbers["LASSO"]) >= {"argmax", "top 2", "one LASSO", "features in 50% of bags"}
    page = (tmp_path / "results.md").read_text()
    assert "| argmax |" in page
    assert page.count("| top k | its size | its worst |") == 2
    for name in ("LASSO", "clusters"):
        table = numbers[name]
        sizes = {epsilon: table[f"inflated argmax, epsilon {epsilon:g}"]["mean_size"] for epsilon in selection.PATH}
        assert sorted(sizes.values()) == list(sizes.values())  # sets are nested in epsilon
        matched = max(epsilon for epsilon, size in sizes.items() if size <= table["top 2"]["mean_size"])
        assert f"| {matched:g} | {sizes[matched]:.3f} |" in page


def test_a_run_that_was_interrupted_goes_on(tmp_path, monkeypatch):
    def run(name):
        selection.reproduce(tmp_path / name, n_lasso=2, n_clusters=1, n_bags=40)
        return (tmp_path / name / "selection.json").read_bytes()

    def stop(*_):
        raise KeyboardInterrupt

    straight = run("straight")
    with monkeypatch.context() as patched:
        patched.setattr(selection, "clusters", stop)
        with pytest.raises(KeyboardInterrupt):
            run("stopped")
    kept = tmp_path / "stopped" / "unfinished.jsonl"
    assert len(kept.read_text().splitlines()) == 2
    with kept.open("a") as file:
        file.write('{"settings": {"n_bags"')  # a line that was cut off
    monkeypatch.setattr(selection, "lasso", stop)  # which is not asked again
    assert run("stopped") == straight
    assert not kept.exists()

"""`steadyset fit --delta`, and the options that a fit which promises little names: added to it, they work."""

import itertools
import json
import re
import shlex

import numpy as np
import pytest

import steadyset as ss
from steadyset.cli._promise_hint import hint

SETTINGS = itertools.product((25, 90, 400, 2_000, 60_000), (2, 7), (5, 300, 1_700), (0.5, 0.1), (0.05, 0.15))


def options_of(words):
    return shlex.split(re.search(r"(?:added to this command|of this table), (--delta .*?) promises", words).group(1))


def bags_of(words):
    numbers = re.search(r"with ([\d,]+) bags of ([\d,]+) row", words).groups()
    return [int(text.replace(",", "")) for text in numbers]


def test_every_hint_is_within_reason_and_true():
    seen = set()
    for n_samples, n_classes, n_bags, share, epsilon in SETTINGS:
        setting = {"n_samples": n_samples, "n_classes": n_classes}
        guarantee = ss.selection_stability(**setting, n_bags=n_bags, bag_size=share, epsilon=epsilon)
        if guarantee.delta <= 0.05:
            continue
        words = hint(guarantee, ss.InflatedArgmax(epsilon))
        options = options_of(words)
        given = dict(zip(options[::2], options[1::2], strict=True))
        bags, size = bags_of(words)
        assert bags == int(given.get("--n-bags", n_bags))
        promised = ss.selection_stability(
            **setting, n_bags=bags, bag_size=size, epsilon=float(given.get("--epsilon", epsilon))
        )
        assert promised.delta <= 0.05
        assert size <= guarantee.bag_size
        least = min(max(30, 10 * n_classes), guarantee.bag_size)
        small = "larger bags would take more rows" in words
        assert small == (size < least)
        if small:
            for number in {n_bags, max(n_bags, 500)}:
                assert ss.selection_stability(**setting, n_bags=number, bag_size=least, epsilon=0.5).delta > 0.05
        seen.add((*given, small))
    assert seen >= {
        ("--delta", False),
        ("--delta", "--n-bags", False),
        ("--delta", "--n-bags", "--epsilon", False),
        ("--delta", "--n-bags", "--epsilon", True),
    }


def test_a_rule_without_an_epsilon_is_told_of_one_that_has():
    guarantee = ss.selection_stability(n_samples=90, n_classes=2, n_bags=600, bag_size=0.5, epsilon=0.05)
    assert "--epsilon" in hint(guarantee, ss.InflatedArgmax(0.05))
    words = hint(guarantee, ss.MassThreshold(0.52))
    assert words.startswith("90 training rows are too few for a promise of 5 in 100 under MassThreshold(")
    assert words.endswith("--rule inflated-argmax has an epsilon that can be chosen larger")


@pytest.mark.parametrize("rows", [2, 4, 30])
@pytest.mark.parametrize("learner", ["forest", "neighbors"])
def test_no_table_is_too_small_for_a_call_that_mends_it(rows, learner, run, tmp_path):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "d.npz", X=rng.normal(size=(rows, 2)), y=np.arange(rows) % 2)
    command = ["fit", tmp_path / "d.npz", "--estimator", learner, "--n-jobs", 1, "--json", "-o", tmp_path / "m.skops"]
    if learner == "neighbors":
        command += ["--param", "n_neighbors=1"]
    told = run(*command)
    if json.loads(told.stdout)["guarantee"]["delta"] <= 0.1:
        assert learner == "neighbors"
        return
    words = re.search(r"note: (this promises little.*)\n", told.stderr).group(1)
    found = json.loads(run(*command, *options_of(words)).stdout)
    assert found["guarantee"]["delta"] <= 0.05
    bags = "infinitely many" if learner == "neighbors" else f"{found['n_bags']:,}"
    assert f"with {bags} bags of {found['bag_size']:,} row" in words


@pytest.mark.parametrize(("rows", "options"), [(300, []), (900, ["--epsilon", 0.06]), (600, ["--bag-size", 40])])
def test_added_to_the_command_they_keep_the_promise(rows, options, run, tmp_path):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "d.npz", X=rng.normal(size=(rows, 2)), y=rng.integers(0, 2, rows))
    command = ["fit", tmp_path / "d.npz", "--estimator", "naive-bayes", "--n-bags", 30, "--n-jobs", 1, "--no-score"]
    command += [*options, "-o", tmp_path / "m.skops"]
    told = run(*command).stderr
    words = re.search(r"note: (this promises little.*)\n", told).group(1)
    found = json.loads(run(*command, *options_of(words), "--json").stdout)
    assert found["guarantee"]["delta"] <= 0.05
    assert f"{found['n_bags']:,} bags of {found['bag_size']:,} rows" in words
    assert found["delta"] == 0.05


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_refit_names_the_fit_that_would_promise_more(form, run, tmp_path):
    rng = np.random.default_rng(0)
    X, y, table, model = rng.normal(size=(300, 2)), rng.integers(0, 2, 300), tmp_path / "d.npz", tmp_path / "m.skops"
    np.savez(table, X=X, y=y)
    fit = ["fit", table, "--estimator", "naive-bayes", "--n-bags", 30, "--n-jobs", 1, "--no-score", "-o", model]
    run(*fit, "-q")
    np.savez(table, X=X[1:], y=y[1:])
    told = run("refit", model, table, "--n-jobs", 1, "--no-score", *form).stderr
    words = re.search(r"note: (this promises little; in a new `steadyset fit` of this table.*)\n", told).group(1)
    assert json.loads(run(*fit, *options_of(words), "--json").stdout)["guarantee"]["delta"] <= 0.05
    assert "promises little" not in run("refit", model, table, "--n-jobs", 1, "--no-score", *form).stderr


def test_delta_and_auto_on_the_command_line(run, tmp_path):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "d.npz", X=rng.normal(size=(300, 2)), y=rng.integers(0, 2, 300))
    command = ["fit", tmp_path / "d.npz", "--estimator", "naive-bayes", "--n-jobs", 1, "-o", tmp_path / "m.skops"]
    found = json.loads(
        run(*command, "--n-bags", "auto", "--bag-size", 30, "--epsilon", 0.3, "--delta", 0.05, "--json").stdout
    )
    assert found["guarantee"]["delta"] <= 0.05
    assert found["bag_size"] == 30
    told = run(*command, "--n-bags", 10, "--delta", 0.001, "--epsilon", 0.01, code=2).stderr
    assert re.search(r"steadyset fit: delta must be a promise .* would do\.", told)
    assert "n_bags must be a whole number or \"auto\"; got 'few'" in run(*command, "--n-bags", "few", code=2).stderr

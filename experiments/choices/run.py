"""How steady choices are: `python experiments/choices/run.py` writes results.json and results.md.

search: a grid of 12 settings of a tree on the digits, searched once on all rows and by the votes of 100 bags; then the
plain search again without each of 100 rows, and the votes without each of them, by reuse of bags and, for the first
`--refitted` of them, by a new fit, in which bags with the rows of an old one take its answer over. features: 100
redraws of a table with 5 true features among 30, selected by importances of trees. `--only search` or `--only features`
runs one of them and keeps the record of the other. What is done is kept beside this file, in unfinished.jsonl and
unfinished/: the same command goes on after an interruption.
"""

import argparse
import hashlib
import json
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_digits
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import steadyset as ss
from steadyset._base.whole_files import replacing
from steadyset.paper._each_data_set import Finished

HERE = Path(__file__).parent
GRID = {"max_depth": [5, 7, 9, 12, 15, 20], "min_samples_leaf": [1, 2]}
BAGS, BAG_SIZE, LEFT_OUT, SEED = 100, 898, 100, 0
EPSILONS = (0.1, 0.2, 0.3, 0.5)
REDRAWS, WANTED, N_FEATURES, FEATURE_EPSILON = 100, 5, 30, 0.01
EFFECTS = np.array([3, 2.5, 2, 1.5, 1])


def plain_search():
    return GridSearchCV(DecisionTreeClassifier(random_state=0), GRID, cv=3, refit=False)


def best(X, y, rows):
    """The setting that wins on some rows, as text."""
    return json.dumps(clone(plain_search()).fit(X[rows], y[rows]).best_params_, sort_keys=True)


class Remembered(BaseEstimator):
    """A search that knows its answer on the rows of some bags, and searches on all others."""

    def __init__(self, search, answers):
        self.search, self.answers = search, answers

    def fit(self, X, y):
        known = self.answers.get(digest(X, y))
        self.best_params_ = self.search.fit(X, y).best_params_ if known is None else json.loads(known)
        return self


def digest(X, y):
    return hashlib.sha256(X.tobytes() + y.tobytes()).hexdigest()


def stable_search(X, y, search=None, checkpoint=None):
    """The fitted search of bags, and their votes as text."""
    search = plain_search() if search is None else search
    model = ss.StableSearch(search, BAGS, max_samples=BAG_SIZE, random_state=SEED, checkpoint=checkpoint).fit(X, y)
    choice = model.choice_
    return model, [json.dumps(choice.outcomes[code].value, sort_keys=True) for code in choice.codes]


def plain_without(X, y, places, number):
    return {"plain": best(X, y, np.delete(np.arange(len(X)), places[number]))}


def votes_without(X, y, places, answers, number):
    kept = np.delete(np.arange(len(X)), places[number])
    model, votes = stable_search(X[kept], y[kept], Remembered(plain_search(), answers))
    if number == 0 and votes != stable_search(X[kept], y[kept])[1]:
        raise AssertionError("a fit that takes answers over must give the votes of one that does not.")
    new = sum(digest(X[kept][rows], y[kept][rows]) not in answers for rows in model.bags_)
    return {"votes": votes, "searched": new}


def search(n_jobs, n_refitted):
    X, y = load_digits(return_X_y=True)
    model, cast = stable_search(X, y, checkpoint=HERE / "unfinished")
    answers = {digest(X[rows], y[rows]): vote for rows, vote in zip(model.bags_, cast, strict=True)}
    places = np.random.default_rng(SEED).choice(len(X), LEFT_OUT, replace=False)
    finished = Finished(HERE / "unfinished.jsonl", {"grid": GRID, "bags": BAGS, "size": BAG_SIZE, "seed": SEED})
    plain = finished.each("plain", partial(plain_without, X, y, places), LEFT_OUT, n_jobs)
    others = finished.each("refitted", partial(votes_without, X, y, places, answers), n_refitted, n_jobs)
    refitted = [one["votes"] for one in others]
    reused = [[vote for bag, vote in enumerate(cast) if not model.bags_.holds(row)[bag]] for row in places]
    whole = best(X, y, np.arange(len(X)))
    flips = sum(one["plain"] != whole for one in plain)
    found = {"n_rows": len(X), "n_refitted": n_refitted, "plain": whole, "plain_flips": flips, "at": {}}
    found["searched_again"] = float(np.mean([one["searched"] for one in others])) if others else None
    for epsilon in EPSILONS:
        choice = ss.stable_choice(cast, epsilon, model.bags_)
        others = [[ss.stable_choice(votes, epsilon) for votes in some] for some in (reused, refitted)]
        found["at"][str(epsilon)] = {
            "set": [[setting, float(share)] for setting, share in zip(choice.candidates, choice.shares, strict=False)],
            "n_outcomes": len(choice.outcomes),
            "any_outcome": choice.any_outcome,
            "guarantee": choice.guarantee().delta,
            "audit": choice.audit().max_instability,
            "disjoint": [sum(not overlap(choice, other) for other in some) for some in others],
            "most_votes_flip": [sum(other.outcomes[0] != choice.outcomes[0] for other in some) for some in others],
        }
    return found


def overlap(one, other):
    return set(one.candidates) & set(other.candidates) or (one.any_outcome and other.any_outcome)


def redraw(number):
    """Which of the true features each selector finds, all of them at the size of the stable selection."""
    rng = np.random.default_rng([5, number])
    X = rng.standard_normal((100, N_FEATURES))
    y = X[:, :WANTED] @ EFFECTS + 2 * rng.standard_normal(100)
    tree = DecisionTreeRegressor(random_state=number)
    stable = ss.StableFeatureSelector(tree, WANTED, BAGS, epsilon=FEATURE_EPSILON, random_state=number).fit(X, y)
    size = int(stable.support_.sum())
    others = {
        "StableFeatureSelector": stable,
        "SelectFromModel": SelectFromModel(tree, max_features=size, threshold=-np.inf).fit(X, y),
        "RFE": RFE(tree, n_features_to_select=size).fit(X, y),
    }
    found = {name: np.flatnonzero(selector.get_support()[:WANTED]).tolist() for name, selector in others.items()}
    return {"size": size, "audit": stable.audit().max_instability, "found": found}


def features(n_jobs):
    finished = Finished(HERE / "unfinished.jsonl", {"redraws": REDRAWS, "bags": BAGS, "epsilon": FEATURE_EPSILON})
    results = finished.each("features", redraw, REDRAWS, n_jobs)
    names = list(results[0]["found"])
    times = {
        name: [sum(feature in one["found"][name] for one in results) for feature in range(WANTED)] for name in names
    }
    return {
        "redraws": REDRAWS,
        "mean_size": float(np.mean([one["size"] for one in results])),
        "worst_audit": max(one["audit"] for one in results),
        "times_selected": times,
        "all_five": {name: sum(len(one["found"][name]) == WANTED for one in results) for name in names},
    }


def page(record):
    refitted = record.get("search", {}).get("n_refitted", 5)
    command = "python experiments/choices/run.py" + (f" --refitted {refitted}" if refitted != 5 else "")
    lines = ["# How steady choices are", "", f"`{command}` makes this page again.", ""]
    if (one := record.get("search")) is not None:
        lines += [
            "## Which settings",
            "",
            f"A tree on the {one['n_rows']:,} digits, 12 settings, 3 folds; {BAGS} bags of {BAG_SIZE} rows. The plain "
            f"search, whose answer on all rows is {one['plain']}, gave another one without {one['plain_flips']} of "
            f"{LEFT_OUT} rows, left out one at a time. The votes without the same rows are those of the bags that do "
            f"not hold them; for the first {one['n_refitted']} also those of a search fitted again, whose bags "
            "that held the row are others. The audit leaves out every row by reuse of bags.",
            "",
            "| epsilon | settings in the set | disjoint | disjoint, new fit | audit, all rows | guarantee |",
            "|---:|---:|---:|---:|---:|---:|",
        ]
        for epsilon, at in one["at"].items():
            size = "any" if at["any_outcome"] else f"{len(at['set'])} of {at['n_outcomes']}"
            disjoint = [
                f"{number} of {of}" for number, of in zip(at["disjoint"], (LEFT_OUT, one["n_refitted"]), strict=True)
            ]
            promise = f"{min(at['guarantee'], 1):.3f}"
            lines.append(f"| {epsilon} | {size} | {' | '.join(disjoint)} | {at['audit']:.4f} | {promise} |")
        widest = one["at"][str(EPSILONS[-1])]
        flips = widest["most_votes_flip"]
        shares = "; ".join(f"{name} {share:.2f}" for name, share in widest["set"])
        lines += [
            "",
            f"The setting with most votes is another one without {flips[0]} of {LEFT_OUT} rows, and with a new fit "
            f"without {flips[1]} of {one['n_refitted']}. Shares: {shares}.",
            "",
        ]
    if (one := record.get("features")) is not None:
        lines += [
            "## Which features",
            "",
            f"{one['redraws']} redraws of 100 rows and {N_FEATURES} features, of which {WANTED} count, with effects "
            f"{', '.join(f'{effect:g}' for effect in EFFECTS)} and noise 2; trees, {BAGS} bags of half the rows, "
            f"epsilon {FEATURE_EPSILON:g}. Every selector selects as many features as the stable one, "
            f"{one['mean_size']:.2f} in the mean. Worst audit: {one['worst_audit']:.3f}.",
            "",
            "| times selected | " + " | ".join(f"effect {effect:g}" for effect in EFFECTS) + " | all five |",
            "|---|" + "---:|" * (WANTED + 1),
        ]
        for name, times in one["times_selected"].items():
            lines.append(f"| {name} | {' | '.join(map(str, times))} | {one['all_five'][name]} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=("search", "features"))
    parser.add_argument("--refitted", type=int, default=5)
    parser.add_argument("--n-jobs", type=int)
    asked = parser.parse_args()
    path = HERE / "results.json"
    for name, work in (
        ("search", partial(search, n_refitted=0)),
        ("features", features),
        ("search", partial(search, n_refitted=asked.refitted)),
    ):
        if asked.only in (None, name):
            found = work(asked.n_jobs)
            record = {**(json.loads(path.read_text()) if path.exists() else {}), name: found}
            for target, text in ((path, json.dumps(record, indent=2) + "\n"), (HERE / "results.md", page(record))):
                with replacing(target) as unfinished:
                    unfinished.write_text(text)


if __name__ == "__main__":
    main()

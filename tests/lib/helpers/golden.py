"""The 600 exact cases of selection, the 300 of the inflated top k, and which of them an implementation gets wrong."""

import json
from collections import defaultdict
from pathlib import Path

import numpy as np

import steadyset as ss

GOLDEN = Path(__file__).parents[2] / "data" / "selection_golden.json"
CASES = json.loads(GOLDEN.read_text())
TOP_K_CASES = json.loads(GOLDEN.with_name("top_k_golden.json").read_text())


def rules_of(case) -> dict:
    """The rules that a case has a set for, by the names of the sets."""
    if "inflated_top_k" in case:
        return {"inflated_top_k": ss.InflatedTopK(case["k"], case["epsilon"])}
    rules = {
        "inflated_argmax": ss.InflatedArgmax(case["epsilon"]),
        "fixed_margin": ss.FixedMargin(case["epsilon"]),
        "argmax_set": ss.Argmax(),
        "top_k": ss.TopK(case["k"]),
    }
    if "tau" in case:
        rules["mass_threshold"] = ss.MassThreshold(case["tau"])
        rules["ndc"] = ss.NDC()
        rules["svbop_u65"] = ss.SVBOP("u65")
        rules["svbop_u80"] = ss.SVBOP("u80")
    return rules


def wrong_cases(make, unmake, cases=CASES, call=lambda rule, w: rule(w)) -> list:
    """The wrong sets of cases, and of as large a share of those of the inflated top k, each case by itself."""
    wrong = []
    for number, case in enumerate([*cases, *TOP_K_CASES[:: len(CASES) // len(cases)]]):
        w = make(case["w"])
        for name, rule in rules_of(case).items():
            if unmake(call(rule, w)).tolist() != [bool(v) for v in case[name]]:
                wrong.append((number, name))
    return wrong


def batches(lengths=None) -> list[tuple]:
    """All cases as (rule, rows, sets), those of one rule and number of labels together: fewer shapes to compile."""
    together = defaultdict(list)
    for case in [*CASES, *TOP_K_CASES]:
        if lengths is None or len(case["w"]) in lengths:
            for name, rule in rules_of(case).items():
                together[rule, len(case["w"])].append((case["w"], case[name]))
    return [
        (rule, np.array([w for w, _ in rows], float), np.array([mask for _, mask in rows], bool))
        for (rule, _), rows in together.items()
    ]


def wrong_batches(make, unmake, lengths=None, call=lambda rule, w: rule(w)) -> list:
    """The rules and rows of which an implementation gets a set wrong, all rows of a rule in one call."""
    wrong = []
    for rule, rows, sets in batches(lengths):
        got = np.asarray(unmake(call(rule, make(rows))))
        wrong += [(rule, row.tolist()) for row in rows[(got != sets).any(axis=-1)]]
    return wrong

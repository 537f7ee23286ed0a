"""The 600 exact cases of selection, and how to find those that an implementation gets wrong."""

import json
from pathlib import Path

import steadyset as ss

GOLDEN = Path(__file__).parents[2] / "data" / "selection_golden.json"
CASES = json.loads(GOLDEN.read_text())


def wrong_cases(make, unmake) -> list:
    wrong = []
    for number, case in enumerate(CASES):
        w = make(case["w"])
        got = {
            "inflated_argmax": ss.inflated_argmax(w, case["epsilon"]),
            "fixed_margin": ss.fixed_margin(w, case["epsilon"]),
            "argmax_set": ss.argmax_set(w),
            "top_k": ss.top_k(w, case["k"]),
        }
        if "tau" in case:
            got["mass_threshold"] = ss.mass_threshold(w, case["tau"])
            got["ndc"] = ss.ndc(w)
            got["svbop_u65"] = ss.svbop(w, "u65")
            got["svbop_u80"] = ss.svbop(w, "u80")
        wrong += [
            (number, rule) for rule, mask in got.items() if unmake(mask).tolist() != [bool(v) for v in case[rule]]
        ]
    return wrong

"""The 600 exact cases of selection, the 300 of the inflated top k, and which of them an implementation gets wrong."""

import json
from pathlib import Path

import steadyset as ss

GOLDEN = Path(__file__).parents[2] / "data" / "selection_golden.json"
CASES = json.loads(GOLDEN.read_text())
TOP_K_CASES = json.loads(GOLDEN.with_name("top_k_golden.json").read_text())


def wrong_cases(make, unmake, cases=CASES, call=lambda rule, w: rule(w)) -> list:
    wrong = []
    for number, case in enumerate(cases):
        w = make(case["w"])
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
        got = {name: call(rule, w) for name, rule in rules.items()}
        wrong += [
            (number, rule) for rule, mask in got.items() if unmake(mask).tolist() != [bool(v) for v in case[rule]]
        ]
    for number, case in enumerate(TOP_K_CASES[:: len(CASES) // len(cases)]):
        mask = call(ss.InflatedTopK(case["k"], case["epsilon"]), make(case["w"]))
        if unmake(mask).tolist() != [bool(v) for v in case["inflated_top_k"]]:
            wrong.append((number, "inflated_top_k"))
    return wrong

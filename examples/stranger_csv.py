"""Write a CSV file such as a stranger would bring: mixed types, missing values, a text target.

    python examples/stranger_csv.py [FILE] [ROWS]

Without a file the first lines are printed.
"""

import csv
import datetime
import sys

import numpy as np

CITIES = ["Aachen", "Ærø", "Lyon", "São Paulo", 'Saint "Jean"', "Zürich, West"]
PLANS = ["basic", "family", "business"]
LABELS = np.array(["stays", "pauses", "leaves"])


def rows(n_rows, seed=0):
    """Yield the header and then the rows, missing values as empty fields or NA."""
    rng = np.random.default_rng(seed)
    yield ["customer", "joined", "age", "income", "city", "plan", "autopay", "calls", "churn"]
    start = datetime.date(2018, 1, 1)
    for i in range(n_rows):
        city, plan = int(rng.integers(len(CITIES))), int(rng.integers(len(PLANS)))
        age, income = int(rng.integers(18, 90)), float(rng.lognormal(10, 0.5))
        days, autopay, calls = int(rng.integers(2500)), bool(rng.random() < 0.6), int(rng.poisson(2))
        pull = 0.8 * calls - 1.2 * autopay + 0.4 * plan - 0.001 * days + (city == 3) + rng.gumbel(0, 0.8, 3)
        label = LABELS[int(np.argmax(pull + np.array([1.5, 0.5, 0.0]) * np.array([1, calls / 2, calls])))]
        yield [
            f"C{i:06d}",
            (start + datetime.timedelta(days=days)).isoformat(),
            "" if rng.random() < 0.05 else age,
            "NA" if rng.random() < 0.1 else f"{income:.2f}",
            "" if rng.random() < 0.03 else CITIES[city],
            PLANS[plan],
            "true" if autopay else "false",
            calls,
            str(label),
        ]


def main():
    n_rows = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    if len(sys.argv) < 2:
        csv.writer(sys.stdout).writerows(rows(n_rows))
        return
    with open(sys.argv[1], "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows(n_rows))


if __name__ == "__main__":
    main()

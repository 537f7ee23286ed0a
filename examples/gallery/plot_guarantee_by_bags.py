"""
How many bags a promise needs
=============================

The bound on the chance of a contradiction, for 60,000 rows, ten labels, bags of half the rows and epsilon = 0.05,
against the number of bags. Above 1 a bound is vacuous: it says nothing. Hash bags, of which a dropped row changes
only those that held it, need least.
"""

import matplotlib.pyplot as plt
import numpy as np

import steadyset as ss

setting = {"n_samples": 60_000, "bag_size": 0.5, "epsilon": 0.05, "n_classes": 10}
kinds = {
    "the paper's theorem": {"theorem": "paper"},
    "any coupling": {"theorem": "second-moment", "coupling": "any"},
    "independent bags": {"theorem": "second-moment", "coupling": "independent"},
    "hash bags": {"theorem": "second-moment", "coupling": "hash"},
    "hash bags, spread at most 0.1": {"theorem": "second-moment", "coupling": "hash", "sigma2": 0.1},
}
bags = np.unique(np.geomspace(10, 1e7, 120).astype(int))
figure, ax = plt.subplots(figsize=(7.5, 4.6), layout="constrained")
for (name, kind), style in zip(kinds.items(), ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1))), strict=True):
    bounds = [ss.selection_stability(n_bags=int(n), **setting, **kind).delta for n in bags]
    ax.plot(bags, bounds, linestyle=style, linewidth=2, label=name)
ax.axhspan(1, 1e3, color="0.9", zorder=0)
ax.text(6e5, 1.4, "vacuous", color="0.35")
ax.axhline(0.05, color="0.5", linewidth=0.8)
ax.text(1.2e1, 0.054, "0.05", color="0.35")
ax.set(xscale="log", yscale="log", ylim=(3e-4, 1e3), xlim=(10, 1e7))
ax.set(xlabel="number of bags", ylabel="bound on the chance of a contradiction")
ax.legend(frameon=False)
plt.show()

# %%
# The number of bags that brings each below 0.05:

for name, kind in kinds.items():
    print(f"{name:30} {ss.solve_stability('n_bags', delta=0.05, **setting, **kind):9,}")

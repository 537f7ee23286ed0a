"""
How many bags a promise needs
=============================

The bound on the chance of a contradiction against the number of bags, for 60,000 rows, ten labels and epsilon = 0.05:
with bags of half the rows, and with bags of 3,000 rows. From 0.995 on a bound is vacuous: it says nothing. All but the
paper's are for hash bags, of which a dropped row changes only those that held it. The exponential theorem needs least;
with small bags it falls so fast that a thousand bags are plenty.
"""

import matplotlib.pyplot as plt
import numpy as np

import steadyset as ss

setting = {"n_samples": 60_000, "epsilon": 0.05, "n_classes": 10}
theorems = {
    "the paper's theorem": "paper",
    "second moments": "second-moment",
    "exact second moments": "exact-second-moment",
    "exponential": "exponential",
    "the best of all": "best",
}
styles = [
    {"linestyle": "-", "color": "C0"},
    {"linestyle": "--", "color": "C1"},
    {"linestyle": "-.", "color": "C2"},
    {"linestyle": ":", "color": "C3", "linewidth": 2.5},
    {"linestyle": "-", "color": "0.6", "linewidth": 5, "alpha": 0.5, "zorder": 1},
]
bags = np.unique(np.geomspace(10, 1e7, 130).astype(int))
figure, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained", sharey=True)
for ax, bag_size, title in zip(axes, (30_000, 3_000), ("bags of half the rows", "bags of 3,000 rows"), strict=True):
    for (name, theorem), style in zip(theorems.items(), styles, strict=True):
        bounds = [
            ss.selection_stability(n_bags=int(n), bag_size=bag_size, theorem=theorem, **setting).delta for n in bags
        ]
        ax.plot(bags, bounds, label=name, **{"linewidth": 2, **style})
    ax.axhspan(1, 1e3, color="0.92", zorder=0)
    ax.text(8e5, 1.4, "vacuous", color="0.35")
    ax.axhline(0.05, color="0.5", linewidth=0.8)
    ax.text(12, 0.055, "0.05", color="0.35")
    ax.set(xscale="log", yscale="log", ylim=(1e-4, 1e3), xlim=(10, 1e7), xlabel="number of bags", title=title)
axes[0].set_ylabel("bound on the chance of a contradiction")
axes[0].legend(frameon=False, loc="lower left")
plt.show()

# %%
# The number of bags that brings each below 0.05 and below 0.01, with bags of half the rows:

for name, theorem in theorems.items():
    needed = [ss.solve_stability("n_bags", delta=d, bag_size=30_000, theorem=theorem, **setting) for d in (0.05, 0.01)]
    print(f"{name:22} {needed[0]:9,} {needed[1]:12,}")

# %%
# Where the bags are not tied together by hashes, or nobody knows how, the exponential theorem asks for more of them:

for coupling in ("hash", "independent", "any"):
    needed = ss.solve_stability("n_bags", delta=0.05, bag_size=30_000, coupling=coupling, **setting)
    print(f"{coupling:12} {needed:9,}")

"""
Many labels: inflated argmax and fixed margin
=============================================

Both rules give overlapping sets to vectors closer than epsilon. The fixed margin takes every label within epsilon
/ √2 of the largest; the inflated argmax leaves out those that a move below epsilon cannot bring to the top. With
few labels the two are nearly the same; from some twenty labels on that saves much. The vectors here are softmaxes
of Gaussian noise.
"""

import matplotlib.pyplot as plt

import steadyset as ss

sizes = ss.plot.compute_set_size_by_classes((3, 10, 25, 50, 75, 100), epsilon=0.1, n_draws=1000, seed=0)
ss.plot.set_size_by_classes(sizes)
plt.show()

# %%
# The sizes of the inflated argmax's sets over those of the fixed margin's, with standard errors:

for labels, ratio in zip(sizes.n_classes, sizes.ratios, strict=True):
    print(f"{labels:4} labels: {ratio:.2f} ({ratio.standard_error:.2f})")

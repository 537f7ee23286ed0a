"""
Which set each probability vector gets
======================================

With three labels a probability vector is a point of a triangle. The plain argmax cuts it into three; a point on a
border flips with the smallest move. The inflated argmax gives the points near a border both labels, and those near
the centre all three. Two points that are closer than epsilon always share a label.
"""

import matplotlib.pyplot as plt

import steadyset as ss

rules = {
    "argmax": ss.Argmax(),
    "fixed margin, epsilon = 0.3": ss.FixedMargin(0.3),
    "inflated argmax, epsilon = 0.3": ss.InflatedArgmax(0.3),
}
figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
for ax, (name, rule) in zip(axes, rules.items(), strict=True):
    ss.plot.simplex_regions(rule, ax=ax)
    ax.set_title(name)

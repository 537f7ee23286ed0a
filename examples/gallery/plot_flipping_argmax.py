"""
A network that flips, and sets that hold steady
===============================================

Two measurements of the wine data, three cultivars, and a small network. Each of the 178 rows is left out once and
the network is trained again, with the same seed. The colour says in what share of those refits the predicted label
of a place on the map differs from that of the network that saw all rows. Then the same for 300 bagged networks,
and for their label sets: a place counts where the two sets share no label.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

import steadyset as ss
from steadyset import lanes

wine = load_wine(as_frame=True)
names = ["flavanoids", "color_intensity"]
X, y = wine.data[names].to_numpy(), wine.target.to_numpy()

side = 60
xs = np.linspace(X[:, 0].min() - 0.2, X[:, 0].max() + 0.2, side)
ys = np.linspace(X[:, 1].min() - 0.5, X[:, 1].max() + 0.5, side)
places = np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2)

# %%
# One network has to be trained again without each row. The bagged ones need no refit: the bags that do not hold a
# row are the model without it.

net = lanes.NetClassifier([lanes.Linear(32), lanes.ReLU(), lanes.Linear()], epochs=60, batch_size=8, learning_rate=0.2)
one = ss.audit_refit(net, X, y, places, ss.Argmax(), left_out="all", random_state=0)
model = ss.StableClassifier(net, n_estimators=300, epsilon=0.2, random_state=0).fit(X, y)
bagged = model.audit(places, rule=ss.Argmax())
steady = model.audit(places)

panels = {
    "one network": one.instability,
    "300 networks, argmax": bagged.instability,
    "300 networks, sets at epsilon = 0.2": steady.instability,
}
figure, axes = plt.subplots(1, 3, figsize=(13, 4.4), sharey=True, layout="constrained")
for ax, (title, instability) in zip(axes, panels.items(), strict=True):
    shares = instability.reshape(side, side)
    image = ax.pcolormesh(xs, ys, shares, cmap="magma_r", vmin=0, vmax=1, shading="nearest", rasterized=True)
    ax.scatter(*X.T, c=np.array(["#0072B2", "#E69F00", "#009E73"])[y], s=14, edgecolors="white", linewidths=0.5)
    ax.set_title(f"{title}\nworst place: {instability.max():.1%} of the rows")
    ax.set_xlabel(names[0])
axes[0].set_ylabel(names[1].replace("_", " "))
figure.colorbar(image, ax=axes, label="share of rows whose removal contradicts", shrink=0.9)
plt.show()

# %%
# How often anything is contradicted, over the whole map, and the price in labels:

for title, instability in panels.items():
    print(f"{title:36} {np.mean(instability > 0):6.1%} of the places are contradicted by some row")
sizes = model.predict_set(places).sum(axis=1)
print(f"mean size of the sets: {sizes.mean():.2f}; {np.mean(sizes == 1):.0%} of them are single labels")

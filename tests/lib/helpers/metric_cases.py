"""Random label sets with labels of any kind, ties, weights and no rows at all."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

LABELS = st.one_of(
    st.lists(st.text("aé_&|", min_size=1, max_size=3), min_size=1, max_size=5, unique=True),
    st.lists(st.integers(-3, 9), min_size=1, max_size=5, unique=True),
    st.just(["cat", 1, None, (2, 3), 0.5]),
)


@dataclass
class Case:
    classes: list
    y: list
    mask: np.ndarray
    proba: np.ndarray
    weights: np.ndarray | None

    @property
    def sets(self):
        return [{self.classes[j] for j in np.flatnonzero(row)} for row in self.mask]

    @property
    def weight_list(self):
        return [1.0] * len(self.y) if self.weights is None else self.weights.tolist()

    @property
    def options(self):
        return {"classes": self.classes, "sample_weight": self.weights}


@st.composite
def cases(draw, no_empty_set=False, max_samples=12):
    classes = draw(LABELS)
    n, n_classes = draw(st.integers(0, max_samples)), len(classes)
    mask = draw(hnp.arrays(bool, (n, n_classes)))
    if no_empty_set and n:
        mask[~mask.any(axis=1), draw(st.integers(0, n_classes - 1))] = True
    # Few values, so that maximisers are often tied.
    proba = draw(hnp.arrays(np.float64, (n, n_classes), elements=st.sampled_from([0.0, 0.25, 0.5])))
    y = [classes[j] for j in draw(st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n))]
    weights = st.sampled_from([0.0, 0.5, 1.0, 3.0])
    return Case(classes, y, mask, proba, draw(st.none() | hnp.arrays(np.float64, n, elements=weights)))

"""Hypothesis strategies for scores, probabilities and epsilons."""

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

epsilons = st.one_of(st.floats(1e-6, 10), st.sampled_from([0.05, 0.1, 0.5, 1.0]))
values = st.one_of(st.floats(-3, 3, width=32), st.sampled_from([0.0, 0.25, 0.5, 1.0]))


def vectors(min_labels=1, max_labels=12, elements=values):
    return hnp.arrays(np.float64, st.integers(min_labels, max_labels), elements=elements)


@st.composite
def simplex_vectors(draw, min_labels=1, max_labels=12):
    weights = draw(vectors(min_labels, max_labels, st.floats(0, 1)))
    assume(weights.sum() > 1e-3)
    return weights / weights.sum()


@st.composite
def close_pairs(draw, on_simplex):
    """Two vectors at a distance below epsilon, and epsilon."""
    w = draw(simplex_vectors(2)) if on_simplex else draw(vectors(2))
    if on_simplex:
        v = draw(hnp.arrays(np.float64, w.shape, elements=st.floats(0, 1)))
        assume(v.sum() > 1e-3)
        v = v / v.sum()
    else:
        v = draw(hnp.arrays(np.float64, w.shape, elements=values))
    epsilon = draw(epsilons)
    distance = np.linalg.norm(v - w)
    assume(distance > 0)
    share = draw(st.floats(0, 1 - 1e-9)) * min(1.0, epsilon / distance)
    return w, w + share * (v - w), epsilon


@st.composite
def simplex_pairs(draw, max_labels=8):
    w = draw(simplex_vectors(2, max_labels))
    v = draw(hnp.arrays(np.float64, w.shape, elements=st.floats(0, 1)))
    assume(v.sum() > 1e-3)
    return w, v / v.sum()

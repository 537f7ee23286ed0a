"""The seed of each bag's learner."""

import numpy as np

from steadyset._base import validation


def bag_seed(seed: int, bag: int) -> int:
    """Return the seed of a bag's learner: shared between fits that share the seed, whatever rows they have.

    It is the first word of ``numpy.random.SeedSequence(seed, spawn_key=(bag,))``.

    Parameters
    ----------
    seed : int
        The seed of the bags, at least 0: ``seed_`` of a :class:`StableClassifier`.
    bag : int
        The number of the bag, from 0 on.

    Returns
    -------
    int
        From 0 to 2^32 - 1.

    Notes
    -----
    Learners that train many bags at once, such as :class:`steadyset.trees.TreeClassifier`, take it as it is. The random
    states of any other, its parts' included, are set in the order of their names to the words of
    ``numpy.random.SeedSequence(bag_seed(seed, bag))``; a learner with a single one gets the first.

    Examples
    --------
    >>> import steadyset as ss
    >>> ss.bag_seed(seed=0, bag=400)
    2190912858
    """
    number = validation.count(bag, "bag", 0)
    return int(np.random.SeedSequence(validation.seed(seed), spawn_key=(number,)).generate_state(1)[0])

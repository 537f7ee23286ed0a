"""Encoders and what else turns rows into compiled structures, random numbers, and bags."""

from typing import Any

import numpy as np

from steadyset.tables._model_files._plan import Made
from steadyset.tables._model_files._refusal import UnknownError, array, count, insist, within

_ENCODER = "an encoder whose categories contradict each other"
_RANDOM = "random numbers in a state that there is not"
_BAGS = "bags whose parts contradict each other"
_NETS = "networks whose parts contradict each other"
_ENSEMBLE = "an ensemble whose parts contradict each other"
_MEMBER = "steadyset.ensemble._members.Member"
_GROUPS = (
    _MEMBER,
    "steadyset.lanes._group.LaneGroup",
    "steadyset.trees._group.TreeGroup",
)


def check_one_hot(encoder: Made) -> None:
    """Refuse columns that are not those of the categories: a sparse matrix is made of them unchecked."""
    categories, widths = encoder["categories_"], encoder["_n_features_outs"]
    insist(isinstance(categories, list) and isinstance(widths, list) and len(widths) == len(categories), _ENCODER)
    grouped = encoder.get("_infrequent_enabled", False)
    dropped = encoder.get("_drop_idx_after_grouping")
    for i, known in enumerate(categories):
        n = _category_count(known)
        if grouped:
            n = _group_count(encoder["_infrequent_indices"][i], encoder["_default_to_infrequent_mappings"][i], n)
        if dropped is not None and dropped[i] is not None:
            insist(count(dropped[i], _ENCODER, 0) < n, _ENCODER)
            n -= 1
        insist(count(widths[i], _ENCODER, 0) == n, _ENCODER)


def _category_count(known: Any) -> int:
    insist(isinstance(known, np.ndarray) and known.ndim == 1 and len(known) >= 1, _ENCODER)
    if known.dtype.kind == "f" and np.isnan(known[-1]):
        insist(bool((known[:-2] < known[1:-1]).all()), _ENCODER)
    elif known.dtype != object:  # looked up by bisection
        insist(bool((known[:-1] < known[1:]).all()), _ENCODER)
    return len(known)


def _group_count(rare: Any, mapping: Any, n: int) -> int:
    """Return how many categories there are once the rare ones share one."""
    if rare is None:
        insist(mapping is None, _ENCODER)
        return n
    within(array(rare, "iu", 1, _ENCODER), 0, n, _ENCODER)
    together = n - len(rare) + 1
    insist(len(rare) >= 1 and len(array(mapping, "iu", 1, _ENCODER)) == n, _ENCODER)
    within(mapping, 0, together, _ENCODER)
    return together


def check_random_state(random: Made) -> None:
    """Refuse a place in the numbers of the Mersenne twister that is not there."""
    state = random.state
    insist(isinstance(state, dict) and state.get("bit_generator") == "MT19937", _RANDOM)
    key = array(state["state"]["key"], "u", 1, _RANDOM)
    insist(len(key) == 624, _RANDOM)
    within(np.asarray(count(state["state"]["pos"], _RANDOM, 0)), 0, 625, _RANDOM)


def check_generator(random: Made) -> None:
    """Let PCG64 pass, whose state is two numbers; others ask."""
    if random["bit_generator"].get("bit_generator") != "PCG64":
        raise UnknownError


def check_ensemble(ensemble: Made) -> None:
    """Refuse an ensemble of other bags, or with another number of members, than it says."""
    groups, bags = ensemble["groups_"], ensemble["bags_"]
    insist(isinstance(groups, list | tuple) and isinstance(bags, Made), _ENSEMBLE)
    insist(all(isinstance(group, Made) and group.type in _GROUPS for group in groups), _ENSEMBLE)
    numbers = [count(number, _ENSEMBLE, 0) for group in groups for number in group["numbers"]]
    insist(sorted(numbers) == list(range(count(bags["n_bags"], _ENSEMBLE))), _ENSEMBLE)
    n_classes = len(array(ensemble["classes_"], "biufUSO", 1, _ENSEMBLE))
    said = [count(group["n_classes"], _ENSEMBLE) for group in groups if group.type == _MEMBER]
    insist(n_classes >= 1 and all(one == n_classes for one in said), _ENSEMBLE)
    units = ensemble.get("unit_digests_")
    if units is not None:
        fits = len(array(units, "u", 1, _ENSEMBLE)) == count(bags["n_samples"], _ENSEMBLE)
        insist(fits and units.dtype == np.uint64, _ENSEMBLE)
    if ensemble.get("group_rows_") is not None:
        _check_groups(ensemble["group_rows_"], ensemble["group_ends_"], count(bags["n_samples"], _ENSEMBLE))


def _check_groups(rows: Any, ends: Any, n_groups: int) -> None:
    """Refuse groups of rows that are not there."""
    within(array(rows, "i", 1, _ENSEMBLE), 0, len(rows), _ENSEMBLE)
    insist(len(array(ends, "i", 1, _ENSEMBLE)) == n_groups and ends[-1] == len(rows), _ENSEMBLE)
    insist(bool((ends[1:] > ends[:-1]).all()) and ends[0] > 0, _ENSEMBLE)


def check_member(member: Made) -> None:
    """Refuse a member whose classes are not among those of the ensemble."""
    columns, n_classes = array(member["columns"], "iu", 1, _ENSEMBLE), count(member["n_classes"], _ENSEMBLE)
    insist(len(columns) >= 1 and len(np.unique(columns)) == len(columns), _ENSEMBLE)
    within(columns, 0, n_classes, _ENSEMBLE)
    insist(isinstance(member["numbers"], tuple) and len(member["numbers"]) == 1, _ENSEMBLE)
    labels = _labels_of(member["estimator"]) if member["labels"] is None else member["labels"]
    insist(labels is None or len(labels) == len(columns), _ENSEMBLE)


def _labels_of(estimator: Any) -> Any:
    """Return the labels of an estimator, or of the last step of a pipeline; None where they are not known."""
    while isinstance(estimator, Made) and estimator.type == "sklearn.pipeline.Pipeline":
        estimator = estimator["steps"][-1][1]
    return estimator.get("classes_") if isinstance(estimator, Made) else None


def check_bits(bits: Made) -> None:
    """Refuse membership that is not one bit per bag and row."""
    packed, n = bits["packed"], count(bits["n_samples"], _BAGS)
    insist(array(packed, "u", 2, _BAGS).dtype.itemsize == 1 and packed.shape[1] == (n + 7) // 8, _BAGS)


def check_indices(indices: Made) -> None:
    """Refuse membership in rows that are not there."""
    flat, offsets = array(indices["flat"], "u", 1, _BAGS), array(indices["offsets"], "i", 1, _BAGS)
    within(flat, 0, count(indices["n_samples"], _BAGS), _BAGS)
    insist(len(offsets) >= 2 and offsets[0] == 0 and offsets[-1] == len(flat), _BAGS)
    insist(bool((offsets[1:] > offsets[:-1]).all()), _BAGS)


def check_bags(bags: Made) -> None:
    """Refuse bags of other rows, or of another number, than they say."""
    n, n_bags, stored = count(bags["n_samples"], _BAGS), count(bags["n_bags"], _BAGS), bags["_stored"]
    insist(isinstance(stored, Made) and count(stored["n_samples"], _BAGS) == n, _BAGS)
    held = stored["packed"] if "packed" in stored.state else stored["offsets"][1:]
    insist(len(held) == n_bags, _BAGS)
    size = bags["bag_size"]
    insist(size is None or 1 <= count(size, _BAGS) <= (n if bags["resampling"] == "subbagging" else 2**53), _BAGS)
    ids = bags["ids"]
    insist(isinstance(ids, Made) and ids["kind"] in ("given", "content", "position"), _BAGS)
    insist(ids.get("unit") in (None, "row", "group"), _BAGS)
    for name in ("values", "last_equal"):
        insist(ids[name] is None or len(ids[name]) == n, _BAGS)
    if ids["last_equal"] is not None:
        within(array(ids["last_equal"], "iu", 1, _BAGS), 0, n, _BAGS)


def check_net(net: Made) -> None:
    """Let a network pass that says its layers by its arguments; layers of one's own ask by themselves."""
    shape = net["input_shape_"]
    insist(isinstance(shape, tuple) and 1 <= len(shape) <= 3, _NETS)
    insist(all(count(side, _NETS) for side in shape) and len(net["classes_"]) >= 1, _NETS)


def check_lanes(group: Made) -> None:
    """Refuse networks with fewer weights than inputs or classes: a hostile size would ask for all memory."""
    net, trained = group["_prototype"], group["_trained"]
    insist(isinstance(net, Made) and isinstance(trained, Made), _NETS)
    models = len(group["numbers"])
    weights = array(trained["parameters"], "f", 2, _NETS)
    insist(weights.dtype.itemsize == 4 and len(weights) == models == len(group["seeds"]), _NETS)
    insist(bool(np.isfinite(weights).all()), _NETS)
    inputs = 1
    for side in net["input_shape_"]:
        inputs *= count(side, _NETS)
    if net.get("layers") is None:
        insist(inputs <= weights.shape[1] and len(net["classes_"]) <= weights.shape[1], _NETS)
    for name in ("center", "deviation"):
        insist(trained[name] is None or array(trained[name], "f", 2, _NETS).shape == (models, inputs), _NETS)

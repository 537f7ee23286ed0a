"""Certificates of a run, kept in its folder: what is proved once is not proved again.

A file ends with a digest of its content and its name: one that is damaged, or of other predictions, is proved anew.
"""

import io
import json
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from steadyset._base import digests, whole_files
from steadyset.audit import Certificates, certify
from steadyset.bags import BagPredictions
from steadyset.ensemble import fingerprint
from steadyset.selection import Rule

_STATEMENTS = "Theorem 4 with Bennett's deviation, Theorem 6 exact, poisoning by corners"  # others are proved anew


def proved(folder: Path, predictions: BagPredictions, rules: Iterable[Rule]) -> dict[str, Certificates]:
    """Return the certificates of every point under each rule, by its name; those of an earlier call from the folder."""
    bags = predictions.bags
    same = fingerprint(_STATEMENTS, predictions.proba, bags.n_samples, bags.bag_size, bags.seed)
    found = {}
    for rule in rules:
        file = folder / f"{fingerprint(same, repr(rule))}.npz"
        kept = _read(file)
        if kept is None:
            kept = certify(predictions, rule)
            _write(file, kept)
        found[rule.display_name] = kept
    return found


def _write(file: Path, certificates: Certificates) -> None:
    values: dict[str, Any] = {field.name: getattr(certificates, field.name) for field in fields(Certificates)}
    arrays: dict[str, Any] = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    others = {name: value for name, value in values.items() if name not in arrays}
    file.parent.mkdir(parents=True, exist_ok=True)
    content = io.BytesIO()
    np.savez(content, others=np.array(json.dumps(others)), **arrays)
    with whole_files.replacing(file) as unfinished:
        unfinished.write_bytes(digests.sealed(content.getvalue(), file.name))


def _read(file: Path) -> Certificates | None:
    try:
        content = digests.unsealed(whole_files.content_of(file), file.name)
        with np.load(io.BytesIO(content), allow_pickle=False) as kept:
            arrays = {name: kept[name] for name in kept.files if name != "others"}
            return Certificates(**json.loads(str(kept["others"])), **arrays)
    except (OSError, ValueError, KeyError, TypeError):  # missing, damaged, or of another version
        return None

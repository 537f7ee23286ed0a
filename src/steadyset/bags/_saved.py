"""The saved form of bags: what a manifest says of them, and the arrays beside it."""

from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base.saved_folders import SavedFolder, labels_from_json, labels_to_json, read_folder, write_folder
from steadyset.bags._bags import Bags, Part
from steadyset.bags._claims import check_bags
from steadyset.bags._membership import Bits, Indices
from steadyset.bags._row_ids import RowIds


@dataclass(frozen=True, eq=False)
class SavedBags:
    """Bags that were saved by themselves, and the label space of their rows where it was saved with them."""

    bags: Bags
    classes: NDArray[Any] | None


def save_bags(bags: Bags, folder: str | PathLike[str], *, overwrite: bool, classes: NDArray[Any] | None = None) -> None:
    """Write bags by themselves, with the label space of their rows where it is given."""
    header = {"bags": bags_header(bags)} | ({} if classes is None else {"classes": labels_to_json(classes)})
    write_folder(folder, "Bags", header, bags_arrays(bags), overwrite=overwrite)


def load_bags(folder: str | PathLike[str]) -> SavedBags:
    """Read bags that were saved by themselves."""
    with read_folder(folder, "Bags", mapped=None, auto=False) as saved:
        labels = labels_from_json(saved.header("classes")) if "classes" in saved.manifest else None
        return SavedBags(bags_from(saved), labels)


def bags_header(bags: Bags) -> dict[str, Any]:
    """Return what a manifest says of bags."""
    return {
        "n_samples": bags.n_samples,
        "n_bags": bags.n_bags,
        "bag_size": bags.bag_size,
        "resampling": bags.resampling,
        "parts": [[str(p.seed), p.first, p.n_bags] for p in bags.parts],  # a seed may be larger than JSON's numbers
        "stored": "bits" if isinstance(bags._stored, Bits) else "indices",
        "ids": {
            "kind": bags.ids.kind,
            "unit": bags.ids.unit,
            "values": bags.ids.values is not None,
            "last_equal": bags.ids.last_equal is not None,
        },
    }


def bags_arrays(bags: Bags) -> dict[str, NDArray[Any]]:
    """Return the arrays that membership and ids are stored as."""
    stored = bags._stored
    arrays = (
        {"bags_bits": stored.packed}
        if isinstance(stored, Bits)
        else {"bags_rows": stored.flat, "bags_offsets": stored.offsets}
    )
    if bags.ids.values is not None:
        arrays["bags_ids"] = bags.ids.values
    if bags.ids.last_equal is not None:
        arrays["bags_last_equal"] = bags.ids.last_equal.astype(np.int64)
    return arrays


def bags_from(saved: SavedFolder) -> Bags:
    """Return the bags of a saved folder, after checking that nothing in it contradicts the rest."""
    said = saved.header("bags")
    n, ids = said["n_samples"], said["ids"]
    stored: Bits | Indices
    if said["stored"] == "bits":
        stored = Bits(saved.array("bags_bits"), n)
    else:
        stored = Indices(saved.array("bags_rows"), saved.array("bags_offsets"), n)
    values = saved.array("bags_ids") if ids["values"] else None
    equal = saved.array("bags_last_equal").astype(np.intp, casting="same_kind") if ids["last_equal"] else None
    parts = tuple(Part(int(seed), first, count) for seed, first, count in said["parts"])
    row_ids = RowIds(ids["kind"], values, equal, ids.get("unit", "row"))
    bags = Bags(n, said["n_bags"], said["bag_size"], said["resampling"], row_ids, parts, stored)
    check_bags(bags)
    return bags

"""The saved form of bags: what a manifest says of them, and the arrays beside it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base.saved_folders import SavedFolder
from steadyset.bags._bags import Bags, Part
from steadyset.bags._membership import Bits, Indices


def bags_header(bags: Bags) -> dict[str, Any]:
    """Return what a manifest says of bags."""
    return {
        "n_samples": bags.n_samples,
        "n_bags": bags.n_bags,
        "bag_size": bags.bag_size,
        "resampling": bags.resampling,
        "parts": [[str(p.seed), p.first, p.n_bags] for p in bags.parts],  # a seed may be larger than JSON's numbers
        "stored": "bits" if isinstance(bags._stored, Bits) else "indices",
        "ids": bags.sample_ids is not None,
    }


def bags_arrays(bags: Bags) -> dict[str, NDArray[Any]]:
    """Return the arrays that membership and ids are stored as."""
    stored = bags._stored
    arrays = (
        {"bags_bits": stored.packed}
        if isinstance(stored, Bits)
        else {"bags_rows": stored.flat, "bags_offsets": stored.offsets}
    )
    if bags.sample_ids is not None:
        arrays["bags_ids"] = bags.sample_ids
    return arrays


def bags_from(saved: SavedFolder) -> Bags:
    """Return the bags of a saved folder, after checking that their arrays fit what the manifest says."""
    said = saved.header("bags")
    n, n_bags = int(said["n_samples"]), int(said["n_bags"])
    stored: Bits | Indices
    if said["stored"] == "bits":
        packed = saved.array("bags_bits")
        fits = packed.dtype == np.uint8 and packed.shape == (n_bags, (n + 7) // 8)
        stored = Bits(packed, n)
    else:
        flat, offsets = saved.array("bags_rows"), saved.array("bags_offsets")
        fits = (
            flat.ndim == offsets.ndim == 1
            and flat.dtype.kind == offsets.dtype.kind.replace("i", "u") == "u"
            and len(offsets) == n_bags + 1
            and offsets[0] == 0
            and offsets[-1] == len(flat)
            and bool(np.all(np.diff(offsets) >= 0))
            and (len(flat) == 0 or int(flat.max()) < n)
        )
        stored = Indices(flat, offsets, n)
    ids = saved.array("bags_ids") if said["ids"] else None
    parts = tuple(Part(int(seed), int(first), int(count)) for seed, first, count in said["parts"])
    fits = fits and (ids is None or (ids.shape == (n,) and ids.dtype.kind in "iU"))
    fits = fits and said["resampling"] in ("subbagging", "bootstrap", None)
    fits = fits and (not parts or sum(p.n_bags for p in parts) == n_bags)
    if not fits:
        raise ValueError(f"folder must hold bags that fit their manifest; got {saved.folder}, whose bags do not.")
    size = said["bag_size"]
    return Bags(n, n_bags, None if size is None else int(size), said["resampling"], ids, parts, stored)

"""The bags of a table as files that any program can read: rows, ids and learner seed of each."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base import whole_files
from steadyset._base.optional import require
from steadyset.bags import Bags, bag_digests, bag_numbers, bag_seed, save_bags

#: Bags per row group: a job that reads a few bags of a Parquet file reads little else.
_GROUP = 16


def write_bags(bags: Bags, classes: NDArray[Any], folder: str, kind: str, *, overwrite: bool) -> Path:
    """Save the bags in a folder, with ``bags.parquet`` or ``bags.npz`` beside them; return the path of that file."""
    save_bags(bags, folder, overwrite=overwrite, classes=classes)
    path = Path(folder) / f"bags.{kind}"
    with whole_files.replacing(path) as unfinished:
        (_write_parquet if kind == "parquet" else _write_npz)(unfinished, bags)
    return path


def _of_each_bag(bags: Bags) -> dict[str, NDArray[Any]]:
    seeds = np.array([bag_seed(bags.seed or 0, number) for number in bag_numbers(bags)])
    states = [int(np.random.SeedSequence(int(seed)).generate_state(1)[0]) for seed in seeds]
    return {
        "bag": np.array(bag_numbers(bags)),
        "digest": np.array(bag_digests(bags)),
        "learner_seed": seeds,
        "random_state": np.array(states),
    }


def _write_parquet(path: Path, bags: Bags) -> None:
    arrow, parquet = require("pyarrow", "data"), require("pyarrow.parquet", "data")
    columns = {name: arrow.array(values.tolist()) for name, values in _of_each_bag(bags).items()}
    ends = np.concatenate([[0], np.cumsum([len(rows) for rows in bags])]).astype(np.int64)
    flat = np.concatenate(list(bags))
    columns["rows"] = arrow.LargeListArray.from_arrays(ends, arrow.array(flat))
    if bags.sample_ids is not None:
        ids = bags.sample_ids[flat]
        columns["ids"] = arrow.LargeListArray.from_arrays(
            ends, arrow.array(ids.tolist() if ids.dtype.kind == "U" else ids)
        )
    parquet.write_table(arrow.table(columns), path, row_group_size=_GROUP)


def _write_npz(path: Path, bags: Bags) -> None:
    flat = np.concatenate(list(bags))
    arrays = _of_each_bag(bags) | {"rows": flat, "ends": np.cumsum([len(rows) for rows in bags])}
    if bags.sample_ids is not None:
        arrays["ids"] = bags.sample_ids[flat]
    with open(path, "wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]

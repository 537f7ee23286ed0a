"""Saved folders: opening predictions with all digests checked against a CRC-32 of the file and a plain memory map."""

import tempfile
import zlib
from pathlib import Path

import numpy as np

import steadyset as ss
from benchmarks.harness import Line, interleaved_best, report

N, BAGS, POINTS, CLASSES = 10_000, 1_000, 10_000, 10  # 400 MB of float32


def main() -> bool:
    rng = np.random.default_rng(0)
    proba = rng.random((BAGS, POINTS, CLASSES), dtype=np.float32) + np.float32(0.01)
    proba /= proba.sum(axis=2, keepdims=True)
    bags = ss.draw_bags(N, BAGS, 0.5, sample_ids=range(N))
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "saved"
        ss.BagPredictions(proba, bags, range(CLASSES)).save(target)
        del proba
        (file,) = target.glob("proba-*.npy")

        def plain() -> ss.BagPredictions:
            """Check a CRC-32 over the file, map it and check that it holds probabilities; take the bags on trust."""
            check = 0
            with file.open("rb") as opened:
                while piece := opened.read(1 << 22):
                    check = zlib.crc32(piece, check)
            return ss.BagPredictions(np.load(file, mmap_mode="r"), bags, range(CLASSES))

        best = interleaved_best({"ours": lambda: ss.BagPredictions.load(target, mmap=True), "plain": plain}, rounds=7)
    name = "opening 400 MB of predictions, bags of 10,000 rows checked / CRC-32 and a plain memory map"
    return report("files", [Line(name, best["ours"] / best["plain"], 2)])

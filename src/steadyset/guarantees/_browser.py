"""The same formulas for a page in a browser."""

from importlib.resources import files


def javascript() -> str:
    """Return `guarantees.js`, in which an object `Guarantees` has the formulas for one dropped row."""
    return (files("steadyset.guarantees") / "guarantees.js").read_text(encoding="utf-8")

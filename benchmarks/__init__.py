"""Measurements: each a ratio against a named rival, taken in one run."""

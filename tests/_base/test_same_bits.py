"""Selection, path, bags and audit give the same bits at every level, from every compiler, on every architecture."""

import json

import numpy as np
import pytest

from helpers import elsewhere, same_bits
from steadyset import _native


def test_every_level(isa):
    assert same_bits.hashes() == same_bits.PINNED


def test_elsewhere(place):
    found = json.loads(place.run("from helpers import same_bits; same_bits.print_hashes()"))
    levels = ["baseline"] if place.emulated else _native.isa_levels()
    assert found == dict.fromkeys(levels, same_bits.PINNED)


def test_learners_elsewhere(place):
    if place.name == elsewhere.NO_AVX:
        pytest.skip("scikit-learn takes long to import there, and the levels are compared in the learners' own tests")
    found = place.run("from helpers import same_bits; print(same_bits.digest(same_bits.learners()))")
    assert found.strip() == same_bits.digest(same_bits.learners())


def test_a_single_bit_changes_the_hash():
    values = np.ones(9)
    before = same_bits.digest([values])
    assert before != same_bits.digest([np.nextafter(values, np.where(np.arange(9) == 4, 2, values))])


def test_the_audits_of_the_grid_find_something():
    made = same_bits.predictions(300, 120, 40, 10, np.float32)
    found = same_bits.ss.audit_bags(made, same_bits.ss.InflatedArgmax(0.02))
    assert 0 < found.row_influence.sum() < found.row_influence.size * 40
    assert not found.settled.all()

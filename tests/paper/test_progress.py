"""The lines that a long run writes to a log."""

import io
import re

import pytest
from rich.console import Console

from steadyset.paper.fashion_mnist import _time_left


@pytest.mark.parametrize("finished_before", [0.0, 0.6])
def test_the_time_left_is_that_of_the_networks_still_to_be_trained(monkeypatch, finished_before):
    now = 1000.0
    monkeypatch.setattr(_time_left.time, "monotonic", lambda: now)
    log = io.StringIO()
    with _time_left.show_time_left(Console(file=log, width=200)) as advance:
        now += 2  # the images are read
        for _ in range(60 if finished_before else 0):
            now += 0.2
            advance("bags", finished_before / 60)
        done = finished_before
        while done < 1 - 1e-9:
            now += 45
            done += 0.01
            advance("bags", 0.01)
    lines = re.findall(r"bags: ([\d.]+)% of the run, about ([\d.]+) minutes left", log.getvalue())
    assert len(lines) > 10
    for share, minutes in lines:
        assert float(minutes) == pytest.approx((100 - float(share)) * 45 / 60, rel=0.05, abs=0.1)

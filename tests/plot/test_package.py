"""Names, optional imports and pictures against stored ones."""

import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.testing.compare import compare_images
from matplotlib.text import Text

import steadyset as ss
from helpers.figures import check_readable
from steadyset import metrics, plot

BASELINE = Path(__file__).parent / "baseline"
TOLERANCE = 3.0  # root mean square over all pixels, of 255; texts are left out, for fonts differ


@pytest.mark.parametrize("module", [metrics, plot])
def test_every_public_name_is_there_and_documented(module):
    for name in module.__all__:
        if name != "SCORERS":
            assert ">>>" in getattr(module, name).__doc__, f"{name} has no example"


def test_every_picture_has_its_numbers():
    pictures = {name for name in plot.__all__ if name.islower() and not name.startswith("compute_")}
    pictures -= {"plot_sets", "plan_tradeoff"}  # sets and a plan are the numbers themselves
    assert {f"compute_{name}" for name in pictures} == {name for name in plot.__all__ if name.startswith("compute_")}


def test_numbers_need_no_matplotlib_and_pictures_say_so():
    program = """
import sys
sys.modules["matplotlib"] = sys.modules["matplotlib.pyplot"] = sys.modules["pandas"] = None
import numpy as np, steadyset as ss
sets = ss.inflated_argmax([[0.5, 0.4, 0.1]], 0.2)
ss.plot.compute_simplex_regions(ss.InflatedArgmax(0.2))
ss.plot.compute_set_size_by_classes((3,), n_draws=10)
ss.plot.compute_epsilon_tradeoff([[0.5, 0.4, 0.1]], [0])
ss.plot.compute_bag_size_tradeoff(100, 0.1)
ss.plot.compute_survival_curve({"a": [0.1]}), ss.plot.compute_influence([0.1])
ss.plot.compute_set_size_histogram(sets), ss.plot.compute_ambiguity_matrix(sets)
for call in (lambda: ss.plot.survival_curve({"a": [0.1]}), lambda: ss.metrics.by_size([0], sets).to_frame()):
    try: call()
    except ImportError as error: print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [
        "matplotlib is needed here; install it with `pip install steadyset[plot]`.",
        "pandas is needed here; install it with `pip install steadyset[data]`.",
    ], done.stderr


@pytest.mark.parametrize(
    ("first", "second", "complaint"),
    [
        ({"x": 0.5, "y": 0.5}, {"x": 0.52, "y": 0.5}, "lies on"),
        ({"x": 0.5, "y": 0.5}, {"x": 0.5, "y": 3.0}, "leaves the picture"),
        ({"x": 0.5, "y": 0.5}, {"x": 0.2, "y": 0.2, "fontsize": 2}, "is too small"),
        ({"x": 0.5, "y": 0.5}, {"x": 0.2, "y": 0.2}, None),
    ],
)
def test_an_unreadable_picture_would_be_noticed(first, second, complaint):
    from matplotlib import pyplot

    _, ax = pyplot.subplots()
    for text in (first, second):
        ax.text(text["x"], text["y"], "words", fontsize=text.get("fontsize", 10))
    if complaint is None:
        check_readable(ax)
        return
    with pytest.raises(AssertionError, match=complaint):
        check_readable(ax)


PICTURES = {
    "simplex": lambda: plot.simplex_regions(ss.InflatedArgmax(0.5)),
    "set_size": lambda: plot.set_size_by_classes(plot.compute_set_size_by_classes(n_draws=100)),
    "survival": lambda: plot.survival_curve({"argmax": np.linspace(0, 1, 40) ** 3, "inflated": np.zeros(40)}),
}


def picture(ax, file):
    figure = ax.get_figure()
    figure.set_layout_engine("none")
    for text in figure.findobj(Text):
        text.set_visible(False)
    figure.savefig(file, dpi=40)
    return str(file)


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_look_as_they_did(name, tmp_path):
    ax = PICTURES[name]()
    if ax.get_legend() is not None and mpl.__version_info__ < (3, 11):
        pytest.skip("the stored legends are those of matplotlib 3.11, which spaces their lines by other font metrics")
    actual = picture(ax, tmp_path / f"{name}.png")
    assert compare_images(str(BASELINE / f"{name}.png"), actual, TOLERANCE) is None


def test_another_rule_would_be_noticed(tmp_path):
    actual = picture(plot.simplex_regions(ss.FixedMargin(0.5)), tmp_path / "simplex.png")
    assert compare_images(str(BASELINE / "simplex.png"), actual, TOLERANCE) is not None

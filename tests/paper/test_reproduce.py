"""`steadyset reproduce`, as it is typed."""

import json

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.image import imread
from typer.testing import CliRunner

import steadyset as ss
from steadyset.cli import app

mpl.use("Agg")
KINDS = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml"}


def reproduce(*arguments, code=0):
    result = CliRunner().invoke(app, ["reproduce", *map(str, arguments)])
    assert result.exit_code == code, result.output + result.stderr
    return result


def check_files(result, folder, name):
    assert result.stdout.split() == [str(folder / f"{name}.{kind}") for kind in (*KINDS, "json")]
    for kind, magic in KINDS.items():
        assert (folder / f"{name}.{kind}").read_bytes().startswith(magic)
    assert min(imread(folder / f"{name}.png").shape[:2]) > 500
    return json.loads((folder / f"{name}.json").read_text())


def test_set_size(tmp_path):
    numbers = check_files(reproduce("set-size", "--folder", tmp_path / "new"), tmp_path / "new", "set-size")
    assert (numbers["epsilon"], numbers["n_draws"], numbers["seed"]) == (0.1, 1000, 0)
    assert [row["n_classes"] for row in numbers["sizes"]] == [3, 10, 25, 50, 75, 100]
    printed = {row["n_classes"]: row for row in numbers["sizes"] if "printed_ratio" in row}
    assert sorted(printed) == [25, 100]
    for row in printed.values():
        # Two runs of 1,000 draws, three standard errors of their difference, and the paper's rounding.
        allowed = 3 * np.sqrt(2) * row["ratio"]["standard_error"] + 0.005
        assert abs(row["ratio"]["value"] - row["printed_ratio"]) < allowed
    sizes = ss.plot.compute_set_size_by_classes()
    assert [row["inflated_argmax"]["value"] for row in numbers["sizes"]] == list(sizes.inflated)
    assert [row["fixed_margin"]["standard_error"] for row in numbers["sizes"]] == [
        estimate.standard_error for estimate in sizes.margin
    ]


def test_simplex(tmp_path):
    numbers = check_files(reproduce("simplex", "--folder", tmp_path, "--epsilon", "0.3"), tmp_path, "simplex")
    assert list(numbers["rules"]) == ["argmax", "fixed margin", "inflated argmax"]
    regions = {tuple(region["set"]): region["boundary"] for region in numbers["rules"]["inflated argmax"]}
    assert list(regions) == [(1,), (2,), (3,), (1, 2), (1, 3), (2, 3), (1, 2, 3)]
    for edge in regions[1, 2, 3]:
        assert edge["radius"] == pytest.approx(0.3, rel=1e-12)
        for end in ("from", "to"):
            distance = np.linalg.norm(np.subtract(edge[end], edge["centre"]))
            assert distance == pytest.approx(0.3, rel=1e-12)
    assert len(numbers["rules"]["argmax"]) == 3
    text = (tmp_path / "simplex.svg").read_text()
    assert text.count("<!-- {1, 2, 3} -->") == 2


def test_the_same_files_again(tmp_path):
    for name in ("a", "b"):
        reproduce("set-size", "--folder", tmp_path / name, "--n-draws", 20)
    for kind in (*KINDS, "json"):
        first, second = ((tmp_path / name / f"set-size.{kind}").read_bytes() for name in ("a", "b"))
        assert first == second, kind


def test_bad_input_is_a_sentence(tmp_path):
    result = reproduce("simplex", "--folder", tmp_path, "--epsilon", "-1", code=2)
    assert result.stderr == "steadyset reproduce simplex: epsilon must be a number that is at least 0; got -1.0.\n"
    result = reproduce("set-size", "--folder", tmp_path, "--n-draws", "1", code=2)
    assert result.stderr == "steadyset reproduce set-size: n_draws must be a whole number from 2 to 2**53; got 1.\n"
    (tmp_path / "taken").write_text("")
    result = reproduce("set-size", "--folder", tmp_path / "taken", "--n-draws", 20, code=2)
    assert (
        result.stderr
        == f"steadyset reproduce set-size: folder must be a folder; got the file {str(tmp_path / 'taken')!r}.\n"
    )

"""tools/floors.py: the floors that `make test-oldest` installs are those of pyproject.toml."""

import runpy
from pathlib import Path

import pytest

FLOORS = runpy.run_path(str(Path(__file__).parents[1] / "tools" / "floors.py"))


def pyproject(*dependencies, **extras):
    return {
        "build-system": {"requires": ["builder>=0.5"]},
        "project": {"name": "mine", "dependencies": list(dependencies), "optional-dependencies": extras},
    }


def test_extras_are_followed():
    found = pyproject("a>=1.2", all=["mine[x,y]"], x=["b[more]>=2"], y=["c>=3.0.1", "mine[x]"], other=["d>=4"])
    assert FLOORS["floors"](found, ["all"]) == {"builder": "0.5", "a": "1.2", "b": "2", "c": "3.0.1"}


@pytest.mark.parametrize("requirement", ["a", "a==1", "a<2", "a>=1,<2"])
def test_what_has_no_floor_is_refused(requirement):
    with pytest.raises(SystemExit, match="has no floor"):
        FLOORS["floors"](pyproject(requirement), [])


def test_two_floors_are_refused():
    with pytest.raises(SystemExit, match=r"a has two floors, 1 and 2\."):
        FLOORS["floors"](pyproject("a>=1", x=["a>=2"]), ["x"])


@pytest.mark.parametrize(("installed", "same"), [("1.6.0", True), ("1.6", True), ("1.6.1", False), ("1.60", False)])
def test_versions_differ_by_more_than_zeros(installed, same):
    assert FLOORS["same_version"](installed, "1.6") is same


def test_another_version_than_the_floor_is_told(monkeypatch, capsys):
    monkeypatch.setitem(FLOORS["main"].__globals__, "floors", lambda *_: {"pytest": pytest.__version__})
    FLOORS["main"]("check")
    assert capsys.readouterr().out == "floors: 1 packages are at their floors\n"
    monkeypatch.setitem(FLOORS["main"].__globals__, "floors", lambda *_: {"pytest": "1.2"})
    with pytest.raises(SystemExit, match=r"pytest .*, not 1\.2"):
        FLOORS["main"]("check")

"""The floors of pyproject.toml: prints them as constraints, or checks that an environment has exactly these versions.

usage: python tools/floors.py list EXTRA...    one `name==floor` per line, with the floors of the build system
       python tools/floors.py check EXTRA...   fails unless this Python has every one of them installed
"""

import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(\[(?P<extras>[^\]]*)\])?>=(?P<floor>[0-9][0-9.]*)")


def requirements(pyproject: dict, extras: list[str]) -> list[str]:
    """What the build, the package and its extras ask for; extras of the package inside an extra are followed."""
    project = pyproject["project"]
    found = [*pyproject["build-system"]["requires"], *project["dependencies"]]
    todo, seen = list(extras), set()
    while todo:
        extra = todo.pop()
        if extra in seen:
            continue
        seen.add(extra)
        for requirement in project["optional-dependencies"][extra]:
            own = re.fullmatch(rf"{re.escape(project['name'])}\[(.*)\]", requirement)
            if own:
                todo += own[1].split(",")
            else:
                found.append(requirement)
    return found


def floors(pyproject: dict, extras: list[str]) -> dict[str, str]:
    """The floor of every requirement, by name; anything but `name>=version` is an error."""
    found: dict[str, str] = {}
    for requirement in requirements(pyproject, extras):
        match = REQUIREMENT.fullmatch(requirement.replace(" ", ""))
        if match is None:
            raise SystemExit(f"floors: {requirement!r} has no floor; write name>=version.")
        if found.setdefault(match["name"], match["floor"]) != match["floor"]:
            raise SystemExit(f"floors: {match['name']} has two floors, {found[match['name']]} and {match['floor']}.")
    return found


def same_version(installed: str, floor: str) -> bool:
    """Whether two versions are equal but for zeros at the end: 1.11 is 1.11.0."""
    return re.sub(r"(\.0)+$", "", installed) == re.sub(r"(\.0)+$", "", floor)


def main(command: str, *extras: str) -> None:
    """Print the floors or check them."""
    pyproject = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    expected = floors(pyproject, list(extras))
    if command == "list":
        print("\n".join(f"{name}=={floor}" for name, floor in expected.items()))
        return
    if command != "check":
        raise SystemExit(f"floors: the command is list or check, not {command!r}.")
    found = {name: metadata.version(name) for name in expected}
    wrong = [
        f"{name} {found[name]}, not {floor}" for name, floor in expected.items() if not same_version(found[name], floor)
    ]
    if wrong:
        raise SystemExit(f"floors: installed are {'; '.join(wrong)}.")
    print(f"floors: {len(expected)} packages are at their floors")


if __name__ == "__main__":
    main(*sys.argv[1:])

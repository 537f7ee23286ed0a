"""The house: CONTRIBUTING.md's map, the import contract and the size of signatures, against the tree."""

import ast
import configparser
import importlib
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "steadyset"
ROOMS = sorted(folder.parent.relative_to(PACKAGE).as_posix() for folder in PACKAGE.glob("*/**/__init__.py"))
MODULES = sorted({path.name for kind in ("*.py", "*.pyi") for path in PACKAGE.glob(kind)})
NATIVE = sorted(folder.name for folder in (ROOT / "native").iterdir() if folder.is_dir())


def map_entries():
    """What the map names: (folder, name, description) for each name."""
    text = (ROOT / "CONTRIBUTING.md").read_text().split("## Where things are\n")[1].split("\n## ")[0]
    folder, entries = ROOT, []
    for line in re.findall(r"^ {4}.+$", text, flags=re.MULTILINE):
        names, _, description = line.strip().partition("  ")
        within = ROOT if not line.startswith("      ") else folder
        if within == ROOT:
            folder = ROOT / names
        entries += [(within, name, description.strip()) for name in names.split()]
    return entries


ENTRIES = map_entries()


def test_the_map_names_every_room_and_every_module():
    here = {name for folder, name, _ in ENTRIES if folder == PACKAGE}
    assert {f"{room}/" for room in ROOMS} | set(MODULES) == here
    assert len(ROOMS) >= 14
    assert {f"{name}/" for name in NATIVE} <= {name for folder, name, _ in ENTRIES if folder == ROOT / "native"}
    assert len(ENTRIES) == len({(folder, name) for folder, name, _ in ENTRIES})


@pytest.mark.parametrize(("folder", "name", "description"), ENTRIES, ids=[name for _, name, _ in ENTRIES])
def test_what_the_map_names_exists_and_is_described(folder, name, description):
    assert (folder / name).is_dir() if name.endswith("/") else (folder / name).is_file()
    assert description or folder == ROOT
    for path in re.findall(r"[\w/]+/(?=[ ,;:.)]|$)|[\w/]+\.(?:pyi?|[ch]pp|js|html|css)\b", description):
        assert any((start / path).exists() for start in (ROOT, folder, folder / name)), path


def contracts():
    parser = configparser.ConfigParser()
    parser.read(ROOT / ".importlinter")
    return [dict(parser[section]) for section in parser.sections() if section.startswith("importlinter:contract:")]


def test_the_import_contract_is_short_and_exhaustive():
    (layers,) = (contract for contract in contracts() if contract["type"] == "layers")
    floors = layers["layers"].split("\n")
    floors = [floor.strip() for floor in floors if floor.strip()]
    assert len(floors) <= 12
    assert layers["exhaustive"] == "True"
    assert layers["containers"].split() == ["steadyset"]
    named = {name.strip(" ()") for floor in floors for name in floor.split("|")}
    assert {room for room in ROOMS if "/" not in room} <= named


def private_modules():
    """The private modules of each room, as they are imported."""
    found = {}
    for path in sorted(PACKAGE.glob("*/**/_*.py")):
        if path.name != "__init__.py":
            parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
            found.setdefault(parts[1], []).append(".".join(parts))
    return found


def protects(pattern, module):
    """Whether an expression of import-linter names the module: * is one part, ** any number."""
    parts = [{"*": r"[^.]+", "**": r".+"}.get(part, re.escape(part)) for part in pattern.split(".")]
    return re.fullmatch(r"\.".join(parts), module) is not None


@pytest.mark.parametrize("room", private_modules())
def test_private_modules_are_protected(room):
    protected = [c for c in contracts() if c["type"] == "protected"]
    for module in private_modules()[room]:
        allowed = [
            importer
            for contract in protected
            if any(protects(pattern, module) for pattern in contract["protected_modules"].split())
            for importer in contract["allowed_importers"].split()
        ]
        assert allowed, f"no contract protects {module}"
        assert all(importer.startswith(f"steadyset.{room}") for importer in allowed), module


def signatures():
    """Every function of the package: module, name with its classes, and the number of its parameters."""
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        yield from _signatures(ast.parse(path.read_text()), ".".join(parts).removesuffix(".__init__"), ())


def _signatures(node, module, names):
    for child in ast.iter_child_nodes(node):
        inner = names
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = child.args
            given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
            counted = [argument for argument in given if argument is not None and argument.arg not in ("self", "cls")]
            inner = (*names, child.name)
            yield module, inner, len(counted)
        elif isinstance(child, ast.ClassDef):
            inner = (*names, child.name)
        yield from _signatures(child, module, inner)


def commands():
    """The functions behind the command line."""
    from steadyset.cli import app

    apps = [app, *(group.typer_instance for group in app.registered_groups)]
    return {(one.callback.__module__, one.callback.__name__) for app in apps for one in app.registered_commands}


def is_public(module, names, known_commands):
    if (module, names[-1]) in known_commands:
        return True
    if len(names) > 2 or (names[-1].startswith("_") and names[-1] != "__init__"):
        return False
    package = importlib.import_module(module)
    if not hasattr(package, "__path__"):
        package = importlib.import_module(module.rpartition(".")[0])
    thing = getattr(package, names[0], None)
    return names[0] in getattr(package, "__all__", ()) and thing.__module__ == module


def test_only_public_functions_have_more_than_eight_parameters():
    known = commands()
    large = [(module, names, count) for module, names, count in signatures() if count > 8]
    assert ("StableClassifier", "__init__") in {names for _, names, _ in large}  # they are found
    wrong = [
        f"{module}.{'.'.join(names)}: {count}" for module, names, count in large if not is_public(module, names, known)
    ]
    assert wrong == []


def test_no_test_file_imports_another():
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            imported = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0, path
                imported = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            for name in imported:
                assert not re.search(r"(^|\.)(tests|conftest|test_\w+)(\.|$)", name), f"{path.name} imports {name}"


def test_the_tests_mirror_the_rooms():
    rooms = {room for room in ROOMS if "/" not in room}
    folders = {folder.name for folder in (ROOT / "tests").iterdir() if any(folder.glob("**/test_*.py"))}
    assert folders - {"docs"} <= rooms
    assert rooms - folders <= {"tables"}  # which the tests of the command line drive


# What only one module may do, and the words by which it is recognised.
ALONE = {
    "_base/whole_files.py": r"os\.(replace|rename|link)\(|\.rename\(|shutil\.move\(",
    "_base/sklearn_doors.py": r"\b_(check_method_params|num_samples|safe_indexing|skl_callbacks)\b"
    r"|_init_callback_context|(from|import) sklearn[\w.]*\._|\._(predictors|n_samples)\b",
}


@pytest.mark.parametrize("module", ALONE)
def test_one_module_alone_does_it(module):
    doing = [
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if re.search(ALONE[module], path.read_text())
    ]
    assert doing == [module]


def test_no_other_room_asks_of_which_type_a_rule_is():
    types = "Argmax|InflatedArgmax|InflatedTopK|FixedMargin|TopK|MassThreshold|NDC|SVBOP"
    switch = re.compile(rf"isinstance\([^()]*\b({types})\b|type\(\w+\) (is|in|not in) .*\b({types})\b|case ({types})\(")
    asking = [
        path for path in PACKAGE.rglob("*.py") if path.parent.name != "selection" and switch.search(path.read_text())
    ]
    assert asking == []


def extras():
    """The packages of each extra of pyproject.toml, extras of its own followed."""
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]

    def packages(name):
        found = set()
        for requirement in listed[name]:
            own = re.match(r"steadyset\[(.*)\]", requirement)
            found |= set().union(*map(packages, own[1].split(","))) if own else {re.match(r"[\w-]+", requirement)[0]}
        return found

    return {name: packages(name) for name in listed}


def test_every_extra_that_a_text_names_is_there():
    texts = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "Makefile")]
    for folder, kind in (("src", "*.py"), ("src", "*.html"), ("docs", "*.md"), ("examples", "*.py"), ("tools", "*.py")):
        texts += (ROOT / folder).rglob(kind)
    named = set()
    for path in texts:
        text = path.read_text(encoding="utf-8")
        # A name in braces is put in where the message is made; the test below looks at those.
        found = re.findall(r"steadyset\[([\w, -]+)\]", text) + re.findall(r"\bextra `([\w-]+)`", text)
        assert {name.strip() for words in found for name in words.split(",")} <= set(extras()), path
        named.update(found)
    assert len(named) >= 6


def test_every_optional_library_is_in_the_extra_that_its_message_names():
    known, seen = extras(), set()
    for path in PACKAGE.rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text())):
            if isinstance(call, ast.Call) and ast.unparse(call.func) in ("require", "optional.require"):
                library, extra = (argument.value for argument in call.args)
                assert library.split(".")[0] in known[extra], path
                seen.add(extra)
    assert {"data", "persist", "plot", "report", "torch"} <= seen

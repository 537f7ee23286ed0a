"""`--help`: quick to come, with examples that can be typed."""

import importlib
import json
import re
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "command", ["plan", "select", "fit", "predict", "audit", "certify", "report", "bags", "collect"]
)
def test_examples_use_options_that_are_there(command, run):
    listed, examples = run(command, "--help").stdout.split("Examples:")
    written = importlib.import_module(f"steadyset.cli.{command}").EXAMPLES
    assert written.count(f"steadyset {command} ") >= 2
    assert examples.count(f"steadyset {command} ") == written.count(f"steadyset {command} ")
    options = set(re.findall(r"--[a-z][a-z-]*", written))
    assert options
    assert options <= set(re.findall(r"--[a-z][a-z-]*", listed))


def test_help_imports_no_heavy_library():
    program = (
        "import json, sys\n"
        "from typer.testing import CliRunner\n"
        "from steadyset.cli import app\n"
        "codes = [CliRunner().invoke(app, [*words, '--help']).exit_code for words in ([], ['fit'], ['reproduce'])]\n"
        "heavy = {'sklearn', 'scipy', 'joblib', 'pandas', 'pyarrow', 'skops', 'matplotlib'} & set(sys.modules)\n"
        "print(json.dumps([codes, sorted(heavy)]))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [[0, 0, 0], []]

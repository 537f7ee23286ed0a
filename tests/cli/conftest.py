import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from helpers.zygote import Zygote
from steadyset.cli import app

MAKER = Path(__file__).parents[2] / "examples" / "stranger_csv.py"


@pytest.fixture(scope="session")
def zygote(tmp_path_factory):
    made = Zygote(tmp_path_factory.mktemp("zygote"))
    yield made
    made.close()


@pytest.fixture(scope="session")
def run():
    def invoke(*arguments, code=0, stdin=None):
        result = CliRunner().invoke(app, [str(a) for a in arguments], input=stdin, env={"COLUMNS": "120"})
        assert result.exit_code == code, result.output + result.stderr + repr(result.exception)
        assert "Traceback" not in result.stderr
        return result

    return invoke


@pytest.fixture(scope="session")
def stranger(tmp_path_factory):
    """A CSV file with mixed types, missing values and a text target, 2,000 rows."""
    path = tmp_path_factory.mktemp("stranger") / "stranger.csv"
    subprocess.run([sys.executable, MAKER, path, "2000"], check=True)
    return path


@pytest.fixture(scope="session")
def model(stranger, run):
    """The path of a model of that file, 20 bags."""
    path = stranger.with_name("model.skops")
    run("fit", stranger, "--target", "churn", "--id-column", "customer", "--n-bags", 20, "--n-jobs", 1, "-o", path)
    return path

"""The commands of docs/command-line.md run in their order, as they stand."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parents[2]


def test_the_page_runs(tmp_path):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    commands = re.findall(r"```sh\n(.*?)```", (ROOT / "docs" / "command-line.md").read_text(), flags=re.DOTALL)
    assert len(commands) >= 6
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    for command in commands:
        done = subprocess.run(
            ["bash", "-euc", command], capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "PATH": path}
        )
        assert done.returncode == 0, command + done.stderr
        assert done.stdout, command
    sets = pd.read_parquet(tmp_path / "sets.parquet")
    assert sets.columns[:3].tolist() == ["customer", "set", "size"]
    assert len(sets) == 1000

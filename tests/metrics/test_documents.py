"""The code in docs/metrics.md runs as it stands and prints what it says."""

import re
import subprocess
import sys
from pathlib import Path

DOCUMENT = Path(__file__).parents[2] / "docs" / "metrics.md"


def test_code_blocks_run():
    blocks = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), flags=re.DOTALL)
    assert blocks
    for block in blocks:
        done = subprocess.run([sys.executable, "-W", "error", "-c", block], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "0.5 0.25\n" in done.stdout
        assert "('cat', 'dog')" in done.stdout

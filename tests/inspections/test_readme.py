"""What the README shows of a look inside is what it prints."""

from __future__ import annotations

import re
import subprocess
import sys

from tests.house.rooms import REPOSITORY

_NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]\d+)?")
_SKETCH = re.compile(r"\|[ ▁▂▃▄▅▆▇█]{10}\|")


def masked(text: str) -> list[str]:
    """Without numbers and histograms: the last digits differ between machines."""
    return [" ".join(_NUMBER.sub("n", _SKETCH.sub("|h|", line)).split()) for line in text.strip().splitlines()]


def test_the_readme_shows_what_is_printed() -> None:
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    section = readme.split("## Look inside")[1]
    code = section.split("```python\n")[1].split("```")[0]
    shown = section.split("<!-- look inside -->\n```text\n")[1].split("```")[0]
    finished = subprocess.run(
        [sys.executable, "-"], input=code, capture_output=True, text=True, encoding="utf-8", check=True,
        env={"PYTHONIOENCODING": "utf-8", "COLUMNS": "80"}, cwd=REPOSITORY,
    )  # fmt: skip
    assert masked(finished.stdout) == masked(shown)

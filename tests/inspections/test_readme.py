"""What the README shows of a look inside is what it prints."""

from __future__ import annotations

import contextlib
import io
import re

import pytest

from tests.house.rooms import REPOSITORY

_NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]\d+)?")
_SKETCH = re.compile(r"\|[ ▁▂▃▄▅▆▇█]{10}\|")


def masked(text: str) -> list[str]:
    """Without numbers and histograms: the last digits differ between machines."""
    return [" ".join(_NUMBER.sub("n", _SKETCH.sub("|h|", line)).split()) for line in text.strip().splitlines()]


def test_the_readme_shows_what_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    section = readme.split("## Look inside")[1]
    code = section.split("```python\n")[1].split("```")[0]
    shown = section.split("<!-- look inside -->\n```text\n")[1].split("```")[0]
    printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    monkeypatch.setenv("COLUMNS", "80")
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "<stdin>", "exec"), {"__name__": "__main__"})
    printed.seek(0)
    assert masked(printed.read()) == masked(shown)

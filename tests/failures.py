"""What failed, kept for the end: the parts of `make test` run side by side, and one talks over the other.

`python -m tests.failures` prints what the last runs of the suite and of the zoo have left.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

KEPT = Path(__file__).parents[1] / ".pytest_cache"
PARTS = ("tests", "zoo")
LINES = 15  # of what a failed test says, the last


class Failures:
    """A plugin of the suite (tests/conftest.py)."""

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        reports = [*terminalreporter.getreports("failed"), *terminalreporter.getreports("error")]
        said = ("\n".join(report.longreprtext.splitlines()[-LINES:]) for report in reports)
        keep("tests", [f"FAILED {report.nodeid}\n{text}" for report, text in zip(reports, said, strict=True)])


def keep(part: str, failures: Iterable[str]) -> None:
    KEPT.mkdir(exist_ok=True)
    _file(part).write_text("".join(f"{failure}\n" for failure in failures))


def _file(part: str) -> Path:
    return KEPT / f"failed_{part}.txt"


if __name__ == "__main__":
    for part in PARTS:
        print(_file(part).read_text() if _file(part).exists() else f"{part}: did not come to an end")

"""What the tools around numbers find and cost: python benchmarks/numerics.py [SECTION...]

Each section is a file of its own beside this one, numerics_<section>.py, with a function `table()` that
gives its rows; without a name, all of them run.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    known = sorted(path.stem.removeprefix("numerics_") for path in HERE.glob("numerics_*.py"))
    chosen = sys.argv[1:] or known
    unknown = [name for name in chosen if name not in known]
    if unknown:
        raise SystemExit(f"There is no section {unknown[0]}; there are: {', '.join(known)}.")
    for name in chosen:
        section = importlib.import_module(f"numerics_{name}")  # this script's folder is on the path
        print(f"\n{name}: {(section.__doc__ or '').splitlines()[0]}\n")
        show(section.table())


def show(rows: list[tuple[str, ...]]) -> None:
    """The first row is the heading."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for number, row in enumerate(rows):
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        if number == 0:
            print("  ".join("-" * width for width in widths))


if __name__ == "__main__":
    main()

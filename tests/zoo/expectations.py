"""What the zoo says must be said: its expected.txt files."""

from __future__ import annotations

import configparser
from dataclasses import dataclass
from pathlib import Path

ZOO = Path(__file__).parents[2] / "zoo"


@dataclass(frozen=True)
class Expected:
    check: str
    lines: tuple[int, ...]
    by_step: int
    mentions: tuple[str, ...]


def expected_of(script: Path) -> Expected:
    blocks = configparser.ConfigParser(delimiters=(":",), inline_comment_prefixes=("#",), interpolation=None)
    blocks.read_string((script.parent / "expected.txt").read_text())
    block = blocks[script.name]
    return Expected(
        check=block["check"],
        lines=tuple(int(line) for line in block["line"].split(" or ")),
        by_step=int(block["by_step"]),
        mentions=tuple(word.strip().lower() for word in block["mentions"].split(" or ")),
    )


def all_scripts() -> list[Path]:
    return sorted(script for script in ZOO.rglob("*.py") if script.parent != ZOO)


def broken_scripts() -> list[Path]:
    return [script for script in all_scripts() if script.name.startswith("broken")]


def silent_scripts() -> list[Path]:
    return [script for script in all_scripts() if not script.name.startswith("broken")]


def name_of(script: Path) -> str:
    return str(script.relative_to(ZOO))

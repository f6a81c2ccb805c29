"""What the zoo says must be said: its expected.txt files."""

from __future__ import annotations

import configparser
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ZOO = Path(__file__).parents[2] / "zoo"


@dataclass(frozen=True)
class Expected:
    check: str
    lines: tuple[int, ...]
    by_step: int
    mentions: tuple[str, ...]
    ops: tuple[str, ...]
    is_note: bool = False
    beside: tuple[str, ...] = ()  # findings that may be told as well, and louder


def expected_of(script: Path) -> Expected:
    block = _blocks(script)[script.name]
    return Expected(
        check=block["check"],
        lines=tuple(int(line) for line in block["line"].split(" or ")),
        by_step=int(block["by_step"]),
        mentions=tuple(word.strip().lower() for word in block["mentions"].split(" or ")),
        ops=tuple(op.strip() for op in block["op"].split(" or ")) if "op" in block else (),
        is_note=block.get("severity") == "note",
        beside=tuple(block.get("beside", "").split()),
    )


def other_crash(script: Path) -> str | None:
    """For a lookalike that ends with an exception: the check that may claim it; None for one that finishes."""
    blocks = _blocks(script) if (script.parent / "expected.txt").exists() else {}
    block = blocks[script.name] if script.name in blocks else {}
    return block.get("check", "unexplained-crash") if block.get("crash", "no") == "yes" else None


def _blocks(script: Path) -> configparser.ConfigParser:
    blocks = configparser.ConfigParser(delimiters=(":",), inline_comment_prefixes=("#",), interpolation=None)
    blocks.read_string((script.parent / "expected.txt").read_text())
    return blocks


def needs(script: Path) -> str:
    """What a script cannot do without: cuda, or nothing."""
    blocks = _blocks(script) if (script.parent / "expected.txt").exists() else {}
    return blocks[script.name].get("needs", "") if script.name in blocks else ""


def options(script: Path) -> tuple[str, ...]:
    """Switches of `run` that a home's scripts, all of them, are watched with: check_custom_gradients, or
    profile_steps=5."""
    blocks = _blocks(script) if (script.parent / "expected.txt").exists() else {}
    words = [block.get("options", "") for block in blocks.values()]
    return tuple(sorted({word for line in words for word in line.split()}))


def switches(script: Path) -> list[str]:
    """The options as the command line has them."""
    words = [option.partition("=") for option in options(script)]
    named = [(f"--{name.replace('_', '-')}", value) for name, _, value in words]
    return [part for pair in named for part in pair if part]


def launch_of(script: Path) -> str:
    """How a script is started: `torchrun 2`, `spawn` (plain python that starts its ranks itself), or empty: in a
    fork of the runner. Where its own block, or that of the script that it mends, does not say it, as the home's first."""
    blocks = _blocks(script) if (script.parent / "expected.txt").exists() else {}
    own = (script.name, script.name.replace("fixed", "broken"))
    named = [blocks[name] for name in own if name in blocks]
    return next((block["launch"] for block in [*named, *blocks.values()] if "launch" in block), "")


def settings_of(words: Iterable[str]) -> dict[str, bool | int]:
    """profile_steps=5 -> {"profile_steps": 5}"""
    parts = [word.partition("=") for word in words]
    return {name: int(value) if value else True for name, _, value in parts}


def all_scripts() -> list[Path]:
    """Those that run anywhere; tests/gpu runs the others."""
    return sorted(script for script in ZOO.rglob("*.py") if script.parent != ZOO and not needs(script))


def gpu_scripts() -> list[Path]:
    """Those of speed are left to benchmarks/advice.py, which runs nothing beside them."""
    scripts = sorted(script for script in ZOO.rglob("broken*.py") if needs(script) == "cuda")
    return [script for script in scripts if script.parents[1].name != "speed"]


def broken_scripts() -> list[Path]:
    return [script for script in all_scripts() if script.name.startswith("broken")]


def silent_scripts() -> list[Path]:
    return [script for script in all_scripts() if not script.name.startswith("broken")]


def name_of(script: Path) -> str:
    return str(script.relative_to(ZOO))

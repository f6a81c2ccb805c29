"""The scripts of the zoo, and what must be said about each: expected.txt.

A script is named by its path. fixed*.py are not kept as files: they are broken*.py after the edits in fix.diff,
and `write` makes a file of any script for those who must run it.
"""

from __future__ import annotations

import configparser
import functools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.zoo.patches import Patch, read_patches

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
    edit_is_not_enough: str = ""  # why the script is still broken with the edit that the finding carries


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
        edit_is_not_enough=block.get("edit_is_not_enough", ""),
    )


def other_crash(script: Path) -> str | None:
    """For a lookalike that ends with an exception: the check that may claim it; None for one that finishes."""
    blocks = _blocks(script)
    block = blocks[script.name] if script.name in blocks else {}  # noqa: SIM401  a ConfigParser's get is another
    return block.get("check", "unexplained-crash") if block.get("crash", "no") == "yes" else None


def _blocks(script: Path) -> configparser.ConfigParser:
    return _expected(script.parent)


@functools.cache
def _expected(home: Path) -> configparser.ConfigParser:
    """Empty where there is no such file, as in zoo/healthy."""
    blocks = configparser.ConfigParser(delimiters=(":",), inline_comment_prefixes=("#",), interpolation=None)
    blocks.read(home / "expected.txt", encoding="utf-8")
    return blocks


@functools.cache
def patches_of(home: Path) -> dict[str, Patch]:
    """By the name of the script that they make."""
    file = home / "fix.diff"
    return {patch.after: patch for patch in read_patches(file.read_text())} if file.exists() else {}


def source_of(script: Path) -> str:
    patch = patches_of(script.parent).get(script.name)
    if patch is None:
        return script.read_text()
    return patch.apply((script.parent / patch.before).read_text())


def write(script: Path, folder: Path, edited: str | None = None) -> Path:
    """The script as a file: itself, or made in the folder."""
    if script.exists() and edited is None:
        return script
    file = folder / script.name
    file.write_text(source_of(script) if edited is None else edited)
    return file


def needs(script: Path) -> str:
    """What a script cannot do without: cuda, or nothing."""
    blocks = _blocks(script)
    return blocks[script.name].get("needs", "") if script.name in blocks else ""


def is_paced(script: Path) -> bool:
    """Judged by how long things take on this machine: run alone, by `make zoo` only."""
    blocks = _blocks(script)
    return script.name in blocks and "pace" in blocks[script.name]


def options(script: Path) -> tuple[str, ...]:
    """Switches of `run` that a home's scripts, all of them, are watched with: check_custom_gradients, or
    profile_steps=5."""
    blocks = _blocks(script)
    words = [block.get("options", "") for block in blocks.values()]
    return tuple(sorted({word for line in words for word in line.split()}))


def switches(script: Path) -> list[str]:
    """The options as the command line has them."""
    words = [option.partition("=") for option in options(script)]
    named = [(f"--{name.replace('_', '-')}", value) for name, _, value in words]
    return [part for pair in named for part in pair if part]


def launch_of(script: Path) -> str:
    """How a script is started: `torchrun 2`, `spawn` (plain python that starts its ranks itself), or empty: in
    a fork of the runner. What neither its block says nor that of the script it mends, the home's first says."""
    blocks = _blocks(script)
    own = (script.name, script.name.replace("fixed", "broken"))
    named = [blocks[name] for name in own if name in blocks]
    return next((block["launch"] for block in [*named, *blocks.values()] if "launch" in block), "")


def settings_of(words: Iterable[str]) -> dict[str, bool | int]:
    """profile_steps=5 -> {"profile_steps": 5}"""
    parts = [word.partition("=") for word in words]
    return {name: int(value) if value else True for name, _, value in parts}


def all_scripts() -> list[Path]:
    """Those that run anywhere; tests/gpu runs the others."""
    fixed = (file.parent / name for file in ZOO.rglob("fix.diff") for name in patches_of(file.parent))
    return sorted(script for script in [*ZOO.rglob("*.py"), *fixed] if not needs(script))


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

"""The map of the house as data, and the imports its files really make."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
PACKAGE = REPOSITORY / "torch_debugger"

# Who may import whom; a room may always import itself, rooms of one row do not know each other, and what is not named
# here may not be imported. From below: each row stands behind those that it imports.
BELOW = {"records", "system"}
MODEL = BELOW | {"source", "stats", "model", "settings"}
ROWS: tuple[tuple[set[str], set[str]], ...] = (
    ({"records", "system", "_version"}, set()),
    ({"settings"}, {"system"}),
    ({"checks", "source", "stats", "report"}, BELOW),
    ({"log"}, BELOW | {"checks"}),  # a log is judged again where its result was not written
    ({"model"}, MODEL),
    ({"probes", "trials", "profiling", "ranks"}, MODEL),
    ({"crashes"}, MODEL | {"probes"}),
    ({"pictures"}, MODEL | {"report"}),
    ({"memory"}, MODEL | {"report", "__init__"}),
    ({"summaries"}, MODEL | {"log"}),
    ({"integrations"}, BELOW | {"log", "report"}),
    ({"viewer"}, BELOW | {"checks", "log", "report", "_version"}),
    (
        {"runner"},
        MODEL
        | {"checks", "log", "report", "probes", "trials", "profiling", "ranks", "crashes", "integrations"}
        | {"_version", "__init__"},
    ),
    ({"api"}, BELOW | {"log", "report", "viewer"}),
    (
        {"cli"},
        BELOW
        | {"settings", "checks", "log", "report", "viewer", "runner", "api", "integrations", "_version"}
        | {"source", "model", "trials", "profiling", "memory"},  # verbs that need no run: summary, gradcheck, memory
    ),
    (
        {"__init__", "__main__"},  # loads what a program asks for, by name
        {
            "_version",
            "api",
            "cli",
            "runner",
            "log",
            "model",
            "probes",
            "trials",
            "pictures",
            "summaries",
            "integrations",
        },
    ),
)
MAY_IMPORT = {room: others - {room} for rooms, others in ROWS for room in rooms}
NO_TORCH = {"_version", "settings", "system", "records", "checks", "log", "report", "viewer", "api"}


@functools.cache
def package_files() -> tuple[Path, ...]:
    """Without the scripts that the demo shows and runs."""
    return tuple(path for path in sorted(PACKAGE.rglob("*.py")) if path.parent.name != "demo_versions")


@functools.cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def room_of(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


@functools.cache
def imports(path: Path) -> frozenset[str]:
    """Every dotted name a file imports, wherever in the file."""
    return frozenset(imports_of(text_of(path)))


def imports_of(source: str) -> Iterator[str]:
    for node in _statements(ast.parse(source).body):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names)


def _statements(block: list[ast.AST]) -> Iterator[ast.AST]:
    """Those within others as well. ast.walk would look at expressions too and take ten times as long."""
    for statement in block:
        yield statement
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            yield from _statements(getattr(statement, name, []))


def imported_rooms(path: Path) -> set[str]:
    """The rooms of ours a file imports; '__init__' stands for the front door itself."""
    found = set()
    for name in imports(path):
        parts = name.split(".")
        if parts[0] == "torch_debugger":
            found.add(parts[1] if len(parts) > 1 and _is_room(parts[1]) else "__init__")
    return found


def imported_files(path: Path) -> Iterator[Path]:
    """The files of ours a file imports; what `records` hands on is that file alone."""
    for name in imports(path):
        parts = name.split(".")
        if parts[0] == "torch_debugger":
            # The last part may be a name inside of a module.
            bases = PACKAGE.joinpath(*parts[1:]), PACKAGE.joinpath(*parts[1:-1])
            files = [file for base in bases for file in (base.with_suffix(".py"), base / "__init__.py")]
            yield from [file for file in files if file.is_file()][:1]


@functools.cache
def _is_room(name: str) -> bool:
    return (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").is_file()

"""The map of the house as data, and the imports its files really make."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
PACKAGE = REPOSITORY / "torch_debugger"

# Who may import whom; a room may always import itself. What is not named here may not be imported.
FOUNDATIONS = {
    "errors", "settings", "imports", "saying", "signals", "tracebacks", "redaction", "foreign_paths",
    "dumped_stacks", "file_numbers", "clocks", "kernel_files",
    "_version",
}  # fmt: skip
MAKERS = {"breakpoints", "probes", "profiling", "ranks", "trials", "inspections"}
MAY_IMPORT: dict[str, set[str]] = {
    "_version": set(),
    "errors": set(),
    "settings": {"errors"},
    "imports": set(),
    "saying": set(),
    "signals": {"foreign_paths", "clocks", "tracebacks"},
    "tracebacks": {"foreign_paths"},
    "redaction": set(),
    "foreign_paths": set(),
    "dumped_stacks": {"clocks", "kernel_files"},
    "file_numbers": set(),
    "clocks": set(),
    "kernel_files": set(),
    "records": set(),
    "runlog": {"records"} | FOUNDATIONS,
    "stats": {"records"} | FOUNDATIONS,
    "anatomy": {"records", "stats"} | FOUNDATIONS,
    "breakpoints": {"records", "stats", "anatomy"} | FOUNDATIONS,
    "probes": {"records", "stats", "anatomy"} | FOUNDATIONS,
    "trials": {"records", "stats", "anatomy"} | FOUNDATIONS,
    "profiling": {"records", "stats", "anatomy"} | FOUNDATIONS,
    "ranks": {"records", "stats", "anatomy"} | FOUNDATIONS,
    "diagrams": {"records"} | FOUNDATIONS,
    "inspections": {"records", "stats", "anatomy", "diagrams", "drawings"} | FOUNDATIONS,
    "pictures": {"records", "stats", "anatomy"} | FOUNDATIONS,
    "drawings": {"records", "stats", "anatomy", "diagrams", "pictures"} | FOUNDATIONS,
    "checks": {"records"} | FOUNDATIONS,
    "report": {"records"} | FOUNDATIONS,
    "surroundings": {"records"} | FOUNDATIONS,
    "summaries": {"records", "runlog", "stats", "anatomy"} | FOUNDATIONS,
    "archive": {"records", "runlog", "checks"} | FOUNDATIONS,
    "viewer": {"records", "runlog", "checks", "archive", "report", "diagrams"} | FOUNDATIONS,
    "pasted": {"records"} | FOUNDATIONS,
    "dumps": {"records"} | FOUNDATIONS,
    "replays": {"records", "stats", "anatomy", "probes", "trials"} | FOUNDATIONS,
    "gradient_trials": {"records", "stats", "anatomy", "probes", "trials"} | FOUNDATIONS,
    "rehearsals": {"records", "stats", "anatomy", "probes", "trials"} | FOUNDATIONS,
    "scenes": {"records", "stats", "anatomy", "probes", "trials"} | FOUNDATIONS,
    "step_rehearsals": {"records", "stats", "anatomy", "probes", "scenes", "trials"} | FOUNDATIONS,
    "preflights": {"records", "stats", "anatomy", "probes", "scenes", "trials"} | FOUNDATIONS,
    "profiles": {"records", "stats", "anatomy", "probes", "profiling"} | FOUNDATIONS,
    "stack_samples": {"records", "stats", "anatomy", "probes", "profiling"} | FOUNDATIONS,
    "worker_samples": {"records", "stats", "anatomy", "probes", "profiling"} | FOUNDATIONS,
    "hang_watch": {"records", "stats", "anatomy", "probes", "ranks"} | FOUNDATIONS,
    "rank_processes": {"records", "stats", "anatomy", "probes", "ranks", "worker_samples"} | FOUNDATIONS,
    "first_steps": {"records", "stats", "anatomy", "probes", "surroundings"} | FOUNDATIONS,
    "plumbing": {
        "first_steps",
        "gradient_trials",
        "hang_watch",
        "preflights",
        "profiles",
        "rank_processes",
        "rehearsals",
        "replays",
        "scenes",
        "stack_samples",
        "step_rehearsals",
        "records",
        "runlog",
        "stats",
        "anatomy",
    }
    | MAKERS
    | FOUNDATIONS,
    "session": {"records", "runlog", "stats", "anatomy", "plumbing"} | MAKERS | FOUNDATIONS,
}
# The doors of the house may open any room; no room may open a door.
DOORS = {
    "__init__", "__main__", "anomalies", "breaking", "cli", "comparisons", "debugger", "demo", "doctoring",
    "explanations",
    "integrations",
    "memory",
    "profile_block",
    "rehearsing",
    "reporting",
    "sync_block",
    "watchdog",
}  # fmt: skip
NO_TORCH = {
    "_version", "errors", "settings", "imports", "saying", "signals", "tracebacks", "redaction", "records",
    "runlog", "checks", "report", "pasted", "surroundings", "archive", "viewer", "diagrams", "dumps",
    "foreign_paths", "dumped_stacks", "file_numbers", "clocks", "kernel_files",
}  # fmt: skip


@functools.cache
def package_files() -> tuple[Path, ...]:
    return tuple(sorted(PACKAGE.rglob("*.py")))


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


@functools.cache
def _is_room(name: str) -> bool:
    return (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").is_file()

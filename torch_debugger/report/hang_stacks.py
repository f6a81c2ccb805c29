"""Where everybody stood: the stacks of a hang, those that are alike shown once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from torch_debugger.records import HangFact, StackLine, Standing
from torch_debugger.report.printable import one_line
from torch_debugger.report.source import shown_path

_MOST_ALIKE = 8  # named one by one
_PACKAGES = ("/site-packages/", "/dist-packages/", "/lib/python3")


def stack_lines(facts: Iterable[HangFact], folder: str | None) -> list[str]:
    """One block for each thread, worker and rank; innermost line last."""
    blocks: dict[tuple[StackLine, ...], list[tuple[HangFact, Standing]]] = {}
    for fact in facts:
        for standing in fact.stacks:
            blocks.setdefault(standing.lines, []).append((fact, standing))
    shown: list[str] = []
    for lines, members in blocks.items():
        shown.append(f"{_heading(members)}:")
        shown += [f"    {_line(line, folder)}" for line in lines] or ["    no stack: it did not answer"]
    return shown


def hang_to_json(fact: HangFact, folder: str | None) -> dict[str, Any]:
    place = fact.place
    return {
        "rank": fact.rank,
        "world": fact.world,
        "step": fact.step,
        "still_s": round(fact.still_s, 1),
        "expected_s": round(fact.expected_s, 1),
        "kind": fact.kind,
        "doing": fact.doing,
        "where": {"file": shown_path(place.file, folder) if place.file else None, "line": place.line},
        "stacks": [
            {
                "who": each.who,
                "pid": each.pid,
                "alive": each.is_alive,
                "wait": each.wait,
                "target": each.target,
                "lines": [_line(line, folder) for line in each.lines],
            }
            for each in fact.stacks
        ],
    }


def _heading(members: Sequence[tuple[HangFact, Standing]]) -> str:
    names = [_name(fact, each) for fact, each in members]
    named = ", ".join(names[:_MOST_ALIKE]) + (
        f" and {len(names) - _MOST_ALIKE} more" * (len(names) > _MOST_ALIKE)
    )
    first = members[0][1]
    if not first.is_alive:
        return f"{named}, has ended"
    wait = f", in {first.wait}{f' of {one_line(first.target)}' if first.target else ''}" if first.wait else ""
    return f"{named}{wait}"


def _name(fact: HangFact, standing: Standing) -> str:
    rank = f"rank {fact.rank} " if fact.rank is not None else ""
    return f"{rank}{one_line(standing.who)} (process {standing.pid})"


def _line(line: StackLine, folder: str | None) -> str:
    """train.py:9 in main: lock.acquire()"""
    file = line.place.file or "?"
    shown = shown_path(file, folder) if line.is_users else _short(file)
    code = f": {line.place.code}" if line.place.code else ""
    return one_line(f"{shown}:{line.place.line} in {line.function}{code}")


def _short(file: str) -> str:
    """torch/utils/data/dataloader.py, without the folders it is installed in."""
    for part in _PACKAGES:
        _, found, after = file.rpartition(part)
        if found:
            return after.partition("/")[2] if part == _PACKAGES[2] else after
    return file

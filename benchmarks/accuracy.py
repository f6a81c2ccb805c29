"""How often the true cause is told of scripts that no check was written for, and how often one cries wolf.

    python benchmarks/accuracy.py [--write docs/accuracy.md] [--keep FILE.json] [--only FOLDER ...]

Each folder of benchmarks/blind holds scripts by someone who had not read the checks, and answers.json: what
is wrong with each, the names under which a check may tell it, the lines that a person would point to, and the
step by which it can be known. Every script runs once under `torch-debugger run`, one after the other.
Where a folder has a first_run.json, its scripts have been looked at since, and checks were mended by them:
what was found the first time they ran is in that file, and counts as the figure of that folder.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

BLIND = Path(__file__).parent / "blind"


@dataclass(frozen=True)
class Found:
    """What a run ended in."""

    verdict: str | None
    line: int | None
    first_step: int | None
    notes: int
    loud: tuple[str, ...]


@dataclass(frozen=True)
class Row:
    script: str
    answer: Mapping[str, Any]
    found: Found

    @property
    def healthy(self) -> bool:
        return "fault" not in self.answer

    @property
    def cause(self) -> bool:
        return self.found.verdict in self.answer.get("accepted", ())

    @property
    def line(self) -> bool:
        return self.cause and self.found.line in self.answer["lines"]

    @property
    def in_time(self) -> bool:
        return self.cause and (self.found.first_step or 0) <= self.answer["step"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", type=Path, help="the document to write")
    parser.add_argument("--keep", type=Path, help="what was found, as JSON")
    parser.add_argument("--only", nargs="*", default=sorted(path.name for path in BLIND.iterdir()))
    chosen = parser.parse_args()
    parts = [part(BLIND / name, chosen.keep) for name in chosen.only]
    text = "\n".join([OPENING, *parts])
    print(text)
    if chosen.write:
        chosen.write.write_text(text, encoding="utf-8")


def part(folder: Path, keep: Path | None) -> str:
    answers = json.loads((folder / "answers.json").read_text())
    now = [Row(name, answer, found_in(folder / name)) for name, answer in sorted(answers.items())]
    if keep:
        keep.write_text(json.dumps({row.script: asdict(row.found) for row in now}, indent=1))
    kept = folder / "first_run.json"
    if not kept.exists():
        return "\n".join([f"## {folder.name}\n", *totals(now, "the first run"), "", *table(now), ""])
    first = json.loads(kept.read_text())
    rows = [Row(name, answer, Found(**first[name])) for name, answer in sorted(answers.items())]
    head = [*totals(rows, "the first run"), *totals(now, "now, after mending by these very scripts")[2:]]
    return "\n".join([f"## {folder.name}\n", *head, "", *table(rows), ""])


def found_in(script: Path) -> Found:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        command = [sys.executable, "-m", "torch_debugger", "run", "--quiet", "--no-log", "--json", str(out)]
        subprocess.run([*command, str(script.resolve())], cwd=folder, capture_output=True, check=False)
        result = json.loads(out.read_text())
    findings = result["findings"]
    verdict = findings[result["verdict"]] if result["verdict"] is not None else None
    loud = tuple(sorted({each["name"] for each in findings if each["severity"] != "note"}))
    notes = sum(each["severity"] == "note" for each in findings)
    if verdict is None:
        return Found(None, None, None, notes, loud)
    return Found(verdict["name"], verdict["where"]["line"], verdict["first_step"], notes, loud)


def totals(rows: list[Row], when: str) -> list[str]:
    broken = [row for row in rows if not row.healthy]
    named = [row for row in broken if row.answer["accepted"]]
    silent = [row for row in rows if row.healthy]
    wrong = sum(not row.cause and bool(row.found.loud) for row in broken)
    alarmed = sum(bool(row.found.loud) for row in silent)
    cells = [
        when, share(sum(bool(row.found.loud) for row in broken), len(broken)),
        share(sum(row.cause for row in named), len(named)), share(sum(row.line for row in named), len(named)),
        share(sum(row.in_time for row in named), len(named)), str(wrong), f"{alarmed} of {len(silent)}",
        str(max((row.found.notes for row in silent), default=0)),
    ]  # fmt: skip
    return [
        "| | something told | right cause | right line | in time | wrong cause | false alarms | most notes |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
        f"| {' | '.join(cells)} |",
    ]


def share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({part / whole:.0%})" if whole else "-"


def table(rows: list[Row]) -> list[str]:
    lines = ["| script | what is wrong | told | cause | line |", "| --- | --- | --- | --- | --- |"]
    for row in rows:
        fault = "healthy" if row.healthy else row.answer["fault"]
        told = f"{row.found.verdict}, line {row.found.line}" if row.found.verdict else "nothing"
        cause, line = ("yes" if right else "no" for right in (row.cause, row.line))
        if row.healthy:
            cause, line = ("false alarm" if row.found.loud else "silent"), ""
        lines.append(f"| {row.script} | {fault} | {told} | {cause} | {line} |")
    return lines


OPENING = """\
# How often it is right

Written by `python benchmarks/accuracy.py --write docs/accuracy.md`. The zoo (`zoo/`) is what the checks were
written with, and the tests hold that all of it is told rightly; that says little about other programs. The
scripts here (`benchmarks/blind/`) are by someone who had not read the checks: broken ones, each with one
fault that a repaired twin was seen to be free of, silent but for the crashes of `tutorials`, and healthy ones
that look suspicious.

"Right cause" and "right line" count the verdict alone, out of the faults that are in the catalog; "something
told" counts all broken scripts. A line is right if it is one that the script's author named beforehand. "Wrong
cause" counts broken scripts of which only other faults were told.
"""

if __name__ == "__main__":
    main()

"""The findings of a run: as they were written beside its log, or judged again from its records."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from torch_debugger.records import SEVERITIES, Edit, Finding, Place, Record

_MALFORMED = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
_LARGEST_BYTES = 64_000_000
RESULT_FILE = "result.json"


@dataclass(frozen=True, slots=True)
class Result:
    """What `torch-debugger run` wrote at the end of a run."""

    outcome: str
    findings: list[Finding]
    steps: int
    exit_code: int | None


def read_result(folder: str) -> Result | None:
    """From the result.json of a run's folder; None where there is none, or none that can be read."""
    plain = read_plain_result(folder)
    if plain is None:
        return None
    try:
        names = [str(finding["name"]) for finding in plain["findings"]]
        findings = [_finding(finding, names) for finding in plain["findings"]]
        steps, exit_code = plain.get("steps"), plain.get("exit_code")
        return Result(
            str(plain["outcome"]),
            findings,
            steps if isinstance(steps, int) else 0,
            exit_code if isinstance(exit_code, int) else None,
        )
    except _MALFORMED:
        return None


def read_plain_result(folder: str) -> dict[str, Any] | None:
    """As it stands in the file, whatever that is; None where there is no object of JSON."""
    try:
        path = os.path.join(folder, RESULT_FILE)
        if not os.path.isfile(path) or os.path.getsize(path) > _LARGEST_BYTES:
            return None
        with open(path, encoding="utf-8") as file:
            plain = json.load(file)
    except (OSError, *_MALFORMED):
        return None
    return plain if isinstance(plain, dict) else None


def judge_again(records: Iterable[tuple[int | None, Record]], ended: bool = True) -> list[Finding]:
    """Records with the rank they are of. What only the end of a run can tell is left open while it goes on."""
    from torch_debugger.checks.ranks_judge import RanksJudge

    judge = RanksJudge()
    for rank, record in records:
        judge.see(record, rank)
    if ended:
        judge.finish()
    return judge.findings


def result_stamp(folder: str) -> tuple[int, int] | None:
    """Changes when a result.json is written; None while there is none."""
    try:
        state = os.stat(os.path.join(folder, "result.json"))
    except OSError:
        return None
    return state.st_mtime_ns, state.st_size


def _finding(plain: dict[str, Any], names: list[str]) -> Finding:
    where, edit, cause = plain["where"], plain.get("edit"), plain.get("symptom_of")
    if plain["severity"] not in SEVERITIES:
        raise ValueError(f"no severity {plain['severity']!r}")
    return Finding(
        check=str(plain["check"]),
        name=str(plain["name"]),
        severity=plain["severity"],
        confidence=float(plain["confidence"]),
        message=str(plain["message"]),
        why=str(plain["why"]),
        fix=str(plain["fix"]),
        where=Place(where["file"], where["line"], where["module"]),
        first_step=int(plain["first_step"]),
        last_step=int(plain["last_step"]),
        evidence=dict(plain["evidence"]),
        status=str(plain["status"]),
        edit=Edit(edit["file"], edit["line"], edit["before"], edit["after"]) if edit else None,
        symptom_of=names[cause] if cause is not None else None,
        ranks=tuple(int(rank) for rank in plain.get("ranks", ())),
    )

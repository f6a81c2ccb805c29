"""The edits that a finding carries, applied to the script that it was found in."""

from __future__ import annotations

from pathlib import Path

from tests.zoo.judging import loud
from tests.zoo.runner import Job, Ran, Result
from tests.zoo.scripts import expected_of, source_of


def edited(ran: Ran) -> Job | None:
    """The script with the edits of the findings that it is there for; None where there are none."""
    if ran.result is None or not ran.job.script.name.startswith("broken"):
        return None
    script, lines = ran.job.script, source_of(ran.job.script).splitlines()
    findings = _findings_of(script, ran.result)
    edits = {finding["edit"]["line"]: finding["edit"] for finding in findings if finding["edit"]}
    own = [edit for edit in edits.values() if Path(edit["file"]).name == script.name]
    for edit in sorted(own, key=lambda edit: -edit["line"]):
        _apply(edit, lines)
    return Job(script, "\n".join(lines) + "\n") if own else None


def _apply(edit: Result, lines: list[str]) -> None:
    """An edit is told without the indentation of its first line."""
    first, before = edit["line"] - 1, edit["before"].splitlines()
    indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
    lines[first : first + len(before)] = [indent + line if line else "" for line in edit["after"].splitlines()]


def wrong_edit(ran: Ran, before: Ran) -> str:
    """What is wrong with a run of the edited script: the finding is made again at the line where it was, or the
    script crashes. What expected.txt says is not enough must not be enough."""
    script, known = ran.job.script, expected_of(ran.job.script).edit_is_not_enough
    if ran.result is None or before.result is None:
        return ran.failure or before.failure
    still = _lines_found(ran.result, script, ran.job.source) & _lines_found(before.result, script, before.job.source)
    crashed = ran.result["outcome"] == "crashed"
    if known:
        return "" if still or crashed else "the edit is enough now: take edit_is_not_enough out of expected.txt"
    if still:
        return f"{expected_of(script).check} is found again at `{still.pop()}`"
    return "it crashes: " + " / ".join(finding["message"] for finding in loud(ran.result)) if crashed else ""


def _findings_of(script: Path, result: Result) -> list[Result]:
    return [finding for finding in result["findings"] if finding["name"] == expected_of(script).check]


def _lines_found(result: Result, script: Path, source: str) -> set[str]:
    """The lines that findings point to, as text: an edit may move them."""
    lines = source.splitlines()
    numbers = [finding["where"]["line"] for finding in _findings_of(script, result)]
    return {lines[number - 1].strip() for number in numbers if number and number <= len(lines)}

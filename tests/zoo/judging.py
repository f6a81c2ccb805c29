"""Whether a run of a zoo script said what it must: its check as the verdict, or nothing.

Each function returns what is wrong, in a sentence; an empty one if nothing is.
"""

from __future__ import annotations

from pathlib import Path

from tests.zoo.runner import Ran, Result
from tests.zoo.scripts import Expected, expected_of, other_crash


def complaint_about(ran: Ran) -> str:
    script, result = ran.job.script, ran.result
    if result is None:
        return ran.failure
    removed = result["cost"]["probes_removed"]
    if removed:
        return f"probes failed: {removed}"
    return wrong_verdict(script, result) if script.name.startswith("broken") else wrong_sound(script, result)


def wrong_verdict(script: Path, result: Result) -> str:
    expected = expected_of(script)
    if expected.is_note:
        return _wrong_note(script, expected, result)
    if result["verdict"] is None:
        return f"nothing was found; wanted {expected.check}"
    verdict = result["findings"][result["verdict"]]
    if verdict["name"] != expected.check:
        return f"wanted {expected.check}, got {verdict['name']}: {verdict['message']}"
    others = [finding for finding in loud(result) if finding["name"] != expected.check]
    unfolded = [finding["name"] for finding in others if finding["symptom_of"] is None]
    if unfolded:
        return f"not folded under the verdict: {', '.join(unfolded)}"
    return _misfit(verdict, script, expected)


def _wrong_note(script: Path, expected: Expected, result: Result) -> str:
    too_loud = [finding["name"] for finding in loud(result) if finding["name"] not in expected.beside]
    if too_loud:
        return f"louder than a note: {', '.join(too_loud)}"
    notes = [finding for finding in result["findings"] if finding["severity"] == "note"]
    wanted = [finding for finding in result["findings"] if finding["name"] == expected.check]
    if len(wanted) != 1 or len(notes) > 2:
        return f"wanted one note, {expected.check}; got {[finding['name'] for finding in notes]}"
    return _misfit(wanted[0], script, expected)


def _misfit(finding: Result, script: Path, expected: Expected) -> str:
    where, fix = finding["where"], finding["fix"].lower()
    if Path(where["file"]).name != script.name or where["line"] not in expected.lines:
        return f"points to {where['file']}:{where['line']}, wanted line {expected.lines}: {finding['message']}"
    if finding["first_step"] > max(1, expected.by_step):
        return f"found at step {finding['first_step']}, wanted by {expected.by_step}"
    if not any(word in fix for word in expected.mentions):
        return f"the fix mentions none of {expected.mentions}: {finding['fix']}"
    if expected.ops and finding["evidence"]["op"] not in expected.ops:
        return f"blames {finding['evidence']['op']}, wanted {expected.ops}: {finding['message']}"
    return ""


def wrong_sound(script: Path, result: Result) -> str:
    names = [finding["name"] for finding in result["findings"]]
    claimant = other_crash(script)
    if claimant is not None:
        return "" if names == [claimant] else f"wanted {claimant} alone, got {names}"
    if loud(result):
        return "must stay silent: " + " / ".join(finding["message"] for finding in loud(result))
    return f"more than two notes: {names}" if len(names) > 2 else ""


def loud(result: Result) -> list[Result]:
    return [finding for finding in result["findings"] if finding["severity"] != "note"]

"""The sentences about what was found in two runs: their verdicts, and which finding may be why they part."""

from __future__ import annotations

from collections.abc import Iterator

from torch_debugger.records import Finding
from torch_debugger.records.comparison_of_runs import RunsComparison, Suspect
from torch_debugger.report.printable import one_line


def suspect_sentence(suspect: Suspect) -> str:
    found = suspect.finding
    since = f"from step {found.first_step} on" if found.first_step > 1 else "from the start"
    whose = f"found in {suspect.run} {since} and not in {suspect.other}"
    return one_line(f"Likely cause: {found.name}, {whose}. {found.message}")


def verdict_sentences(comparison: RunsComparison) -> list[str]:
    return [one_line(sentence) for sentence in _verdicts(comparison)]


def _verdicts(comparison: RunsComparison) -> Iterator[str]:
    found = comparison.verdicts
    if len(found) > 1 and all(finding is None for _, finding in found):
        yield "Nothing wrong was found in either run."
        return
    for name, finding in found:
        yield f"Verdict on {name}: {_verdict(finding, comparison.suspect)}"


def _verdict(finding: Finding | None, suspect: Suspect | None) -> str:
    if finding is None:
        return "nothing wrong found."
    told = suspect is not None and suspect.finding == finding
    return f"{finding.name}." if told else f"{finding.name}. {finding.message}"

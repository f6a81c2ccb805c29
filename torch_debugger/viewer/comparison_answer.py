"""A comparison of two runs for the page: its sentences and its tables."""

from __future__ import annotations

from typing import Any

from torch_debugger.archive.comparing.of_runs import compare
from torch_debugger.archive.run import Run
from torch_debugger.records.comparison_of_runs import Difference, RunsComparison, Topic
from torch_debugger.report.comparison_findings import suspect_sentence, verdict_sentences
from torch_debugger.report.comparison_words import answer, not_compared, precision
from torch_debugger.report.noise_words import noise_sentence

_MOST_ROWS = 300  # of one topic
_MOST_LINES = 1500  # of a diff


def compared(first: Run, second: Run) -> dict[str, Any]:
    found = compare(first, second)
    gap = found.parting.gap
    return {
        "runs": [first.name, second.name],
        "answer": answer(found),
        "verdict": found.parting.verdict,
        "step": gap.step if gap is not None else None,
        "sentences": _sentences(found),
        "findings": verdict_sentences(found) if found.verdicts else [],
        "points": _rows(found.cause.points) if found.cause else [],
        "topics": [_topic(topic) for topic in found.topics],
        "small_print": [*not_compared(found), *found.missing, *_advice(found)],
    }


def _sentences(found: RunsComparison) -> list[str]:
    told = [precision(found.parting) if not found.unwatched else ""]
    told += [suspect_sentence(found.suspect)] if found.suspect is not None else []
    told += [found.cause.sentence, "" if found.cause.points else found.cause.check] if found.cause else []
    if found.parting.verdict == "parted":
        told += [noise_sentence(each) for each in found.noise if each.difference]
    return [sentence for sentence in told if sentence]


def _advice(found: RunsComparison) -> list[str]:
    return [f"To see the place exactly, run both with closer looks: {found.advice}"] if found.advice else []


def _topic(topic: Topic) -> dict[str, Any]:
    return {
        "name": topic.name,
        "differences": _rows(topic.differences),
        "all_differences": len(topic.differences),
        "lines": topic.lines[:_MOST_LINES],
        "all_lines": len(topic.lines),
        "unseen": topic.unseen,
    }


def _rows(differences: tuple[Difference, ...]) -> list[dict[str, str]]:
    return [
        {"name": each.name, "first": each.first, "second": each.second} for each in differences[:_MOST_ROWS]
    ]

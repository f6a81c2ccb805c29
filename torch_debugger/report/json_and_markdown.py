"""The machine-readable result, format 1; also NaN and infinity are valid JSON (as text)."""

from __future__ import annotations

import dataclasses
import math
import os
import re
from typing import Any

from torch_debugger.records import Edit, Finding, MemoryLook, TrialResult
from torch_debugger.report import sentences
from torch_debugger.report.result import Chapter, RunResult
from torch_debugger.report.sentences import hang_to_json, stack_lines
from torch_debugger.report.text import diff_lines, excerpt, printable, short_paths, shown_path

FORMAT = 1


def to_json(result: RunResult) -> dict[str, Any]:
    if result.log:
        run: str | None = os.path.basename(os.path.normpath(result.log))
    else:
        run = f"{os.path.basename(result.script)}-{result.run.started:.0f}" if result.run else None
    sometimes: dict[str, Any] = {
        "trials": [_trial(trial) for trial in result.trials],
        "memory": [_memory(look) for look in result.memory],
        "hangs": [hang_to_json(hang, result.folder) for hang in result.hangs],
        "ranks": [dataclasses.asdict(rank) for rank in result.ranks],
    }
    return {name: plain for name, plain in sometimes.items() if plain} | {
        "format": FORMAT,
        "script": result.script,
        "run": run,
        "outcome": result.outcome,
        "exit_code": result.exit_code,
        "steps": result.steps,
        "counted": result.counted,
        "torch_seen": result.torch_seen,
        "loss": _losses(result),
        "verdict": 0 if result.verdict else None,
        "findings": [
            finding_to_json(finding, result.folder, result.cause_index(index))
            for index, finding in enumerate(result.findings)
        ],
        "cost": _cost(result),
        "notices": [notice.text for notice in result.notices],
        "log": result.log,
    }


def _trial(trial: TrialResult) -> dict[str, Any]:
    return {
        "name": trial.name,
        "outcome": trial.outcome,
        "message": trial.message,
        "advice": trial.advice,
        "numbers": {key: _number(value) for key, value in trial.numbers.items()},
    }


def _memory(look: MemoryLook) -> dict[str, Any]:
    return {
        "device": look.device,
        "step": look.step,
        "moment": look.moment,
        "used_bytes": look.used_bytes,
        "peak_bytes": look.peak_bytes or None,
        "parts": look.parts,
        "modules": {each.path: each.size_bytes for each in look.modules},
    }


def finding_to_json(finding: Finding, folder: str | None, symptom_of: int | None) -> dict[str, Any]:
    """`symptom_of` is where the finding that explains this one stands among its fellows."""
    ranks = {"ranks": list(finding.ranks)} if finding.ranks else {}
    place, edit = finding.where, finding.edit
    plain_edit: dict[str, Any] | None = None
    file = shown_path(place.file, folder) if place.file else None
    if edit is not None:
        edited = shown_path(edit.file, folder)
        plain_edit = {"file": edited, "line": edit.line, "before": edit.before, "after": edit.after}
    return ranks | {
        "check": finding.check,
        "name": finding.name,
        "severity": finding.severity,
        "status": finding.status,
        "confidence": _number(finding.confidence),
        "message": short_paths(finding.message, folder),
        "why": short_paths(finding.why, folder),
        "fix": short_paths(finding.fix, folder),
        "where": {"module": place.module, "file": file, "line": place.line},
        "first_step": finding.first_step,
        "last_step": finding.last_step,
        "evidence": {key: _number(value) for key, value in finding.evidence.items()},
        "edit": plain_edit,
        "symptom_of": symptom_of,
    }


def _losses(result: RunResult) -> dict[str, Any] | None:
    if result.losses is None:
        return None
    points = {"first": result.losses.first, "last": result.losses.last, "lowest": result.losses.lowest}
    return {name: {"step": point[0], "value": _number(point[1])} if point else None for name, point in points.items()}


def _cost(result: RunResult) -> dict[str, Any]:
    cost = result.cost
    return {
        "ratio": _number(cost.ratio) if cost else None,
        "budget": 1.0 + cost.budget if cost else None,
        "spent_s": _number(cost.spent_s) if cost else None,
        "elapsed_s": _number(cost.elapsed_s) if cost else None,
        "deep_steps": cost.deep_steps if cost else 0,
        "probes_removed": [f"{fault.probe}: {fault.error}" for fault in result.faults],
    }


def _number(value: float | str) -> float | str:
    """JSON has no NaN and no infinity; they go as 'nan', 'inf' and '-inf'."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


# The report as Markdown, for an issue or a log book.
def render_markdown(result: RunResult) -> str:
    opening = [] if result.verdict else [escape(sentences.opening(result))]
    chapters = [block for chapter in result.chapters for block in _chapter(chapter, result)]
    closing = ["\n".join(f"- {label}: {escape(text)}" for label, text in sentences.closing(result))]
    stacks = ["## Where everybody stood", _fenced("text", stack_lines(result.hangs, result.folder))]
    blocks = ["# torch-debugger report", *opening, *chapters, *(stacks if result.hangs else []), *closing]
    return "\n\n".join(block for block in blocks if block) + "\n"


def escape(text: str) -> str:
    """One line in which nothing is Markdown or HTML any more."""
    return re.sub(r"([\\`*_{}\[\]<>#|~&])", r"\\\1", printable(text.replace("\n", " ")))


def prose(text: str) -> str:
    """Escaped, except that `code` stays code."""
    parts = re.split(r"(`[^`]+`)", text)
    return "".join(part if index % 2 else escape(part) for index, part in enumerate(parts))


def _chapter(chapter: Chapter, result: RunResult) -> list[str]:
    finding = chapter.cause
    details = ", ".join(part for part in (finding.check, sentences.certainty(finding)) if part)
    return [
        f"## {finding.severity}: {escape(finding.name)} ({details})",
        f"**{prose(sentences.shown_sentence(finding.message, result))}**",
        escape(sentences.where(finding, result)),
        _code(finding, result),
        _evidence(finding),
        f"Why: {prose(sentences.shown_sentence(finding.why, result))}",
        f"Fix: {prose(sentences.shown_sentence(finding.fix, result))}",
        _diff(finding.edit, result) if finding.edit else "",
        "\n".join(f"- explains: {escape(sentences.symptom(each))}" for each in chapter.symptoms),
    ]


def _code(finding: Finding, result: RunResult) -> str:
    lines = excerpt(finding.where, result.folder)
    digits = len(str(lines[-1].number)) if lines else 0
    return _fenced("text", [f"{'>' if each.marked else ' '} {each.number:>{digits}} | {each.text}" for each in lines])


def _evidence(finding: Finding) -> str:
    rows = [f"| {escape(key)} | {escape(sentences.number(value))} |" for key, value in finding.evidence.items()]
    return "\n".join(["| evidence | value |", "| --- | --- |", *rows]) if rows else ""


def _diff(edit: Edit, result: RunResult) -> str:
    heading = f"@@ {sentences.edit_place(edit, result)} @@"
    return _fenced("diff", [heading, *(f"{mark} {text}" for mark, text in diff_lines(edit))])


def _fenced(language: str, lines: list[str]) -> str:
    """A code block whose fence is longer than any run of backticks in it."""
    if not lines:
        return ""
    longest = max(len(run) for run in re.findall("`*", "\n".join(lines)))
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}{language}", *(line.rstrip() for line in lines), fence])
